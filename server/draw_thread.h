// Drawing machines in the background, when it is time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "scheduler/assignments/drawer.h"
#include "server/health/background_work.h"
#include "store/ingest.h"
#include "store/live/live_machines.h"

namespace plimsoll::server {

// One thread, which sleeps from draw to draw. What failed is logged, and tried again.
class DrawThread {
 public:
  // Borrows all, which must outlive it; reads the machines while others write them.
  static Result<std::unique_ptr<DrawThread>> start(scheduler::Drawer& drawer, store::Ingest& ingest,
                                                   BackgroundWork& work);

  DrawThread(const DrawThread&) = delete;
  DrawThread& operator=(const DrawThread&) = delete;
  ~DrawThread() = default;

 private:
  DrawThread(scheduler::Drawer& drawer, store::Ingest& ingest, store::LiveMachines machines,
             BackgroundWork& work);
  void run(const std::stop_token& stop);
  // Until a draw is due. False: stopped.
  bool wait(const std::stop_token& stop);

  scheduler::Drawer& drawer_;
  store::Ingest& ingest_;
  store::LiveMachines machines_;  // the thread's
  BackgroundWork& work_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses all else
};

}  // namespace plimsoll::server
