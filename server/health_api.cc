#include "server/health_api.h"

#include <string>
#include <utility>

#include "server/health/metrics.h"

namespace plimsoll::server {
namespace {

http::Response plain_text(std::string_view content_type, std::string text) {
  http::Response response;
  response.content_type = content_type;
  response.body = std::move(text);
  return response;
}

http::Route monitoring_route(std::string path, http::Right right, std::function<http::Response()> answer) {
  return {.method = "GET",
          .path = std::move(path),
          .handle = [answer = std::move(answer)](const http::Request&) { return answer(); },
          .right = right};
}

// A server that works without some of its rows is ready.
std::string ready_text(const ServerHealth& health) {
  const auto& store = health.measured.store;
  return !store || store->blocks_unreadable == 0
             ? "ready\n"
             : fmt::format("ready\nwithout {} damaged blocks: {}\n", store->blocks_unreadable,
                           store->why_unreadable);
}

}  // namespace

std::vector<http::Route> health_routes(HealthCollector& health, std::function<Status()> readiness) {
  constexpr std::string_view kText = "text/plain; charset=utf-8";
  std::vector<http::Route> routes;
  routes.push_back(
      monitoring_route("/healthz", http::Right::kNone, [=] { return plain_text(kText, "ok\n"); }));
  routes.push_back(
      monitoring_route("/readyz", http::Right::kNone, [=, &health, readiness = std::move(readiness)] {
        const Status ready = readiness();
        return ready ? plain_text(kText, ready_text(health.collect())) : http::error_response(ready.error());
      }));
  routes.push_back(monitoring_route("/metrics", http::Right::kRead, [&health] {
    return plain_text(kMetricsContentType, metrics_text(health.collect()));
  }));
  return routes;
}

}  // namespace plimsoll::server
