// A template of a rule: text with the places of captured groups, facts and variables in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::identity {

// Immutable: any thread may use it.
class RuleTemplate {
 public:
  // "$1", "${1}", "$name", "${name}" and "$$" stand for something else than themselves; kInvalid where one is not closed or
  // names nothing. Empty text is the template of nothing.
  static Result<RuleTemplate> parse(std::string_view text);

  // The names of its places, in their order; numbers stand for themselves.
  std::vector<std::string_view> names() const;
  bool empty() const { return pieces_.empty(); }

  // At most 256 printable bytes, with what `value_of` says of each name.
  std::string expand(const std::function<std::string_view(std::string_view name)>& value_of) const;

 private:
  struct Piece {
    std::string text;
    bool is_name = false;
  };
  std::vector<Piece> pieces_;
};

}  // namespace plimsoll::identity
