// Records bursts by assignment, in a thread of its own, one assignment at a time and beside what the same assignments collect.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/assignments/assignment_queue.h"
#include "daemon/bursts/assigned_recording.h"
#include "daemon/bursts/burst_limits.h"
#include "proto/fleet.pb.h"

namespace plimsoll::bursts {

// Any thread may call. Where bursts are not permitted there is no thread, and assignments of bursts are refused in their reports.
class RecordingThread {
 public:
  // `check`: whether this machine can record, asked once; the error says why not (BurstRecorder::check()).
  RecordingThread(BurstLimits limits, RecordingContext context, const std::function<Status()>& check);
  RecordingThread(const RecordingThread&) = delete;
  RecordingThread& operator=(const RecordingThread&) = delete;
  ~RecordingThread();

  // All that the server asks of this machine for now, as it came. A recording that is not named any more ends; what it has is handed
  // over. The same again changes nothing.
  void assign(const std::vector<wire::Assignment>& assignments);
  // Ends what is assigned; what came of it so far is reported until the server says what it asks for.
  void give_up(const std::string& why);
  // Adds what came of the bursts that the assignment asks for. One that is over counts as running while they are recorded.
  void complete(wire::AssignmentReport& report) const;

  // Ends the running recording, hands it over and ends the thread. May be called again.
  void stop();

  wire::BurstAbility ability() const;
  // Why assigned bursts are not recorded; empty while all is well.
  std::string problem() const;

 private:
  void run();
  // The assignment whose time has come, or will shortly, once there is one; nothing: stop.
  std::optional<wire::Assignment> wait_for_assignment();
  Status record(const wire::Assignment& assignment);
  void settle(const wire::Assignment& assignment, const Status& done);
  bool is_current(const wire::Assignment& assignment) const;
  void set_report(const std::string& id, const wire::BurstReport& report);
  void wake();

  const BurstLimits limits_;
  const RecordingContext context_;
  const std::string why_not_;  // this machine cannot record, in words; empty: it can
  const UniqueFd wake_fd_;     // ends waiting for a burst

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  AssignmentQueue queue_;                             // protected by mutex_, as all below
  std::map<std::string, wire::BurstReport> reports_;  // by assignment: of those with bursts
  std::map<std::string, std::string> notes_;          // likewise: what is recorded less than was asked for
  std::optional<wire::Assignment> running_;
  bool stopping_ = false;
  std::string problem_;
  std::thread thread_;
};

}  // namespace plimsoll::bursts
