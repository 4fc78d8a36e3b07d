#include "server/relay/primary_watch.h"

#include <utility>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::server {
namespace {

// A few of the questions whether it answers (RelayLane).
constexpr int64_t kMaxSilenceOfPrimaryNs = 30 * kNsPerSecond;

constexpr int64_t kBetweenLogsNs = kNsPerMinute;

}  // namespace

bool PrimaryWatch::answered(size_t requests, int64_t now_ns) {
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    is_news = std::exchange(is_failure_logged_, false);
    status_.newest_error.clear();
    status_.requests += static_cast<int64_t>(requests);
    ++status_.batches;
    status_.newest_answer_ns = now_ns;
  }
  if (is_news) {
    log_info("the primary answers again");
  }
  return is_news;
}

bool PrimaryWatch::failed(size_t requests, const Error& error, int64_t now_ns) {
  std::string text = error.text();
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    is_news = !is_failure_logged_ && now_ns >= next_log_ns_;
    if (is_news) {
      is_failure_logged_ = true;
      next_log_ns_ = now_ns + kBetweenLogsNs;
    }
    status_.newest_error = text;
    status_.failed_requests += static_cast<int64_t>(requests);
    ++status_.failed_batches;
  }
  if (is_news) {
    log_warning("the primary does not answer, daemons keep what they send: {}", text);
  }
  return is_news;
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

Status public_readiness(const RelayStatus& status, int64_t now_ns) {
  return primary_readiness(status, now_ns)
             ? Status()
             : with_hint(fail(ErrorCode::kUnavailable, "the primary does not answer"),
                         "see the log of this ingest server, or /readyz at its server.listen");
}

}  // namespace plimsoll::server
