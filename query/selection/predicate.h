// A filter on one dimension, as people write it after --where.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/snapshot/dimension.h"

namespace re2 {
class RE2;
}

namespace plimsoll::query {

// dim=a   dim!=a   dim=~regex   dim!~regex   dim in a,b
// A regular expression is one of RE2 (linear time, so that no pattern can hold up a server), and matches anywhere in the
// value.
class Predicate {
 public:
  static Result<Predicate> parse(std::string_view text);
  // A regular expression that matches anywhere in a frame's function, source file or binary, as pprof's focus; negated as its ignore.
  // `parameter` is what it is called in texts and errors.
  static Result<Predicate> of_frames(std::string_view parameter, std::string_view pattern, bool negated);
  // Whatever the value is made of. The dimension must be one of dimensions().
  static Predicate equal_to(std::string_view dimension, std::string_view value);

  const std::string& text() const { return text_; }  // as it was written
  // Of what is looked at, the first.
  const Dimension& dimension() const { return dimension_; }
  // Which of a frame's names are looked at: a match of one will do. One, the dimension, unless it is of_frames().
  std::vector<std::string_view> names() const;
  // The filter is an exclusion. For dimensions of frames it then holds for stacks in which no frame matches.
  bool is_negated() const { return negated_; }
  // Whether the value meets the positive condition; the caller applies is_negated().
  bool matches(const std::string& value) const;

  // The values that are asked for; none: it is a regular expression.
  const std::vector<std::string>& values() const { return values_; }
  // The first value that is asked for, as it was written; empty for a regular expression.
  std::string_view wanted() const { return values_.empty() ? std::string_view() : values_.front(); }

  // Matches nothing.
  Predicate() = default;

 private:
  std::string text_;
  Dimension dimension_{};
  bool looks_at_all_names_ = false;
  bool negated_ = false;
  std::vector<std::string> values_;
  std::shared_ptr<const re2::RE2> pattern_;  // of =~ and !~
};

}  // namespace plimsoll::query
