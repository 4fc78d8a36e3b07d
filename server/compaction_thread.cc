#include "server/compaction_thread.h"

#include "base/log.h"

namespace plimsoll::server {

Result<std::unique_ptr<CompactionThread>> CompactionThread::start(store::Ingest& ingest, BackgroundWork& work,
                                                                  const store::CompactionLimits& limits) {
  auto compactor = store::Compactor::open(ingest, limits);
  if (!compactor) {
    return propagate(compactor);
  }
  return std::unique_ptr<CompactionThread>(new CompactionThread(std::move(*compactor), work));
}

CompactionThread::CompactionThread(std::unique_ptr<store::Compactor> compactor, BackgroundWork& work)
    : compactor_(std::move(compactor)),
      work_(work),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void CompactionThread::wake() {
  const std::lock_guard lock(mutex_);
  pending_ = true;
  wake_.notify_one();
}

void CompactionThread::run(const std::stop_token& stop) {
  while (wait(stop)) {
    merge(stop);
  }
}

bool CompactionThread::wait(const std::stop_token& stop) {
  const auto is_pending = [this] { return pending_; };
  while (!stop.stop_requested()) {
    const auto due = compactor_->remove_due();
    std::unique_lock lock(mutex_);
    if (due ? wake_.wait_until(lock, stop, *due, is_pending) : wake_.wait(lock, stop, is_pending)) {
      pending_ = false;
      return true;
    }
  }
  return false;
}

void CompactionThread::merge(const std::stop_token& stop) {
  const auto report =
      work_.run(Work::kCompaction, "merging segments", [&] { return compactor_->merge_all(stop); });
  if (!report) {
    log_error("{}", report.error().text());
  } else if (report->merged > 0) {
    log_info("merged {} segments of {} bytes into {} of {}", report->merged, report->bytes_before,
             report->made, report->bytes);
  }
}

}  // namespace plimsoll::server
