// `plimsoll server --role query`: answers questions about the rows of another server, the primary, which are in ClickHouse (docs/scaling.md).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "config/server_config.h"
#include "http/listener.h"
#include "query/snapshot/snapshot.h"
#include "server/access/authenticator.h"
#include "server/background/background_work.h"
#include "server/replica/fleet_follower.h"
#include "store/replica/followed_rows.h"

namespace plimsoll::server {

// Runs from start() to stop(). Its folder (server.data) has nothing that cannot be fetched again but its own audit log:
//
//   lock       held by this process
//   access.db  who asked this server for what
//   rows/      whose rows they are, and where (store/replica/followed_rows.h)
//   fleet/     copies of the primary server's machines and draws (server/replica/fleet_follower.h)
//
// Machines and draws are some seconds old. It answers from them while the primary server is away.
class QueryService {
 public:
  // Of the configuration, its tables [server] without fleet_listen, [access], [query] and [primary], and the table [store] for where
  // ClickHouse is as this machine reaches it. kInvalid for a folder that is a data directory.
  static Result<std::unique_ptr<QueryService>> start(const config::ServerConfig& config);
  // What start() would find wrong in it before it writes anything. Reads the file of the token.
  static Status check(const config::ServerConfig& config);
  QueryService(const QueryService&) = delete;
  QueryService& operator=(const QueryService&) = delete;
  ~QueryService() { stop(); }

  std::string address() const { return listener_->address(); }

  // Takes over tokens and reads the certificate's files again; all other keys wait for the next start.
  Status reload(const config::ServerConfig& config);

  // Gives up questions and accepts nothing more. May be called again.
  void stop();

 private:
  QueryService(UniqueFd lock, std::unique_ptr<Authenticator> authenticator,
               std::unique_ptr<store::FollowedRows> rows, std::unique_ptr<FleetFollower> follower,
               const std::string& data_dir);
  Status listen(const config::ServerConfig& config);
  void start_work(const config::ServerConfig& config);
  std::vector<http::Route> routes(const config::ServerConfig& config);
  Status readiness() const;
  std::string metrics() const;
  http::ListenerCounts listener_counts() const;

  const UniqueFd lock_;
  const std::unique_ptr<Authenticator> authenticator_;
  const std::unique_ptr<http::AccessControl> access_;
  store::FollowedRows& rows_;  // of snapshots_
  const std::unique_ptr<FleetFollower> follower_;
  query::SnapshotCache snapshots_;
  BackgroundWork work_;
  std::atomic<bool> is_stopping_ = false;
  mutable std::mutex mutex_;
  // Set once, under mutex_: the first requests come before start() returns.
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace plimsoll::server
