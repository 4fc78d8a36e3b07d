// The server's health as Prometheus reads it.
#pragma once

#include <string>
#include <string_view>

#include "server/health/health.h"

namespace plimsoll::server {

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// In Prometheus's text format. docs/monitoring.md lists the metrics. What could not be measured has no series.
std::string metrics_text(const ServerHealth& health);

}  // namespace plimsoll::server
