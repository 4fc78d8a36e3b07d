// `plimsoll server --role symbolizer`: a symbolizer worker, and a listener that says how it is doing.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "config/server_config.h"
#include "http/listener.h"
#include "symbolizer/remote/remote_worker.h"

namespace plimsoll::server {

// Runs from start() to stop().
class SymbolizerService {
 public:
  // Of the configuration, its table [symbolizer] and symbols.max_memory_bytes. `table_worker` starts the process that parses binaries.
  static Result<std::unique_ptr<SymbolizerService>> start(const config::ServerConfig& config,
                                                          symbolizer::TableWorker table_worker);
  // What start() would find wrong in it before it listens. Reads the file of the token.
  static Status check(const config::ServerConfig& config);
  SymbolizerService(const SymbolizerService&) = delete;
  SymbolizerService& operator=(const SymbolizerService&) = delete;
  ~SymbolizerService() { stop(); }

  std::string address() const { return listener_->address(); }

  // Gives leases back. May be called again.
  void stop();

 private:
  explicit SymbolizerService(std::unique_ptr<symbolizer::RemoteWorker> worker) : worker_(std::move(worker)) {}

  const std::unique_ptr<symbolizer::RemoteWorker> worker_;
  std::unique_ptr<http::Listener> listener_;
};

// /healthz; /readyz: 503 where the server has not answered for a minute; /metrics.
std::vector<http::Route> worker_health_routes(const symbolizer::RemoteWorker& worker);

// The text of /metrics.
std::string worker_metrics(const symbolizer::RemoteWorkerStatus& status);
// Whether /readyz says that it is, at that time of the monotonic clock.
Status worker_readiness(const symbolizer::RemoteWorkerStatus& status, int64_t now_ns);

}  // namespace plimsoll::server
