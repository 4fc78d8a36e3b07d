#include "server/collection_api.h"

#include <utility>

#include "base/time.h"
#include "query/views/collection.h"
#include "server/orders.h"

namespace plimsoll::server {
namespace {

http::Response answer(const Status& done, const std::string& data_dir) {
  const auto stops = done ? query::load_stops(data_dir) : propagate(done);
  if (!stops) {
    return http::error_response(stops.error());
  }
  http::Response response;
  response.body = query::to_json(query::collection(*stops));
  return response;
}

Status stop(const http::Request& request, scheduler::Brake& brake) {
  const auto reason = required_parameter(request, "reason", "everything is to be stopped without a reason");
  if (!reason) {
    return with_hint(propagate(reason), "whoever asks why nothing is measured will read it");
  }
  return brake.stop_everything(*reason, orderer(request), wall_now_ns());
}

Status resume(const http::Request& request, scheduler::Brake& brake) {
  const auto resumed = brake.resume(orderer(request), wall_now_ns());
  return resumed ? Status() : propagate(resumed);
}

}  // namespace

std::vector<http::Route> collection_routes(scheduler::Brake& brake, const std::string& data_dir) {
  http::Route shown;
  shown.method = "GET";
  shown.path = "/api/v1/collection";
  shown.right = http::Right::kRead;
  shown.handle = [data_dir](const http::Request&) { return answer(Status(), data_dir); };
  return {std::move(shown),
          order_route("/api/v1/collection/stop",
                      [&brake, data_dir](const http::Request& request) {
                        return answer(stop(request, brake), data_dir);
                      }),
          order_route("/api/v1/collection/resume", [&brake, data_dir](const http::Request& request) {
            return answer(resume(request, brake), data_dir);
          })};
}

}  // namespace plimsoll::server
