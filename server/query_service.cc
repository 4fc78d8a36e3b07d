#include "server/query_service.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/lock_file.h"
#include "base/process_memory.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "http/token.h"
#include "server/background/readiness.h"
#include "server/background/work_kinds.h"
#include "server/fleet_settings.h"
#include "server/page_api.h"
#include "server/query_api.h"
#include "server/replica/forwarder.h"
#include "server/request_settings.h"
#include "server/role_health.h"
#include "store/identity/directory_identity.h"
#include "store/replica/copied_fleet.h"
#include "web/page_files.h"

namespace plimsoll::server {
namespace {

constexpr std::chrono::nanoseconds kAuditEvery = std::chrono::minutes(1);
constexpr std::chrono::nanoseconds kAskRowsEvery = std::chrono::seconds(10);

// As a server has them for people.
constexpr unsigned kQueryConnections = 1024;
constexpr unsigned kPartOfQueryBodies = 16;

// Of a copy with all its files.
constexpr int64_t kMaxFetchMs = int64_t{600} * 1000;
constexpr uint64_t kMaxCopyBytes = uint64_t{64} << 30;

Status check_primary(const config::ServerConfig& config) {
  if (config.data_dir.empty()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid,
                                     "no folder for copies of the primary server's "
                                     "machines and draws: set server.data or give --data"),
                                "--data"),
                     "give an empty folder or a new name");
  }
  if (config.primary_server.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "a query server needs the address of its primary server"),
                   "primary.server"),
        "set primary.server in the file given with --config, such as \"plimsoll:7070\"");
  }
  std::error_code error;
  if (std::filesystem::exists(config.data_dir + "/FORMAT", error)) {
    return with_hint(with_field(fail(ErrorCode::kInvalid,
                                     "{} is the data directory of a server, not the folder of a query server",
                                     config.data_dir),
                                "--data"),
                     "give an empty folder or a new name with --data");
  }
  return {};
}

// For its owner alone, as a data directory is.
Result<UniqueFd> make_query_folder(const std::string& folder) {
  const std::filesystem::path path(folder);
  std::error_code error;
  std::filesystem::create_directories(path.has_parent_path() ? path.parent_path() : ".", error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return with_hint(fail_errno(errno, "creating {}", folder), "give a writable folder with --data");
  }
  std::filesystem::create_directories(folder + "/rows", error);
  if (error) {
    return with_hint(fail_errno(error.value(), "creating {}/rows", folder),
                     "give a writable folder with --data");
  }
  return take_lock_file(folder + "/lock", folder + " is used by",
                        "give each query server a folder of its own");
}

Result<FetcherSettings> fetcher_settings(const config::ServerConfig& config) {
  FetcherSettings settings;
  settings.client.base_url = config.primary_server;
  settings.client.timeout_ms = kMaxFetchMs;
  settings.client.silence_timeout_ms = kSilenceOfPrimaryMs;
  settings.client.max_response_bytes = kMaxCopyBytes;
  settings.client.ends_with_stop_scope = true;
  settings.client.credentials.ca = config.primary_ca;
  if (!config.primary_token_file.empty()) {
    auto token = http::read_token(config.primary_token_file);
    if (!token) {
      return with_field(propagate(token), "primary.token_file");
    }
    settings.client.credentials.token = *std::move(token);
  }
  settings.folder = config.data_dir + "/fleet";
  settings.max_bytes = kMaxCopyBytes;
  return settings;
}

// Where the rows of the copied directory are as this machine reaches them: what this configuration says goes before what the primary server
// says, and files with passwords are this machine's.
store::DirectoryIdentity identity_of(const store::CopiedDirectory& copy, const config::ServerConfig& config) {
  const std::string& told_address = copy.facts().rows_address();
  const auto& told_shards = copy.facts().rows_shards();
  return {.id = copy.facts().directory_id(),
          .rows = {.address = config.store_address.empty() ? told_address : config.store_address,
                   .password_file = config.store_password_file,
                   .ca = config.store_ca,
                   .insert_quorum = config.store_replicated ? config.store_insert_quorum
                                                            : int64_t{copy.facts().rows_insert_quorum()},
                   .shards = config.store_shards.empty()
                                 ? std::vector<std::string>(told_shards.begin(), told_shards.end())
                                 : config.store_shards}};
}

// A request to another server that is under way ends with the work that it belongs to.
StopCheck until(const std::stop_token& stop) {
  return [&stop]() -> Status {
    return stop.stop_requested() ? fail(ErrorCode::kUnavailable, "the server stops") : Status();
  };
}

}  // namespace

QueryService::QueryService(UniqueFd lock, std::unique_ptr<Authenticator> authenticator,
                           std::unique_ptr<store::FollowedRows> rows, std::unique_ptr<FleetFollower> follower,
                           const std::string& data_dir)
    : lock_(std::move(lock)),
      authenticator_(std::move(authenticator)),
      access_(authenticator_->access_control(Authenticator::Notes::kAll)),
      rows_(*rows),
      follower_(std::move(follower)),
      snapshots_(
          std::move(rows),
          std::make_shared<store::CopiedFleet>(
              *follower_, [&followed = rows_] { return followed.last_read_ns(); }, data_dir + "/access.db"),
          data_dir) {}

Status QueryService::check(const config::ServerConfig& config) {
  const Status sound = check_primary(config);
  const auto fetcher = sound ? fetcher_settings(config) : propagate(sound);
  return fetcher ? Status() : propagate(fetcher);
}

Result<std::unique_ptr<QueryService>> QueryService::start(const config::ServerConfig& config) {
  if (const Status sound = check_primary(config); !sound) {
    return propagate(sound);
  }
  auto lock = make_query_folder(config.data_dir);
  if (!lock) {
    return propagate(lock);
  }
  auto authenticator = open_authenticator(config, config.data_dir + "/access.db");
  if (!authenticator) {
    return propagate(authenticator, "reading access rights");
  }
  auto fetcher = fetcher_settings(config);
  if (!fetcher) {
    return propagate(fetcher);
  }
  auto rows = std::make_unique<store::FollowedRows>(config.data_dir + "/rows");
  auto follower =
      FleetFollower::open({.fetcher = *std::move(fetcher),
                           .settle = [&followed = *rows, config](const store::CopiedDirectory& copy) {
                             return followed.settle(identity_of(copy, config));
                           }});
  if (!follower) {
    return propagate(follower);
  }
  std::unique_ptr<QueryService> service(new QueryService(
      *std::move(lock), *std::move(authenticator), std::move(rows), *std::move(follower), config.data_dir));
  if (const Status listening = service->listen(config); !listening) {
    return propagate(listening);
  }
  service->start_work(config);
  return service;
}

Status QueryService::listen(const config::ServerConfig& config) {
  http::ListenerOptions options;
  options.address = config.listen;
  options.allow_beyond_loopback = config.access_allow_unauthenticated || authenticator_->asks();
  options.tls = {.certificate = config.certificate, .key = config.key};
  options.access_control = access_.get();
  if (!authenticator_->asks()) {
    options.head_rules.hosts = names_of_server(config);
  }
  options.max_connections = kQueryConnections;
  options.max_connections_of_address = kQueryConnections * 3 / 4;
  options.max_buffered_bytes = memory_share(options.max_buffered_bytes, kPartOfQueryBodies);
  options.max_unread_bytes = memory_share(options.max_unread_bytes, kPartOfQueryBodies);
  options.pools = question_pools(config);
  options.path_hints = {
      {"/api/",
       fmt::format("this is a query server: send this to its primary server, {}", config.primary_server)},
      {"/fleet/",
       "this is a query server; daemons take the address of server.fleet_listen of its primary "
       "server (default port 7071)"}};
  auto listener = http::Listener::start(options, routes(config));
  if (!listener) {
    return propagate(listener, "listening for clients");
  }
  const std::lock_guard lock(mutex_);
  listener_ = *std::move(listener);
  return {};
}

std::vector<http::Route> QueryService::routes(const config::ServerConfig& config) {
  const QueryHooks hooks{.write_audit_log = [this] { return authenticator_->log().write(); },
                         .running_server = [] { return query::RunningServer(); },
                         .answered = [](std::string_view /*view*/, int64_t /*duration_ns*/) {},
                         .has_directory = false,
                         .note = [this] { return follower_->note(); }};
  const QueryLimits limits = query_limits(config);
  std::vector<http::Route> routes = query_routes(snapshots_, hooks, limits);
  std::ranges::move(forward_routes({.server = config.primary_server,
                                    .ca = config.primary_ca,
                                    .folder = config.data_dir,
                                    .max_time = limits.max_time,
                                    .ordered = [this] { work_.wake(kFollow); },
                                    .is_stopping = [this] { return is_stopping_.load(); }}),
                    std::back_inserter(routes));
  std::ranges::move(page_routes(web::page_files()), std::back_inserter(routes));
  std::ranges::move(
      role_health_routes([this] { return readiness(); }, [this] { return metrics(); }, http::Right::kRead),
      std::back_inserter(routes));
  return routes;
}

void QueryService::start_work(const config::ServerConfig& config) {
  work_.start(kAudit, [this](const std::stop_token&) -> Result<NextPass> {
    const Status written = authenticator_->log().end_minute();
    return written ? Result<NextPass>(NextPass{.after = kAuditEvery}) : propagate(written);
  });
  work_.start(kAskRows, [this](const std::stop_token& stop) -> Result<NextPass> {
    const StopCheck check = until(stop);
    const StopScope scope(check);
    const Status checked = rows_.check();
    return checked ? Result<NextPass>(NextPass{.after = kAskRowsEvery}) : propagate(checked);
  });
  const std::chrono::nanoseconds interval(config.primary_interval_ns);
  work_.start(with_retry(kFollow, interval),
              [this, interval](const std::stop_token& stop) -> Result<NextPass> {
                const StopCheck check = until(stop);
                const StopScope scope(check);
                const bool is_first = follower_->current() == nullptr;
                const Status followed = follower_->follow();
                if (followed && is_first) {
                  work_.wake(kAskRows);
                }
                return followed ? Result<NextPass>(NextPass{.after = interval}) : propagate(followed);
              });
}

Status QueryService::readiness() const {
  if (follower_->current() == nullptr) {
    const Status attempt = follower_->newest_attempt();
    return with_hint(fail(ErrorCode::kUnavailable,
                          "not ready: no copy of the primary server's machines and draws has "
                          "come yet{}",
                          attempt ? "" : ": " + attempt.error().message),
                     "check primary.server, primary.token_file and the network");
  }
  return server::readiness(work_.all(), wall_now_ns());
}

http::ListenerCounts QueryService::listener_counts() const {
  const std::lock_guard lock(mutex_);
  return listener_ == nullptr ? http::ListenerCounts() : listener_->counts();
}

std::string QueryService::metrics() const {
  MetricsText text;
  const auto age_ns = follower_->age_ns();
  text.add("plimsoll_query_has_copy", "gauge",
           "1 if there is a copy of the primary server's machines and draws.", age_ns ? 1 : 0);
  text.add("plimsoll_query_copy_age_seconds", "gauge",
           "How long ago machines and draws were as the answers have them.",
           age_ns.value_or(0) / kNsPerSecond);
  text.add("plimsoll_query_primary_answers", "gauge", "1 if the newest request for a copy succeeded.",
           follower_->newest_attempt() ? 1 : 0);
  text.add("plimsoll_query_ready", "gauge", "1 if /readyz says so.", readiness() ? 1 : 0);
  const http::ListenerCounts counts = listener_counts();
  text.add("plimsoll_query_connections", "gauge", "Open connections.", counts.connections);
  text.add_by_class("plimsoll_query_answers_total", "Answers by the class of their status.", counts.answers);
  return text.text();
}

Status QueryService::reload(const config::ServerConfig& config) {
  const Status tokens = authenticator_->reload(known_tokens(config));
  const Status certificate = listener_->reload_certificate();
  return tokens ? certificate : tokens;
}

void QueryService::stop() {
  is_stopping_ = true;
  if (listener_ != nullptr) {
    listener_->give_up_questions();
  }
  work_.stop();
  if (listener_ != nullptr) {
    listener_->stop();
  }
}

}  // namespace plimsoll::server
