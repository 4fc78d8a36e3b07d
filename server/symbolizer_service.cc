#include "server/symbolizer_service.h"

#include <sys/utsname.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/printable.h"
#include "base/random.h"
#include "base/time.h"
#include "http/token.h"
#include "server/role_health.h"

namespace plimsoll::server {
namespace {

using symbolizer::RemoteWorkerStatus;

// A server that restarts is back by then.
constexpr int64_t kMaxSilenceNs = 60 * kNsPerSecond;

std::string name_of_machine() {
  utsname machine{};
  return ::uname(&machine) == 0 ? printable(machine.nodename) : "worker";
}

Result<symbolizer::RemoteWorkerSettings> worker_settings(const config::ServerConfig& config,
                                                         symbolizer::TableWorker table_worker) {
  if (config.symbolizer_server.empty()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "a symbolizer needs the address of its server"),
                                "symbolizer.server"),
                     "set symbolizer.server in the file given with --config, such as \"plimsoll:7070\"");
  }
  symbolizer::RemoteWorkerSettings settings;
  settings.client.server = config.symbolizer_server;
  settings.client.credentials.ca = config.symbolizer_server_ca;
  settings.client.worker = config.symbolizer_name.empty() ? name_of_machine() : config.symbolizer_name;
  if (!config.symbolizer_token_file.empty()) {
    auto token = http::read_token(config.symbolizer_token_file);
    if (!token) {
      return with_field(propagate(token), "symbolizer.token_file");
    }
    settings.client.credentials.token = *std::move(token);
  }
  settings.folder = config.symbolizer_folder;
  settings.parallel = config.symbolizer_parallel != 0 ? static_cast<unsigned>(config.symbolizer_parallel)
                                                      : std::max(1U, std::thread::hardware_concurrency());
  settings.max_bytes = static_cast<uint64_t>(config.symbolizer_max_bytes);
  settings.limits.memory_bytes = static_cast<uint64_t>(config.symbol_max_memory_bytes);
  settings.table_worker = std::move(table_worker);
  settings.seed = random_seed();
  return settings;
}

}  // namespace

std::string worker_metrics(const RemoteWorkerStatus& status) {
  MetricsText metrics;
  metrics.add("plimsoll_symbolizer_tables_total", "counter", "Symbol tables that the server took.",
              status.tables);
  metrics.add("plimsoll_symbolizer_unneeded_total", "counter",
              "Builds that the server did not need any more.", status.unneeded);
  metrics.add("plimsoll_symbolizer_failures_total", "counter",
              "Builds of which no table of full DWARF could be made.", status.failures);
  metrics.add("plimsoll_symbolizer_fetched_bytes_total", "counter",
              "Bytes of binaries and debug files fetched.", status.fetched_bytes);
  metrics.add("plimsoll_symbolizer_working", "gauge", "Builds that are being worked on.",
              status.working_on.size());
  metrics.add("plimsoll_symbolizer_connected", "gauge", "1 if the newest request was answered.",
              status.newest_answer_ns != 0 && status.newest_error.empty() ? 1 : 0);
  return metrics.text();
}

Status worker_readiness(const RemoteWorkerStatus& status, int64_t now_ns) {
  if (status.newest_answer_ns != 0 && now_ns - status.newest_answer_ns <= kMaxSilenceNs) {
    return {};
  }
  return with_hint(fail(ErrorCode::kUnavailable, "the server does not answer: {}",
                        status.newest_error.empty() ? "it was not asked yet" : status.newest_error),
                   "check symbolizer.server, symbolizer.token_file and the network");
}

std::vector<http::Route> worker_health_routes(const symbolizer::RemoteWorker& worker) {
  return role_health_routes([&worker] { return worker_readiness(worker.status(), monotonic_now_ns()); },
                            [&worker] { return worker_metrics(worker.status()); });
}

Status SymbolizerService::check(const config::ServerConfig& config) {
  const auto settings = worker_settings(config, {});
  return settings ? Status() : propagate(settings);
}

Result<std::unique_ptr<SymbolizerService>> SymbolizerService::start(const config::ServerConfig& config,
                                                                    symbolizer::TableWorker table_worker) {
  auto settings = worker_settings(config, std::move(table_worker));
  if (!settings) {
    return propagate(settings);
  }
  auto worker = symbolizer::RemoteWorker::start(*std::move(settings));
  if (!worker) {
    return propagate(worker);
  }
  std::unique_ptr<SymbolizerService> service(new SymbolizerService(*std::move(worker)));
  http::ListenerOptions options;
  options.address = config.symbolizer_listen;
  options.allow_beyond_loopback = config.access_allow_unauthenticated;
  auto listener = http::Listener::start(options, worker_health_routes(*service->worker_));
  if (!listener) {
    return with_field(propagate(listener, "listening for health checks"), "symbolizer.listen");
  }
  service->listener_ = *std::move(listener);
  return service;
}

void SymbolizerService::stop() {
  if (listener_ != nullptr) {
    listener_->stop();
  }
  worker_->stop();
}

}  // namespace plimsoll::server
