#include "server/standby.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "server/fleet_settings.h"
#include "server/request_settings.h"
#include "store/directory/data_directory.h"

namespace plimsoll::server {
namespace {

http::Route standby_route(std::string path, std::function<http::Response()> answer) {
  return {.method = "GET",
          .path = std::move(path),
          .handle = [answer = std::move(answer)](const http::Request&) { return answer(); },
          .right = http::Right::kNone};
}

http::Response standby_text(std::string_view content_type, std::string text) {
  http::Response response;
  response.content_type = content_type;
  response.body = std::move(text);
  return response;
}

}  // namespace

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
  auto listener = http::Listener::start(std::move(options), standby->routes());
  if (!listener) {
    return propagate(listener, "listening for health checks");
  }
  standby->listener_ = *std::move(listener);
  return standby;
}

std::vector<http::Route> Standby::routes() const {
  std::vector<http::Route> routes;
  routes.push_back(
      standby_route("/healthz", [] { return standby_text("text/plain; charset=utf-8", "ok\n"); }));
  routes.push_back(standby_route("/readyz", [this] { return http::error_response(not_ready()); }));
  routes.push_back(standby_route(
      "/metrics", [this] { return standby_text("text/plain; version=0.0.4; charset=utf-8", metrics()); }));
  return routes;
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
  return fmt::format(
      "# HELP plimsoll_standby 1 while this server waits to take over a data directory.\n"
      "# TYPE plimsoll_standby gauge\nplimsoll_standby 1\n"
      "# HELP plimsoll_standby_looks_total Times that this server has looked whether a process writes the "
      "directory.\n"
      "# TYPE plimsoll_standby_looks_total counter\nplimsoll_standby_looks_total {}\n",
      looks_);
}

}  // namespace plimsoll::server
