#include "query/selection/sides.h"

#include <vector>

#include "base/time.h"
#include "query/selection/parameters.h"

namespace plimsoll::query {
namespace {

std::vector<std::string_view> texts_of(const std::vector<Predicate>& filters) {
  std::vector<std::string_view> texts;
  for (const Predicate& predicate : filters) {
    texts.push_back(predicate.text());
  }
  return texts;
}

bool are_same(const Selection& a, const Selection& b) {
  return a.since_ns == b.since_ns && a.until_ns == b.until_ns && texts_of(a.where) == texts_of(b.where);
}

}  // namespace

Result<bool> SidesParser::add(const std::string& name, const std::string& text) {
  for (Side* side : {&base_, &other_}) {
    if (name.starts_with(side->prefix)) {
      return add_to_side(name, text, *side);
    }
  }
  if (name != "earlier") {
    return add_to_selection(name, text, now_ns_, common_);
  }
  earlier_ns_ = parse_duration_ns(text);
  if (earlier_ns_.value_or(0) <= 0) {
    return with_field(fail(ErrorCode::kInvalid, "earlier is \"{}\", not a duration such as 1d or 90m", text),
                      "earlier");
  }
  return true;
}

Result<bool> SidesParser::add_to_side(const std::string& name, const std::string& text, Side& side) {
  const std::string own_name = name.substr(side.prefix.size());
  if (own_name == "event") {
    return false;  // it is of both
  }
  const auto taken = add_to_selection(own_name, text, now_ns_, side.own);
  return taken ? taken : with_field(propagate(taken), name);
}

Result<Sides> SidesParser::sides() const {
  Sides sides{joined(base_.own), joined(other_.own)};
  if (auto shifted = shift_base(sides); !shifted) {
    return propagate(shifted);
  }
  if (are_same(sides.base, sides.other)) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "the two sides of the comparison are the same"), "base_where"),
        "say what tells them apart: base_where and new_where (filters), base_since and base_until (times), "
        "or "
        "earlier (1d: the same a day before)");
  }
  for (const Selection* side : {&sides.base, &sides.other}) {
    if (auto checked = check_selection(*side); !checked) {
      return propagate(checked, "the {} side", side == &sides.base ? "base" : "new");
    }
  }
  return sides;
}

Selection SidesParser::joined(const Selection& own) const {
  Selection selection = common_;
  selection.since_ns = own.since_ns == INT64_MIN ? common_.since_ns : own.since_ns;
  selection.until_ns = own.until_ns == INT64_MAX ? common_.until_ns : own.until_ns;
  selection.where.insert(selection.where.end(), own.where.begin(), own.where.end());
  return selection;
}

Status SidesParser::shift_base(Sides& sides) const {
  if (!earlier_ns_) {
    return {};
  }
  if (base_.own.since_ns != INT64_MIN || base_.own.until_ns != INT64_MAX) {
    return with_field(
        fail(ErrorCode::kInvalid, "earlier says when the base was: leave base_since and base_until out"),
        "earlier");
  }
  if (sides.other.since_ns == INT64_MIN) {
    return with_field(fail(ErrorCode::kInvalid, "earlier needs a time to count from: give since as well"),
                      "earlier");
  }
  sides.base.since_ns = sides.other.since_ns - *earlier_ns_;
  sides.base.until_ns = (sides.other.until_ns == INT64_MAX ? now_ns_ : sides.other.until_ns) - *earlier_ns_;
  return {};
}

}  // namespace plimsoll::query
