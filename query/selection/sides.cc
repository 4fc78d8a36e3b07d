#include "query/selection/sides.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/time.h"

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

// A parameter of one side alone; errors name that.
Parameter renamed(std::string_view name, Parameter parameter) {
  return {name, [name, read = std::move(parameter.read)](const std::string& text) -> Status {
            auto done = read(text);
            return done ? done : with_field(propagate(done), std::string(name));
          }};
}

class SidesReader {
 public:
  explicit SidesReader(int64_t now_ns) : now_ns_(now_ns) {}

  std::vector<Parameter> parameters() {
    std::vector<Parameter> known = filter_parameters(now_ns_, common_);
    known.push_back(renamed("base_where", where_parameter(base_)));
    known.push_back(renamed("base_since", since_parameter(now_ns_, base_)));
    known.push_back(renamed("base_until", until_parameter(now_ns_, base_)));
    known.push_back(renamed("new_where", where_parameter(other_)));
    known.push_back(renamed("new_since", since_parameter(now_ns_, other_)));
    known.push_back(renamed("new_until", until_parameter(now_ns_, other_)));
    known.push_back(duration_parameter("earlier", earlier_ns_));
    return known;
  }

  Result<Sides> sides() const {
    Sides sides{joined(base_), joined(other_)};
    if (auto shifted = shift_base(sides); !shifted) {
      return propagate(shifted);
    }
    if (are_same(sides.base, sides.other)) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "the two sides of the comparison are the same"), "base_where"),
          "give different base_where and new_where (filters), base_since and base_until (times), or earlier "
          "(1d: the same period a day before)");
    }
    for (const Selection* side : {&sides.base, &sides.other}) {
      if (auto checked = check_selection(*side); !checked) {
        return propagate(checked, "the {} side", side == &sides.base ? "base" : "new");
      }
    }
    return sides;
  }

 private:
  Selection joined(const Selection& own) const {
    Selection selection = common_;
    selection.since_ns = own.since_ns == INT64_MIN ? common_.since_ns : own.since_ns;
    selection.until_ns = own.until_ns == INT64_MAX ? common_.until_ns : own.until_ns;
    selection.where.insert(selection.where.end(), own.where.begin(), own.where.end());
    return selection;
  }

  Status shift_base(Sides& sides) const {
    if (earlier_ns_ == 0) {
      return {};
    }
    if (base_.since_ns != INT64_MIN || base_.until_ns != INT64_MAX) {
      return with_field(
          fail(ErrorCode::kInvalid, "earlier cannot be combined with base_since and base_until"), "earlier");
    }
    if (sides.other.since_ns == INT64_MIN) {
      return with_field(fail(ErrorCode::kInvalid, "earlier requires since"), "earlier");
    }
    sides.base.since_ns = sides.other.since_ns - earlier_ns_;
    sides.base.until_ns = (sides.other.until_ns == INT64_MAX ? now_ns_ : sides.other.until_ns) - earlier_ns_;
    return {};
  }

  const int64_t now_ns_;
  Selection common_;
  Selection base_, other_;  // what each has of its own
  int64_t earlier_ns_ = 0;  // 0: not given
};

}  // namespace

Result<Sides> read_sides(const Parameters& parameters, int64_t now_ns, const std::vector<Parameter>& own) {
  SidesReader reader(now_ns);
  std::vector<Parameter> known = reader.parameters();
  std::ranges::copy(own, std::back_inserter(known));
  if (auto read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  return reader.sides();
}

store::TimeSpans times_of(const Parameters& parameters, int64_t now_ns) {
  const auto given = [&](std::string_view name, auto read, auto otherwise) {
    auto value = otherwise;
    for (const auto& [parameter, text] : parameters) {
      value = parameter == name ? read(text).value_or(otherwise) : value;
    }
    return value;
  };
  const auto time_of = [&](std::string_view name, int64_t otherwise) {
    return given(name, [&](const std::string& text) { return parse_time_ns(text, now_ns); }, otherwise);
  };
  const store::TimeSpan common{time_of("since", INT64_MIN), time_of("until", INT64_MAX)};
  const store::TimeSpan other{time_of("new_since", common.from_ns), time_of("new_until", common.to_ns)};
  store::TimeSpan base{time_of("base_since", common.from_ns), time_of("base_until", common.to_ns)};
  const int64_t earlier_ns = given("earlier", parse_duration_ns, int64_t{0});
  if (earlier_ns != 0 && other.from_ns != INT64_MIN) {
    base = {other.from_ns - earlier_ns, (other.to_ns == INT64_MAX ? now_ns : other.to_ns) - earlier_ns};
  }
  return {base, other};
}

}  // namespace plimsoll::query
