// `plimsoll server --standby`: waits until no process writes the data directory of its primary, and says meanwhile that it waits.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "config/server_config.h"
#include "http/listener.h"

namespace plimsoll::server {

// From start() to its end, before there is a Server, which then has the same address. Opens nothing of the directory: the lock of the process
// that writes it is all that tells whether that lives.
class Standby {
 public:
  // Listens on server.listen, for health checks alone; on server.fleet_listen nothing listens, so that daemons find the primary.
  static Result<std::unique_ptr<Standby>> start(const config::ServerConfig& config);

  std::string address() const { return listener_->address(); }

  // Looks again: whether no process writes the directory, and it is one. A directory that is not there, as where its disk is not mounted, is not
  // taken over: an empty one would take its place. Any thread.
  bool may_take_over();

  // What it looks for, at once: where a server could not start, whether another process was faster.
  static Status may_start(const config::ServerConfig& config);

  // What /readyz says, by the newest look. Any thread.
  Error not_ready() const;

 private:
  explicit Standby(std::string data_dir);
  // The text of /metrics.
  std::string metrics() const;

  const std::string data_dir_;
  mutable std::mutex mutex_;
  Status found_;                              // protected by mutex_: of the newest look
  uint64_t looks_ = 0;                        // likewise
  std::unique_ptr<http::Listener> listener_;  // last: its handlers use all else
};

}  // namespace plimsoll::server
