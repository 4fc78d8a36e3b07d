// `plimsoll server`: all roles in one process, on SQLite and local files.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/server_config.h"
#include "http/listener.h"
#include "query/snapshot/snapshot.h"
#include "scheduler/fleet_service.h"
#include "server/access/authenticator.h"
#include "server/background/background_work.h"
#include "server/doors/binary_door.h"
#include "server/doors/symbolizer_door.h"
#include "server/health/health.h"
#include "store/directory/disk_reserve.h"
#include "store/ingest.h"
#include "store/replica/directory_copies.h"
#include "store/retention/retention_limits.h"
#include "store/store.h"
#include "symbolizer/lease/table_exchange.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/repository/repository.h"

namespace plimsoll::server {

// What starts the processes that requests need. Without one the server has no answers of that kind.
struct RequestWorkers {
  symbolizer::TableWorker profiles = {};     // makes compiler profiles (fdo::ProfileProcess)
  symbolizer::TableWorker annotations = {};  // annotates code (annotate::AnnotateProcess)
};

// Runs from start() to stop(). Two listeners, one for people and one for daemons, beyond loopback only where they ask who is there; and
// background work, each kind in a thread of its own (server/background/work_kinds.h).
class Server {
 public:
  // `table_worker` starts the process that parses binaries (symbolizer::TableProcess). `must_end` is called once, by a thread of the server,
  // when another server has taken over the data directory (taken_over()).
  static Result<std::unique_ptr<Server>> start(const config::ServerConfig& config,
                                               symbolizer::TableWorker table_worker,
                                               const RequestWorkers& request_workers = {},
                                               std::function<void()> must_end = {});

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  std::string address() const { return people_->address(); }
  std::string fleet_address() const { return daemons_->address(); }

  // Takes over the tokens of a configuration that was read again, and reads the certificate's files again; all other keys wait for the next
  // start. Where it fails, what could not be taken over stays as it was.
  Status reload(const config::ServerConfig& config);

  // Which server has taken over the data directory; nothing: none has. Then this process is to end at once, without stop(): that builds rows,
  // in a directory that is another server's. What was accepted is on disk. Any thread.
  std::optional<Error> taken_over();

  // Gives up questions, accepts nothing more, builds what is pending, and returns. A process that reads symbols is ended: what it was for is looked
  // up after the next start. May be called again.
  void stop();

 private:
  Server(std::unique_ptr<store::Ingest> ingest, std::unique_ptr<store::SpanSink> spans,
         std::unique_ptr<store::BurstSink> bursts, std::unique_ptr<symbolizer::BinaryRepository> binaries,
         std::unique_ptr<Authenticator> authenticator, std::unique_ptr<scheduler::CollectionBreaker> breaker,
         std::unique_ptr<scheduler::Drawer> drawer, const config::ServerConfig& config);
  Status listen(const config::ServerConfig& config, const RequestWorkers& workers);
  // What both listeners have in common.
  Result<http::ListenerOptions> listener_options(const config::ServerConfig& config);
  Status listen_for_daemons(const config::ServerConfig& config, http::ListenerOptions options);
  Status listen_for_clients(const config::ServerConfig& config, const RequestWorkers& workers,
                            http::ListenerOptions options);
  Status start_work(const config::ServerConfig& config, symbolizer::TableWorker table_worker);
  Status watch_writer();
  Status start_fleet_work(const config::ServerConfig& config);
  Status start_store_work(const config::ServerConfig& config);
  Status start_copying(const config::ServerConfig& config);
  Status start_row_work(const config::ServerConfig& config, const store::RetentionLimits& limits);
  Status start_symbol_work(const config::ServerConfig& config, symbolizer::TableWorker table_worker);
  // Nothing where no debuginfod is named, and machines send no binaries.
  Status start_fetching(const config::ServerConfig& config);
  Result<std::vector<http::Route>> fleet_routes(const config::ServerConfig& config);
  Result<std::vector<http::Route>> people_routes(const config::ServerConfig& config,
                                                 const RequestWorkers& workers);
  BinaryDoorOptions binary_door(const config::ServerConfig& config);
  SymbolizerDoorOptions symbolizer_door(const config::ServerConfig& config);
  std::vector<ListenerHealth> listeners();
  std::vector<query::SymbolizerWorkerHealth> symbolizers();

  const std::unique_ptr<store::Ingest> ingest_;
  const std::unique_ptr<store::SpanSink> spans_;
  const std::unique_ptr<store::BurstSink> bursts_;
  const std::unique_ptr<symbolizer::BinaryRepository> binaries_;
  symbolizer::TableExchange tables_;
  const std::shared_ptr<std::atomic<bool>> has_new_binaries_ = std::make_shared<std::atomic<bool>>(false);
  WantedBuildSet wanted_builds_;
  store::DiskReserve reserve_;
  store::DirectoryCopies copies_;
  query::SnapshotCache snapshots_;
  const std::unique_ptr<Authenticator> authenticator_;
  const std::unique_ptr<http::AccessControl> people_access_;
  const std::unique_ptr<http::AccessControl> daemons_access_;
  const std::unique_ptr<scheduler::CollectionBreaker> breaker_;
  const std::unique_ptr<scheduler::Drawer> drawer_;  // null: every machine collects continuously
  scheduler::FleetService fleet_;
  BackgroundWork work_;
  HealthCollector health_;
  std::function<void()> must_end_;  // set before work_ begins; empty: nobody is told
  std::mutex mutex_;
  std::optional<Error> taken_over_;  // protected by mutex_
  // Set once, under mutex_: the first requests come before start() returns.
  std::unique_ptr<http::Listener> people_;
  std::unique_ptr<http::Listener> daemons_;
};

}  // namespace plimsoll::server
