#include "server/standby.h"

#include <utility>

#include "base/log.h"
#include "server/fleet_settings.h"
#include "server/request_settings.h"
#include "server/role_health.h"
#include "store/directory/data_directory.h"

namespace plimsoll::server {

Standby::Standby(std::string data_dir)
    : data_dir_(std::move(data_dir)),
      found_(fail(ErrorCode::kUnavailable, "{} has not been looked at yet", data_dir_)) {}

Result<std::unique_ptr<Standby>> Standby::start(const config::ServerConfig& config) {
  if (config.data_dir.empty()) {
    return with_field(
        fail(ErrorCode::kInvalid, "no data directory to wait for: set server.data or give --data"), "--data");
  }
  std::unique_ptr<Standby> standby(new Standby(config.data_dir));
  http::ListenerOptions options;
  // Where the primary may listen; what stands here needs no authentication.
  const bool asks = !known_tokens(config).empty() || !config.access_machine_ca.empty();
  options.address = config.listen;
  options.allow_beyond_loopback = config.access_allow_unauthenticated || asks;
  options.tls = {.certificate = config.certificate, .key = config.key};
  if (!asks) {
    options.head_rules.hosts = names_of_server(config);
  }
  options.path_hints = {{"/", "this server is a standby: ask the server that writes the data directory"}};
  auto listener = http::Listener::start(
      std::move(options),
      role_health_routes([&waits = *standby]() -> Status { return std::unexpected(waits.not_ready()); },
                         [&waits = *standby] { return waits.metrics(); }));
  if (!listener) {
    return propagate(listener, "listening for health checks");
  }
  standby->listener_ = *std::move(listener);
  return standby;
}

Status Standby::may_start(const config::ServerConfig& config) {
  return store::DataDirectory::expect_unlocked(config.data_dir);
}

bool Standby::may_take_over() {
  Status found = store::DataDirectory::expect_unlocked(data_dir_);
  const std::lock_guard lock(mutex_);
  ++looks_;
  if (!found && (found_ || found_.error().message != found.error().message)) {
    log_info("standby: {}", found.error().message);
  }
  found_ = std::move(found);
  return found_.has_value();
}

Error Standby::not_ready() const {
  const std::lock_guard lock(mutex_);
  if (found_) {
    return fail(ErrorCode::kUnavailable, "standby: taking over {}", data_dir_).error();
  }
  const bool is_held = found_.error().code == ErrorCode::kConflict;
  return with_hint(fail(ErrorCode::kUnavailable, "standby: {}", found_.error().message),
                   is_held ? "this server takes over when that process ends; ask the server that it is"
                           : "start the primary, or mount the disk that has the directory")
      .error();
}

std::string Standby::metrics() const {
  const std::lock_guard lock(mutex_);
  MetricsText text;
  text.add("plimsoll_standby", "gauge", "1 while this server waits to take over a data directory.", 1);
  text.add("plimsoll_standby_looks_total", "counter",
           "Times that this server has looked whether a process writes the directory.", looks_);
  return text.text();
}

}  // namespace plimsoll::server
