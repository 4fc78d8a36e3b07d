// Runs the assignments of this machine, one at a time and each at its time, in a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/assignments/assignment_queue.h"
#include "daemon/collector.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// Any thread may call; profiles are handed over in the collecting thread.
class CollectingThread {
 public:
  struct Callbacks {                             // called in the collecting thread
    std::function<int64_t()> server_now_ns;      // the server's wall clock
    std::function<bool()> wants_kernel_symbols;  // asked before each window
    std::function<void(wire::RawProfile)> hand_over;
  };

  // `options` with a governor, and whatever assignment, which is replaced.
  CollectingThread(CollectorOptions options, Callbacks callbacks);
  CollectingThread(const CollectingThread&) = delete;
  CollectingThread& operator=(const CollectingThread&) = delete;
  ~CollectingThread();

  // What to run from now on, and nothing else: one that is not among them ends early, and its profile is handed over. The same
  // again changes nothing.
  void assign(std::vector<WantedAssignment> wanted);
  // Nothing of what was assigned is to go on; `why`, in its reports.
  void give_up(const std::string& why);

  // Ends the running window, hands its profile over and ends the thread. May be called again.
  void stop();

  // How far each assignment has come.
  std::vector<wire::AssignmentReport> reports() const;
  // Why nothing is being collected although it should be; empty while all is well.
  std::string problem() const;

 private:
  void run();
  // The assignment whose time has come, or will shortly, once there is one; nothing: stop.
  std::optional<wire::Assignment> wait_for_assignment();
  Status run_assignment(const wire::Assignment& assignment);
  // Its start, by the server's clock: so that all machines of a draw measure at the same time.
  Status wait_for_start(const wire::Assignment& assignment, Collector& collector);
  // Until the assignment is over or is not wanted any more, or another collector is needed. `has_profile`: whether it has brought one
  // so far.
  Status collect_windows(const wire::Assignment& assignment, Collector& collector, bool& has_profile);
  Status collect_window(int64_t duration_ns, Collector& collector);
  // What came of an assignment, unless it is not wanted any more.
  void settle(const wire::Assignment& assignment, const Status& done);
  // Until the governor permits sampling again or the assignment is another one. kTooLarge: following what processes do costs
  // too much, or memory does not come back.
  Status pause(const wire::Assignment& assignment, Collector& collector);
  bool is_current(const wire::Assignment& assignment) const;
  void set_problem(std::string problem);
  void wake();

  const CollectorOptions options_;
  Governor& governor_;
  const Callbacks callbacks_;
  const UniqueFd wake_fd_;  // ends a window

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  AssignmentQueue queue_;                    // protected by mutex_
  std::optional<wire::Assignment> running_;  // likewise
  bool stopping_ = false;                    // likewise
  std::string problem_;                      // likewise
  std::thread thread_;
};

}  // namespace plimsoll
