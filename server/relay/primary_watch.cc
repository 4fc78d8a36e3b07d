#include "server/relay/primary_watch.h"

#include <utility>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::server {
namespace {

// A few of the questions whether it answers (RelayLane).
constexpr int64_t kMaxSilenceOfPrimaryNs = 30 * kNsPerSecond;

}  // namespace

void PrimaryWatch::answered(size_t requests, int64_t now_ns) {
  bool was_silent = false;
  {
    const std::lock_guard lock(mutex_);
    was_silent = !std::exchange(status_.newest_error, {}).empty();
    status_.requests += static_cast<int64_t>(requests);
    ++status_.batches;
    status_.newest_answer_ns = now_ns;
  }
  if (was_silent) {
    log_info("the primary answers again");
  }
}

void PrimaryWatch::failed(size_t requests, const Error& error) {
  std::string text = error.text();
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = status_.newest_error.empty();
    status_.newest_error = text;
    status_.failed_requests += static_cast<int64_t>(requests);
    ++status_.failed_batches;
  }
  if (is_new) {
    log_warning("the primary does not answer, daemons keep what they send: {}", text);
  }
}

RelayStatus PrimaryWatch::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

Status primary_readiness(const RelayStatus& status, int64_t now_ns) {
  if (status.newest_answer_ns != 0 && now_ns - status.newest_answer_ns <= kMaxSilenceOfPrimaryNs) {
    return {};
  }
  return with_hint(fail(ErrorCode::kUnavailable, "the primary does not answer: {}",
                        status.newest_error.empty() ? "it was not asked yet" : status.newest_error),
                   "check ingest.server, ingest.token_file and the network");
}

}  // namespace plimsoll::server
