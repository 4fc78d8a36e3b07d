#include <array>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "query/views/diff.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxLimit = 1'000'000;
constexpr size_t kMaxAmong = 10'000;

// A side's own filters and times.
struct SideParameters {
  std::string_view prefix;
  Selection own = {};
};

class DiffParameters {
 public:
  explicit DiffParameters(int64_t now_ns) : now_ns_(now_ns) {}

  Status add(const std::string& name, const std::string& text) {
    for (SideParameters* side : {&base_, &other_}) {
      if (name.starts_with(side->prefix)) {
        return add_to_side(name, text, *side);
      }
    }
    const auto taken = add_to_selection(name, text, now_ns_, common_);
    if (!taken) {
      return propagate(taken);
    }
    return *taken ? Status() : add_own(name, text);
  }

  Result<DiffRequest> request() {
    if (request_.by.empty()) {
      request_.by.push_back(*find_dimension("function"));
    }
    request_.base = joined(base_.own);
    request_.other = joined(other_.own);
    if (auto shifted = shift_base(); !shifted) {
      return propagate(shifted);
    }
    if (!differ()) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "the two sides of the comparison are the same"), "base_where"),
          "say what tells them apart: base_where and new_where (filters), base_since and base_until (times), "
          "or "
          "earlier (1d: the same a day before)");
    }
    for (const Selection* side : {&request_.base, &request_.other}) {
      if (auto checked = check_selection(*side); !checked) {
        return propagate(checked, "the {} side", side == &request_.base ? "base" : "new");
      }
    }
    return std::move(request_);
  }

 private:
  Status add_to_side(const std::string& name, const std::string& text, SideParameters& side) {
    const std::string own_name = name.substr(side.prefix.size());
    if (own_name == "event") {
      return unknown(name);  // it is of both
    }
    const auto taken = add_to_selection(own_name, text, now_ns_, side.own);
    if (!taken) {
      return with_field(propagate(taken), name);
    }
    return *taken ? Status() : unknown(name);
  }

  Status add_own(const std::string& name, const std::string& text) {
    if (name == "by") {
      return add_dimensions(text, request_.by);
    }
    if (name == "limit") {
      return set_count(name, text, kMaxLimit, request_.limit);
    }
    if (name == "among") {
      return set_count(name, text, kMaxAmong, request_.among);
    }
    if (name == "margins") {
      return set_flag(name, text, request_.margins);
    }
    if (name == "measure") {
      const auto measure = parse_measure(text);
      request_.measure = measure.value_or(Measure::kShare);
      return measure ? Status() : propagate(measure);
    }
    if (name == "earlier") {
      earlier_ns_ = parse_duration_ns(text);
      return earlier_ns_.value_or(0) > 0
                 ? Status()
                 : with_field(
                       fail(ErrorCode::kInvalid, "earlier is \"{}\", not a duration such as 1d or 90m", text),
                       "earlier");
    }
    return unknown(name);
  }

  static Status unknown(const std::string& name) {
    constexpr std::array<std::string_view, 16> kKnown{
        "event",     "where",     "since",   "until", "base_where", "base_since", "base_until", "new_where",
        "new_since", "new_until", "earlier", "by",    "measure",    "limit",      "among",      "margins"};
    return unknown_parameter(name, kKnown);
  }

  Selection joined(const Selection& own) const {
    Selection selection = common_;
    selection.since_ns = own.since_ns == INT64_MIN ? common_.since_ns : own.since_ns;
    selection.until_ns = own.until_ns == INT64_MAX ? common_.until_ns : own.until_ns;
    selection.where.insert(selection.where.end(), own.where.begin(), own.where.end());
    return selection;
  }

  // The base is the other side so much earlier.
  Status shift_base() {
    if (!earlier_ns_) {
      return {};
    }
    Selection& base = request_.base;
    if (base_.own.since_ns != INT64_MIN || base_.own.until_ns != INT64_MAX) {
      return with_field(
          fail(ErrorCode::kInvalid, "earlier says when the base was: leave base_since and base_until out"),
          "earlier");
    }
    if (request_.other.since_ns == INT64_MIN) {
      return with_field(fail(ErrorCode::kInvalid, "earlier needs a time to count from: give since as well"),
                        "earlier");
    }
    base.since_ns = request_.other.since_ns - *earlier_ns_;
    base.until_ns = (request_.other.until_ns == INT64_MAX ? now_ns_ : request_.other.until_ns) - *earlier_ns_;
    return {};
  }

  bool differ() const {
    const auto texts = [](const Selection& selection) {
      std::vector<std::string_view> filters;
      for (const Predicate& predicate : selection.where) {
        filters.push_back(predicate.text());
      }
      return filters;
    };
    const Selection& base = request_.base;
    const Selection& other = request_.other;
    return base.since_ns != other.since_ns || base.until_ns != other.until_ns || texts(base) != texts(other);
  }

  const int64_t now_ns_;
  Selection common_;
  SideParameters base_{"base_"};
  SideParameters other_{"new_"};
  std::optional<int64_t> earlier_ns_;
  DiffRequest request_;
};

}  // namespace

Result<DiffRequest> parse_diff(const Parameters& parameters, int64_t now_ns) {
  DiffParameters parsed(now_ns);
  for (const auto& [name, text] : parameters) {
    if (auto added = parsed.add(name, text); !added) {
      return propagate(added);
    }
  }
  return parsed.request();
}

}  // namespace plimsoll::query
