// A symbolizer worker: leases builds of a server, makes their symbol tables in the sandboxed process, and sends them back (docs/symbolizing.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/remote/lease_client.h"
#include "symbolizer/remote/leased_files.h"

namespace plimsoll::symbolizer {

struct RemoteWorkerSettings {
  LeaseClientSettings client = {};  // its cancel_fd and max_file_bytes are set by the worker
  std::string folder = {};  // for files and tables; made if it is missing, and held by one worker at a time
  unsigned parallel = 1;
  uint64_t max_bytes = uint64_t{20} << 30;  // of files
  ProcessLimits limits = {};                // of the process that parses
  TableWorker table_worker = {};
  uint64_t seed = 0;  // of pauses
};

struct RemoteWorkerStatus {
  uint64_t tables = 0;    // that the server took
  uint64_t unneeded = 0;  // that it did not need any more
  uint64_t failures = 0;  // builds without a table
  uint64_t fetched_bytes = 0;
  std::vector<std::string> working_on = {};  // build IDs in hexadecimal
  int64_t newest_answer_ns = 0;              // of the server, monotonic; 0: none yet
  std::string newest_error = {};             // of the connection; empty: the newest request was answered
  std::string newest_failure = {};           // of a build
};

// One thread for each table that is made at once, and one that renews leases.
class RemoteWorker {
 public:
  // kConflict where another worker has the folder.
  static Result<std::unique_ptr<RemoteWorker>> start(RemoteWorkerSettings settings);
  RemoteWorker(const RemoteWorker&) = delete;
  RemoteWorker& operator=(const RemoteWorker&) = delete;
  ~RemoteWorker() { stop(); }

  // Ends transfers and processes, gives leases back, and returns. May be called again.
  void stop();

  // Any thread.
  RemoteWorkerStatus status() const;

 private:
  // A lease that is being worked on.
  struct Job {
    wire::LeasedBinary binary;
    std::stop_source stop;  // its work is not needed any more, or the worker stops
  };
  // Of one thread.
  struct Pause;

  RemoteWorker(RemoteWorkerSettings settings, UniqueFd lock, UniqueFd cancel);
  void work(unsigned number, const std::stop_token& stop);
  void renew_leases(const std::stop_token& stop);
  std::optional<wire::LeasedBinary> take_lease(LeaseClient& client, Pause& pause);
  // False: it failed, and another worker might not.
  bool do_job(const wire::LeasedBinary& binary, LeaseClient& client, const std::stop_token& stop);
  Status make_and_bring(const Job& job, LeaseClient& client);
  Result<MappedTable> make(const wire::LeasedBinary& binary, const LeasedFiles& files,
                           const std::stop_token& stop) const;
  static Result<bool> bring(const Job& job, Bytes table, LeaseClient& client);
  void end_job(const Job& job, const Status& done, LeaseClient& client);
  void note_answer(const Status& answer);

  const RemoteWorkerSettings settings_;
  const UniqueFd lock_;    // of the folder
  const UniqueFd cancel_;  // readable: requests are given up
  const TableProcess process_;
  WorkerRoom room_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  RemoteWorkerStatus status_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;  // by lease
  int64_t lease_ns_ = kNsPerSecond;                   // the shortest there is, until the server says it
  uint64_t next_folder_ = 0;
  std::vector<std::jthread> threads_;  // last: they use all else
};

}  // namespace plimsoll::symbolizer
