// Merging segments in the background.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "server/health/background_work.h"
#include "store/compaction.h"
#include "store/ingest.h"

namespace plimsoll::server {

// One thread, which merges whatever is worth merging at its start and whenever it is woken, and otherwise sleeps. Rows are built,
// and questions answered, meanwhile. What failed is logged, and tried again when woken.
class CompactionThread {
 public:
  // `ingest` and `work` must outlive it.
  static Result<std::unique_ptr<CompactionThread>> start(store::Ingest& ingest, BackgroundWork& work,
                                                         const store::CompactionLimits& limits);

  CompactionThread(const CompactionThread&) = delete;
  CompactionThread& operator=(const CompactionThread&) = delete;
  // Gives up what it is merging. Takes as long as one segment needs to be encoded: seconds, where it is a full one.
  ~CompactionThread() = default;

  // There may be new segments. Any thread.
  void wake();

 private:
  CompactionThread(std::unique_ptr<store::Compactor> compactor, BackgroundWork& work);
  void run(const std::stop_token& stop);
  // Until it is woken, which it returns, or stopped; removes replaced files meanwhile.
  bool wait(const std::stop_token& stop);
  void merge(const std::stop_token& stop);

  const std::unique_ptr<store::Compactor> compactor_;
  BackgroundWork& work_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool pending_ = true;  // protected by mutex_
  std::jthread thread_;  // last: it uses all else
};

}  // namespace plimsoll::server
