// `plimsoll server --role ingest`: takes what daemons send, and forwards it to the server that has the data.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "config/server_config.h"
#include "http/listener.h"
#include "server/relay/relay.h"

namespace plimsoll::server {

// Runs from start() to stop().
class IngestService {
 public:
  // Of the configuration, its tables [ingest] and [server] without server.data, access.machine_ca, access.allow_unauthenticated,
  // fleet.max_connections and limits.max_profile_bytes.
  static Result<std::unique_ptr<IngestService>> start(const config::ServerConfig& config);
  // What start() would find wrong in it before it listens. Reads the file of the token.
  static Status check(const config::ServerConfig& config);
  IngestService(const IngestService&) = delete;
  IngestService& operator=(const IngestService&) = delete;
  ~IngestService() { stop(); }

  std::string address() const { return health_->address(); }
  std::string fleet_address() const { return daemons_->address(); }

  // Reads the certificate's files again; the old one stays where they are wrong.
  Status reload();

  // What waits gets 503, and daemons send it again. May be called again.
  void stop();

 private:
  explicit IngestService(const RelaySettings& settings) : relay_(settings) {}
  Status listen(const config::ServerConfig& config);
  Status listen_for_daemons(const config::ServerConfig& config, http::ListenerOptions options);
  Status listen_for_health(const config::ServerConfig& config, http::ListenerOptions options);

  Relay relay_;
  std::unique_ptr<http::Listener> daemons_;
  std::unique_ptr<http::Listener> health_;
};

// The text of /metrics.
std::string ingest_metrics(const RelayStatus& status, const http::ListenerCounts& daemons);

}  // namespace plimsoll::server
