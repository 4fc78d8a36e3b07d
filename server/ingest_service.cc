#include "server/ingest_service.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/process_memory.h"
#include "base/time.h"
#include "http/client.h"
#include "http/token.h"
#include "proto/fleet_messages.h"
#include "server/request_settings.h"
#include "server/role_health.h"

namespace plimsoll::server {
namespace {

// Of daemons' requests while they arrive, and of what waits for the primary: of the memory that the process may have.
constexpr size_t kMaxArrivingBytes = size_t{256} << 20;
constexpr unsigned kPartOfArriving = 8;
constexpr unsigned kPartOfWaiting = 4;

// Checking a large profile takes milliseconds, for which others need not wait.
constexpr unsigned kDaemonThreads = 4;
constexpr size_t kDaemonConnectionBytes = 8UL << 10;
constexpr unsigned kHealthConnections = 64;

Result<http::ClientOptions> primary_of(const config::ServerConfig& config) {
  if (config.ingest_server.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "an ingest server needs the address of the primary"),
                   "ingest.server"),
        "set ingest.server in the file given with --config to the address for daemons of the "
        "server that has the data, such as \"plimsoll:7071\"");
  }
  http::ClientOptions options{.base_url = config.ingest_server,
                              .silence_timeout_ms = kSilenceOfPrimaryMs,
                              .ends_with_stop_scope = true};
  options.credentials.ca = config.ingest_server_ca;
  if (!config.ingest_token_file.empty()) {
    auto token = http::read_token(config.ingest_token_file);
    if (!token) {
      return with_field(propagate(token), "ingest.token_file");
    }
    options.credentials.token = *std::move(token);
  }
  return options;
}

PostBatch connection_to(const http::ClientOptions& primary) {
  // std::function wants what it holds to be copyable.
  return [client = std::make_shared<http::Client>(primary)](std::string_view path, const std::string& body) {
    return client->send("POST", path, body, wire::kProtobufType);
  };
}

RelaySettings relay_settings(const config::ServerConfig& config, http::ClientOptions primary) {
  RelaySettings settings;
  settings.connect = [primary = std::move(primary)] { return connection_to(primary); };
  settings.connections = static_cast<unsigned>(config.ingest_connections);
  settings.max_waiting_bytes =
      memory_share(static_cast<uint64_t>(config.ingest_max_waiting_bytes), kPartOfWaiting);
  settings.max_upload_bytes = static_cast<uint64_t>(config.max_profile_bytes);
  return settings;
}

}  // namespace

std::string ingest_metrics(const RelayStatus& status, const http::ListenerCounts& daemons) {
  MetricsText metrics;
  metrics.add("plimsoll_ingest_requests_total", "counter", "Requests of daemons that the primary answered.",
              status.requests);
  metrics.add("plimsoll_ingest_failed_requests_total", "counter",
              "Requests of daemons that the primary did not answer, which daemons send again.",
              status.failed_requests);
  metrics.add("plimsoll_ingest_batches_total", "counter", "Batches that the primary answered.",
              status.batches);
  metrics.add("plimsoll_ingest_failed_batches_total", "counter", "Batches that the primary did not answer.",
              status.failed_batches);
  metrics.add("plimsoll_ingest_waiting", "gauge", "Requests that wait for a connection to the primary.",
              status.waiting);
  metrics.add("plimsoll_ingest_held_bytes", "gauge",
              "Bytes of requests that wait, or are on their way to the primary.", status.held_bytes);
  metrics.add("plimsoll_ingest_connected", "gauge", "1 if the newest batch was answered.",
              status.newest_answer_ns != 0 && status.newest_error.empty() ? 1 : 0);
  metrics.add("plimsoll_ingest_connections", "gauge", "Open connections of daemons.", daemons.connections);
  return metrics.text();
}

Status IngestService::check(const config::ServerConfig& config) {
  const auto primary = primary_of(config);
  return primary ? Status() : propagate(primary);
}

Result<std::unique_ptr<IngestService>> IngestService::start(const config::ServerConfig& config) {
  auto primary = primary_of(config);
  if (!primary) {
    return propagate(primary);
  }
  if (auto allowed = allow_connections(config.fleet_max_connections); !allowed) {
    return propagate(allowed);
  }
  std::unique_ptr<IngestService> service(new IngestService(relay_settings(config, *std::move(primary))));
  if (auto listening = service->listen(config); !listening) {
    return propagate(listening);
  }
  return service;
}

Status IngestService::listen(const config::ServerConfig& config) {
  http::ListenerOptions options;
  options.tls = {.certificate = config.certificate, .key = config.key};
  // Daemons first: a balancer that gets an answer from /readyz may send them here at once.
  if (const Status daemons = listen_for_daemons(config, options); !daemons) {
    return daemons;
  }
  return listen_for_health(config, std::move(options));
}

Status IngestService::listen_for_daemons(const config::ServerConfig& config, http::ListenerOptions options) {
  options.address = config.fleet_listen;
  // With a token the primary authenticates, this server before all others.
  options.allow_beyond_loopback = config.access_allow_unauthenticated || !config.ingest_token_file.empty();
  options.threads = kDaemonThreads;
  options.max_connections = static_cast<unsigned>(config.fleet_max_connections);
  options.max_connections_of_address = 0;  // all come from a balancer
  options.connection_bytes = kDaemonConnectionBytes;
  options.max_buffered_bytes = std::max(
      memory_share(kMaxArrivingBytes, kPartOfArriving),
      std::max(static_cast<uint64_t>(config.max_profile_bytes), uint64_t{wire::kMaxFleetMessageBytes}));
  options.tls.client_ca = config.access_machine_ca;
  options.path_hints = {
      {"/fleet/v1/binaries/",
       "ingest servers forward no binaries: add them with plimsoll binaries add, or "
       "give these daemons the primary's address (server.fleet_listen there)"},
      {"/",
       "ingest servers forward registrations, heartbeats, profiles and recordings of bursts: send other "
       "requests to the primary"}};
  // A balancer asks the address that it balances.
  auto routes = role_health_routes([this] { return public_readiness(relay_.status(), monotonic_now_ns()); },
                                   /*metrics=*/{});
  std::ranges::move(relay_.routes(), std::back_inserter(routes));
  auto daemons = http::Listener::start(std::move(options), std::move(routes));
  if (!daemons) {
    return with_field(propagate(daemons, "listening for daemons"), "server.fleet_listen");
  }
  daemons_ = *std::move(daemons);
  return {};
}

Status IngestService::listen_for_health(const config::ServerConfig& config, http::ListenerOptions options) {
  options.address = config.listen;
  options.allow_beyond_loopback = config.access_allow_unauthenticated;
  options.max_connections = kHealthConnections;
  auto health = http::Listener::start(
      std::move(options),
      role_health_routes([this] { return primary_readiness(relay_.status(), monotonic_now_ns()); },
                         [this] { return ingest_metrics(relay_.status(), daemons_->counts()); }));
  if (!health) {
    return with_field(propagate(health, "listening for health checks"), "server.listen");
  }
  health_ = *std::move(health);
  return {};
}

Status IngestService::reload() {
  Status done;
  for (http::Listener* const listener : {daemons_.get(), health_.get()}) {
    const Status reloaded = listener->reload_certificate();
    done = done ? reloaded : done;
  }
  return done;
}

void IngestService::stop() {
  // Before the listener, which waits until each request has its answer.
  relay_.stop();
  if (daemons_ != nullptr) {
    daemons_->stop();
  }
  if (health_ != nullptr) {
    health_->stop();
  }
}

}  // namespace plimsoll::server
