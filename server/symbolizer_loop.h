// Symbolizing in the background.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/result.h"
#include "server/health/background_work.h"
#include "server/symbol_passes.h"
#include "store/ingest.h"
#include "symbolizer/worker/worker.h"

namespace plimsoll::server {

// One thread, which symbolizes new locations whenever it is woken, and from time to time old ones for which better symbols have
// appeared. A large binary takes minutes; its rows are visible meanwhile, without names. A failed pass is logged and repeated.
class SymbolizerLoop {
 public:
  // `ingest` and `work` must outlive it. `searches` stops what the symbolizer searches; `retry`: how often better symbols are looked for.
  SymbolizerLoop(store::Ingest& ingest, BackgroundWork& work, symbolizer::Symbolizer symbolizer,
                 std::stop_source searches, std::chrono::nanoseconds retry);

  SymbolizerLoop(const SymbolizerLoop&) = delete;
  SymbolizerLoop& operator=(const SymbolizerLoop&) = delete;
  // Ends the running search and the process that reads symbols for it. New locations still get the names that are known;
  // the others are symbolized after the next start.
  ~SymbolizerLoop();

  // There may be new locations. Any thread.
  void wake();

  // How the newest pass ended. Any thread.
  Status status();

 private:
  // False: it ends, and nothing is left to do.
  bool wait_for_work(const std::stop_token& stop);
  void run(const std::stop_token& stop);
  Status symbolize_pending();

  BackgroundWork& work_;
  SymbolPasses passes_;
  std::stop_source searches_;
  const std::chrono::nanoseconds retry_;
  std::chrono::steady_clock::time_point next_retry_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool pending_ = true;  // protected by mutex_
  Status status_;        // protected by mutex_
  std::jthread thread_;  // last: it uses all else
};

}  // namespace plimsoll::server
