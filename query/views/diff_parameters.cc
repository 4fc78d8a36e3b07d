#include <string_view>
#include <vector>

#include "query/selection/sides.h"
#include "query/views/diff.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxLimit = 1'000'000;
constexpr size_t kMaxAmong = 10'000;

Status add_own(const std::string& name, const std::string& text, DiffRequest& request) {
  if (name == "by") {
    return add_dimensions(text, request.by);
  }
  if (name == "limit") {
    return set_count(name, text, kMaxLimit, request.limit);
  }
  if (name == "among") {
    return set_count(name, text, kMaxAmong, request.among);
  }
  if (name == "margins") {
    return set_flag(name, text, request.margins);
  }
  if (name == "measure") {
    const auto measure = parse_measure(text);
    request.measure = measure.value_or(Measure::kShare);
    return measure ? Status() : propagate(measure);
  }
  std::vector<std::string_view> known{"by", "measure", "limit", "among", "margins"};
  known.insert(known.begin(), SidesParser::kNames.begin(), SidesParser::kNames.end());
  return unknown_parameter(name, known);
}

}  // namespace

Result<DiffRequest> parse_diff(const Parameters& parameters, int64_t now_ns) {
  DiffRequest request;
  SidesParser parser(now_ns);
  for (const auto& [name, text] : parameters) {
    const auto taken = parser.add(name, text);
    if (!taken) {
      return propagate(taken);
    }
    if (auto added = *taken ? Status() : add_own(name, text, request); !added) {
      return propagate(added);
    }
  }
  auto sides = parser.sides();
  if (!sides) {
    return propagate(sides);
  }
  request.base = std::move(sides->base);
  request.other = std::move(sides->other);
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  return request;
}

}  // namespace plimsoll::query
