// What Server listens for: its two addresses, and which requests each of them takes.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/process_memory.h"
#include "base/time.h"
#include "elf/binary_part.h"
#include "server/access_api.h"
#include "server/annotate_api.h"
#include "server/background/readiness.h"
#include "server/background/work_kinds.h"
#include "server/collection_api.h"
#include "server/door_settings.h"
#include "server/doors/directory_door.h"
#include "server/doors/function_door.h"
#include "server/experiments_api.h"
#include "server/health_api.h"
#include "server/page_api.h"
#include "server/profile_api.h"
#include "server/query_api.h"
#include "server/relay/relay_door.h"
#include "server/relay/relay_limits.h"
#include "server/request_settings.h"
#include "server/server.h"
#include "server/store_settings.h"
#include "web/page_files.h"

namespace plimsoll::server {
namespace {

// Daemons' requests have short heads, and there are many daemons.
constexpr size_t kFleetConnectionBytes = 8UL << 10;

// 32 KiB each. A client that opens many and asks nothing is the first to lose its connections.
constexpr unsigned kClientConnections = 1024;

// Of requests, and of answers.
constexpr unsigned kPartOfBodies = 16;

// Of both addresses: a recording that names a draw is taken only of a machine that was told of it.
BurstDoorOptions burst_door(const config::ServerConfig& config, int64_t min_free_bytes,
                            scheduler::Drawer* drawer) {
  BurstDoorOptions options = burst_door_options(config, min_free_bytes);
  if (drawer != nullptr) {
    options.check_draw = [drawer](const traces::BurstRecording& recording) {
      return drawer->check_bursts_of(recording.draw, recording.machine);
    };
  }
  return options;
}

}  // namespace

Status Server::listen(const config::ServerConfig& config, const RequestWorkers& workers) {
  auto options = listener_options(config);
  if (!options) {
    return propagate(options);
  }
  // Clients last: a client that gets an answer from /readyz may send profiles at once.
  if (const Status daemons = listen_for_daemons(config, *options); !daemons) {
    return daemons;
  }
  return listen_for_clients(config, workers, *std::move(options));
}

Result<http::ListenerOptions> Server::listener_options(const config::ServerConfig& config) {
  http::ListenerOptions options;
  options.allow_beyond_loopback = config.access_allow_unauthenticated || authenticator_->asks();
  options.tls = {.certificate = config.certificate, .key = config.key};
  if (!authenticator_->asks()) {
    options.head_rules.hosts = names_of_server(config);
  }
  options.max_buffered_bytes = std::max(memory_share(options.max_buffered_bytes, kPartOfBodies),
                                        max_relay_body_bytes(static_cast<size_t>(config.max_profile_bytes)));
  options.max_unread_bytes = memory_share(options.max_unread_bytes, kPartOfBodies);
  if (auto allowed = allow_connections(config.fleet_max_connections); !allowed) {
    return propagate(allowed);
  }
  return options;
}

Status Server::listen_for_daemons(const config::ServerConfig& config, http::ListenerOptions options) {
  options.address = config.fleet_listen;
  options.max_connections = static_cast<unsigned>(config.fleet_max_connections);
  options.max_connections_of_address = 0;  // a whole site may lie behind one address
  options.connection_bytes = kFleetConnectionBytes;
  options.access_control = daemons_access_.get();
  options.tls.client_ca = config.access_machine_ca;
  options.path_hints = {
      {"/api/", "this address is for daemons; users take that of server.listen (default port 7070)"}};
  auto routes = fleet_routes(config);
  if (!routes) {
    return propagate(routes);
  }
  auto daemons = http::Listener::start(options, std::move(*routes));
  if (!daemons) {
    return propagate(daemons, "listening for daemons");
  }
  const std::lock_guard lock(mutex_);
  daemons_ = std::move(*daemons);
  return {};
}

Status Server::listen_for_clients(const config::ServerConfig& config, const RequestWorkers& workers,
                                  http::ListenerOptions options) {
  options.address = config.listen;
  options.max_connections = kClientConnections;
  // One address cannot keep all others out: a quarter of the connections is left to them, though many clients may share an address.
  options.max_connections_of_address = kClientConnections * 3 / 4;
  options.access_control = people_access_.get();
  options.path_hints = {
      {"/fleet/", "this address is for users; daemons take that of server.fleet_listen (default port 7071)"}};
  options.pools = question_pools(config);
  auto routes = people_routes(config, workers);
  if (!routes) {
    return propagate(routes);
  }
  auto people = http::Listener::start(options, std::move(*routes));
  if (!people) {
    return propagate(people, "listening for clients");
  }
  const std::lock_guard lock(mutex_);
  people_ = std::move(*people);
  return {};
}

Result<std::vector<http::Route>> Server::fleet_routes(const config::ServerConfig& config) {
  const auto limits = retention_limits(config, config.data_dir);
  if (!limits) {
    return propagate(limits);
  }
  std::vector<http::Route> routes = fleet_.routes();
  std::ranges::move(fleet_burst_routes(*bursts_, burst_door(config, limits->min_free_bytes, drawer_.get())),
                    std::back_inserter(routes));
  auto relayed = relay_routes(routes, {.access_control = daemons_access_.get(),
                                       .takes_certificates = !config.access_machine_ca.empty(),
                                       .max_upload_bytes = static_cast<size_t>(config.max_profile_bytes)});
  if (!relayed) {
    return propagate(relayed);
  }
  std::ranges::move(*relayed, std::back_inserter(routes));
  std::ranges::move(trace_routes(*spans_, trace_door_options(config, limits->min_free_bytes)),
                    std::back_inserter(routes));
  if (config.binaries_from_machines) {
    std::ranges::move(machine_binary_routes(*binaries_, wanted_builds_, binary_door(config)),
                      std::back_inserter(routes));
  }
  return routes;
}

Result<std::vector<http::Route>> Server::people_routes(const config::ServerConfig& config,
                                                       const RequestWorkers& workers) {
  auto annotations = annotate_settings(config, workers.annotations);
  if (!annotations) {
    return propagate(annotations);
  }
  const auto limits = retention_limits(config, config.data_dir);
  if (!limits) {
    return propagate(limits);
  }
  auto experiments = ingest_->directory().open_draws();
  if (!experiments) {
    return propagate(experiments, "reading the definitions of experiments");
  }
  const QueryHooks hooks{
      .write_audit_log = [this] { return authenticator_->log().write(); },
      .running_server = [this] { return running_server(health_.collect()); },
      .retention_limits = [limits] { return limits; },
      .answered = [this](std::string_view view,
                         int64_t duration_ns) { health_.questions().note(view, duration_ns); }};
  std::vector<http::Route> routes = query_routes(snapshots_, hooks, query_limits(config));
  std::ranges::move(profile_routes(snapshots_, hooks, profile_settings(config, workers.profiles)),
                    std::back_inserter(routes));
  std::ranges::move(annotate_routes(snapshots_, *std::move(annotations)), std::back_inserter(routes));
  std::ranges::move(collection_routes(*breaker_, drawer_.get(), *ingest_, reserve_),
                    std::back_inserter(routes));
  std::ranges::move(experiment_routes(std::move(*experiments), reserve_), std::back_inserter(routes));
  std::ranges::move(access_routes(*authenticator_, snapshots_.data_dir(), reserve_),
                    std::back_inserter(routes));
  std::ranges::move(binary_routes(*binaries_, binary_door(config)), std::back_inserter(routes));
  std::ranges::move(symbolizer_routes(tables_, symbolizer_door(config)), std::back_inserter(routes));
  std::ranges::move(
      burst_routes(*bursts_, config.data_dir, burst_door(config, limits->min_free_bytes, drawer_.get())),
      std::back_inserter(routes));
  std::ranges::move(function_routes(config.data_dir), std::back_inserter(routes));
  std::ranges::move(directory_routes(copies_, {.has_rows_elsewhere = ingest_->row_store() != nullptr,
                                               .check_room = room_check(config)}),
                    std::back_inserter(routes));
  std::ranges::move(page_routes(web::page_files()), std::back_inserter(routes));
  std::ranges::move(health_routes(health_, [this] { return readiness(work_.all(), wall_now_ns()); }),
                    std::back_inserter(routes));
  return routes;
}

BinaryDoorOptions Server::binary_door(const config::ServerConfig& config) {
  BinaryDoorOptions options{.max_file_bytes = static_cast<uint64_t>(config.binaries_max_file_bytes)};
  options.machine_content =
      elf::parse_binary_part(config.binaries_content).value_or(elf::BinaryPart::kSymbolsOnly);
  // A small repository keeps room for what comes whole.
  options.max_unfinished_bytes =
      std::min(options.max_unfinished_bytes, static_cast<uint64_t>(config.binaries_max_bytes) / 8);
  options.check_room = room_check(config);
  options.added = [this] {
    *has_new_binaries_ = true;
    work_.wake(kSymbols);
  };
  return options;
}

SymbolizerDoorOptions Server::symbolizer_door(const config::ServerConfig& config) {
  return {.check_room = room_check(config), .asked = [this] { work_.wake(kSymbols); }};
}

}  // namespace plimsoll::server
