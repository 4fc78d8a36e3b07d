// The listener of a process that serves nothing but its health: /healthz, /readyz and /metrics, which ask for no right.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/routes.h"

namespace plimsoll::server {

// The text of /metrics, a metric at a time.
class MetricsText {
 public:
  // `type`: "counter" or "gauge".
  void add(std::string_view name, std::string_view type, std::string_view help, auto value) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// /readyz: 503 with the error while `readiness` has one. No `metrics`: no /metrics. Any thread calls both.
std::vector<http::Route> role_health_routes(std::function<Status()> readiness,
                                            std::function<std::string()> metrics);

}  // namespace plimsoll::server
