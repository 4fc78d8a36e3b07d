#include "server/symbolizer_loop.h"

#include "base/log.h"

namespace plimsoll::server {
namespace {

// After a failure (disk full, say) it tries again this often.
constexpr std::chrono::nanoseconds kMaxRetryPause = std::chrono::seconds(2);

}  // namespace

SymbolizerLoop::SymbolizerLoop(store::Ingest& ingest, BackgroundWork& work, symbolizer::Symbolizer symbolizer,
                               std::stop_source searches, std::chrono::nanoseconds retry)
    : work_(work),
      passes_(ingest, std::move(symbolizer)),
      searches_(std::move(searches)),
      retry_(retry),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

SymbolizerLoop::~SymbolizerLoop() {
  searches_.request_stop();
}

void SymbolizerLoop::wake() {
  const std::lock_guard lock(mutex_);
  pending_ = true;
  wake_.notify_one();
}

Status SymbolizerLoop::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

bool SymbolizerLoop::wait_for_work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, status_ ? retry_ : std::min(retry_, kMaxRetryPause),
                 [this] { return pending_; });
  const bool is_over = stop.stop_requested() && !pending_;
  pending_ = false;
  return !is_over;
}

void SymbolizerLoop::run(const std::stop_token& stop) {
  while (wait_for_work(stop)) {
    const Status done =
        work_.run(Work::kSymbols, "symbolizing addresses", [this] { return symbolize_pending(); });
    if (!done) {
      log_error("{}", done.error().text());
    }
    const std::lock_guard lock(mutex_);
    status_ = done;
  }
}

Status SymbolizerLoop::symbolize_pending() {
  const auto now = std::chrono::steady_clock::now();
  const bool is_retry = now >= next_retry_;
  const auto report = passes_.run(is_retry);
  if (!report) {
    return propagate(report);
  }
  if (is_retry) {
    next_retry_ = now + retry_;
  }
  if (report->locations + report->renamed != 0) {
    log_info("symbolized {} of {} new addresses", report->named, report->locations);
  }
  for (const std::string& improved : report->improved) {
    log_info("{}", improved);
  }
  return {};
}

}  // namespace plimsoll::server
