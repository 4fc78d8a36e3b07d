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

void MetricsText::add_by_class(std::string_view name, std::string_view help,
                               std::span<const uint64_t> values) {
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} counter\n", name, help);
  for (size_t i = 0; i < values.size(); ++i) {
    text_ += fmt::format("{}{{class=\"{}xx\"}} {}\n", name, i + 1, values[i]);
  }
}

std::vector<http::Route> role_health_routes(std::function<Status()> readiness,
                                            std::function<std::string()> metrics, http::Right metrics_right) {
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
    routes.back().right = metrics_right;
  }
  return routes;
}

}  // namespace plimsoll::server
