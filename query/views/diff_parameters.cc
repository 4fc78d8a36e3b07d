#include <string>
#include <utility>

#include "query/selection/sides.h"
#include "query/views/diff.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxAmong = 10'000;

}  // namespace

Result<DiffRequest> parse_diff(const Parameters& parameters, int64_t now_ns) {
  DiffRequest request;
  std::string event;
  auto sides = read_sides(
      parameters, now_ns,
      {text_parameter("event", event), by_parameter(request.by), measure_parameter(request.measure),
       count_parameter("limit", kMaxRows, request.limit),
       count_parameter("candidates", kMaxAmong, request.among), flag_parameter("margins", request.margins)});
  if (!sides) {
    return propagate(sides);
  }
  request.base = std::move(sides->base);
  request.other = std::move(sides->other);
  for (Selection* const side : {&request.base, &request.other}) {
    side->event = event;
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  return request;
}

}  // namespace plimsoll::query
