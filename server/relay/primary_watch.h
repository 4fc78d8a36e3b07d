// Whether the primary answers, and what has been forwarded to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/result.h"

namespace plimsoll::server {

// Since the start.
struct RelayStatus {
  int64_t requests = 0;         // of daemons, that the primary answered in whatever way
  int64_t failed_requests = 0;  // that it did not answer: daemons send them again
  int64_t batches = 0;          // answered
  int64_t failed_batches = 0;
  int64_t newest_answer_ns = 0;   // monotonic; 0: there was none
  std::string newest_error = {};  // of the newest batch; empty: it was answered
  // Now.
  size_t waiting = 0;
  size_t held_bytes = 0;  // of what waits or is on its way
};

// Any thread may call. Logs when the primary stops answering, and when it answers again, once a minute at most: where some batches are answered
// and others are not, that changes many times a second. Each call says whether it has logged.
class PrimaryWatch {
 public:
  bool answered(size_t requests, int64_t now_ns);
  bool failed(size_t requests, const Error& error, int64_t now_ns);

  // Without what waits.
  RelayStatus status() const;

 private:
  mutable std::mutex mutex_;
  RelayStatus status_;              // guarded by mutex_, as all below
  bool is_failure_logged_ = false;  // and that it answers again is not
  int64_t next_log_ns_ = 0;         // monotonic: of a failure
};

// Whether the primary has answered lately, at that time of the monotonic clock: each relay asks it every few seconds while no daemon does.
Status primary_readiness(const RelayStatus& status, int64_t now_ns);
// The same for strangers: without the error, which has the primary's address and what it said to this server.
Status public_readiness(const RelayStatus& status, int64_t now_ns);

}  // namespace plimsoll::server
