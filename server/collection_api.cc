#include "server/collection_api.h"

#include <algorithm>

#include "base/printable.h"
#include "base/time.h"
#include "query/views/collection.h"

namespace plimsoll::server {
namespace {

constexpr size_t kMaxOrderBytes = 4096;

http::Response answer(const Status& done, const std::string& data_dir) {
  const auto stops = done ? query::load_stops(data_dir) : propagate(done);
  if (!stops) {
    return http::error_response(stops.error());
  }
  http::Response response;
  response.body = query::to_json(query::collection(*stops));
  return response;
}

Status check_is_order(const http::Request& request) {
  return request.header("Content-Type").starts_with("application/json")
             ? Status()
             : with_field(fail(ErrorCode::kInvalid, "an order is sent as application/json"), "Content-Type");
}

Status stop(const http::Request& request, scheduler::Brake& brake) {
  if (auto checked = check_is_order(request); !checked) {
    return checked;
  }
  const auto reason =
      std::ranges::find(request.query, "reason", [](const auto& field) { return field.first; });
  if (reason == request.query.end() || reason->second.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "everything is to be stopped without a reason"), "reason"),
        "whoever asks why nothing is measured will read it");
  }
  return brake.stop_everything(printable(reason->second), request.peer, wall_now_ns());
}

Status resume(const http::Request& request, scheduler::Brake& brake) {
  const auto checked = check_is_order(request);
  const auto resumed = checked ? brake.resume(request.peer, wall_now_ns()) : propagate(checked);
  return resumed ? Status() : propagate(resumed);
}

}  // namespace

std::vector<http::Route> collection_routes(scheduler::Brake& brake, const std::string& data_dir) {
  std::vector<http::Route> routes;
  routes.push_back({"GET", "/api/v1/collection", false, 0,
                    [data_dir](const http::Request&) { return answer(Status(), data_dir); }});
  routes.push_back(
      {"POST", "/api/v1/collection/stop", false, kMaxOrderBytes,
       [&brake, data_dir](const http::Request& request) { return answer(stop(request, brake), data_dir); }});
  routes.push_back({"POST", "/api/v1/collection/resume", false, kMaxOrderBytes,
                    [&brake, data_dir](const http::Request& request) {
                      return answer(resume(request, brake), data_dir);
                    }});
  return routes;
}

}  // namespace plimsoll::server
