#include "server/role_health.h"

#include <utility>

namespace plimsoll::server {
namespace {

http::Route text_route(std::string path, std::function<http::Response()> answer) {
  return {.method = "GET",
          .path = std::move(path),
          .handle = [answer = std::move(answer)](const http::Request&) { return answer(); },
          .right = http::Right::kNone};
}

http::Response text_response(std::string text) {
  return {.content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

}  // namespace

std::vector<http::Route> role_health_routes(std::function<Status()> readiness,
                                            std::function<std::string()> metrics) {
  std::vector<http::Route> routes;
  routes.push_back(text_route("/healthz", [] { return text_response("ok\n"); }));
  routes.push_back(text_route("/readyz", [readiness = std::move(readiness)] {
    const Status ready = readiness();
    return ready ? text_response("ready\n") : http::error_response(ready.error());
  }));
  if (metrics) {
    routes.push_back(text_route("/metrics", [metrics = std::move(metrics)] {
      http::Response response = text_response(metrics());
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      return response;
    }));
  }
  return routes;
}

}  // namespace plimsoll::server
