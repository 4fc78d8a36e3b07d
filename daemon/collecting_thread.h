// Runs the current assignment, window after window, in a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/collector.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// Any thread may call; profiles are handed over in the collecting thread.
class CollectingThread {
 public:
  // `options` with a governor, and whatever assignment, which is replaced. `wants_kernel_symbols` is asked before each window,
  // in the collecting thread.
  CollectingThread(CollectorOptions options, std::function<bool()> wants_kernel_symbols,
                   std::function<void(wire::RawProfile)> hand_over);
  CollectingThread(const CollectingThread&) = delete;
  CollectingThread& operator=(const CollectingThread&) = delete;
  ~CollectingThread();

  // What to collect from now on; nothing: stop collecting. The same assignment again changes nothing; another one ends
  // the running window early, whose profile is handed over.
  void assign(std::optional<wire::Assignment> assignment);

  // Ends the running window, hands its profile over and ends the thread. May be called again.
  void stop();

  // The ID of what is being collected; empty: nothing.
  std::string running() const;
  // Why nothing is being collected although it should be; empty while all is well.
  std::string problem() const;

 private:
  void run();
  // The assignment that is wanted, once there is one; nothing: stop.
  std::optional<wire::Assignment> wait_for_assignment();
  void collect_windows(const wire::Assignment& assignment, Collector& collector);
  Status collect_window(int64_t duration_ns, Collector& collector);
  // The assignment is done with, unless another one is wanted by now.
  void finish(const wire::Assignment& assignment);
  // Until the governor permits sampling again or the assignment is another one. kTooLarge: following what processes do costs
  // too much, or memory does not come back.
  Status pause(const wire::Assignment& assignment, Collector& collector);
  bool is_current(const wire::Assignment& assignment) const;
  void set_problem(std::string problem);
  void wake();

  const CollectorOptions options_;
  Governor& governor_;
  const std::function<bool()> wants_kernel_symbols_;
  const std::function<void(wire::RawProfile)> hand_over_;
  const UniqueFd wake_fd_;  // ends a window

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<wire::Assignment> wanted_;  // protected by mutex_
  bool stopping_ = false;                   // likewise
  std::string running_;                     // likewise
  std::string problem_;                     // likewise
  std::thread thread_;
};

}  // namespace plimsoll
