#include "server/naming_thread.h"

#include "base/log.h"
#include "base/no_exceptions.h"

namespace plimsoll::server {
namespace {

// After a failure (disk full, say) it tries again this often.
constexpr std::chrono::nanoseconds kMaxNamingRetry = std::chrono::seconds(2);

}  // namespace

NamingThread::NamingThread(store::Ingest& ingest, symbolizer::Symbolizer symbolizer,
                           std::stop_source searches, std::chrono::nanoseconds retry)
    : ingest_(ingest),
      symbolizer_(std::move(symbolizer)),
      searches_(std::move(searches)),
      retry_(retry),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

NamingThread::~NamingThread() {
  searches_.request_stop();
}

void NamingThread::wake() {
  const std::lock_guard lock(mutex_);
  pending_ = true;
  wake_.notify_one();
}

Status NamingThread::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

bool NamingThread::wait_for_work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, status_ ? retry_ : std::min(retry_, kMaxNamingRetry),
                 [this] { return pending_; });
  const bool is_over = stop.stop_requested() && !pending_;
  pending_ = false;
  return !is_over;
}

void NamingThread::run(const std::stop_token& stop) {
  while (wait_for_work(stop)) {
    const Status done = no_exceptions("naming locations", [this] { return look_up_names(); });
    if (!done) {
      log_error("{}", done.error().text());
    }
    const std::lock_guard lock(mutex_);
    status_ = done;
  }
}

Status NamingThread::look_up_names() {
  const auto now = std::chrono::steady_clock::now();
  const bool is_retry = now >= next_retry_;
  const auto report = symbolizer_.run(
      [&](const symbolizer::CatalogueWork& work) { return ingest_.write_catalogue(work); }, is_retry);
  if (!report) {
    return propagate(report, "naming locations");
  }
  if (is_retry) {
    next_retry_ = now + retry_;
  }
  if (report->locations + report->renamed != 0) {
    log_info("{} of {} new locations have names", report->named, report->locations);
  }
  for (const std::string& improved : report->improved) {
    log_info("{}", improved);
  }
  return {};
}

}  // namespace plimsoll::server
