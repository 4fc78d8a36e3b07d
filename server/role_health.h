// The health of a process that is no whole server: /healthz and /readyz, which ask for no right, and /metrics.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/routes.h"

namespace plimsoll::server {

// Of a role's connection to its primary, as http::ClientOptions has it: a machine that lost its power closes none.
inline constexpr int64_t kSilenceOfPrimaryMs = 15'000;

// The text of /metrics, a metric at a time.
class MetricsText {
 public:
  // `type`: "counter" or "gauge".
  void add(std::string_view name, std::string_view type, std::string_view help, auto value) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
  }
  // A counter of answers: the first value is that of the class 1xx.
  void add_by_class(std::string_view name, std::string_view help, std::span<const uint64_t> values);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// /readyz: 503 with the error while `readiness` has one. No `metrics`: no /metrics. Any thread calls both.
std::vector<http::Route> role_health_routes(std::function<Status()> readiness,
                                            std::function<std::string()> metrics,
                                            http::Right metrics_right = http::Right::kNone);

}  // namespace plimsoll::server
