// Two selections that are set side by side, as parameters say them: what both have in common, and what each has of its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/selection/selection.h"

namespace plimsoll::query {

struct Sides {
  Selection base;
  Selection other;
};

class SidesParser {
 public:
  // event, where, since and until are of both sides; base_where, base_since, base_until and new_where, new_since, new_until of one: a
  // filter beside the common ones, a time in place of the common one. earlier, a duration: the base is the other side so much
  // earlier.
  static constexpr std::array<std::string_view, 11> kNames{
      "event",      "where",     "since",     "until",     "base_where", "base_since",
      "base_until", "new_where", "new_since", "new_until", "earlier"};

  explicit SidesParser(int64_t now_ns) : now_ns_(now_ns) {}

  // False for a name that is none of these; kInvalid, with that field, for a text that does not fit.
  Result<bool> add(const std::string& name, const std::string& text);

  // kInvalid where the two are the same, or one has no time.
  Result<Sides> sides() const;

 private:
  struct Side {
    std::string_view prefix;
    Selection own = {};
  };

  Result<bool> add_to_side(const std::string& name, const std::string& text, Side& side);
  Selection joined(const Selection& own) const;
  Status shift_base(Sides& sides) const;

  int64_t now_ns_;
  Selection common_;
  Side base_{"base_"};
  Side other_{"new_"};
  std::optional<int64_t> earlier_ns_;
};

}  // namespace plimsoll::query
