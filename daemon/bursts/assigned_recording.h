// Records the bursts of one assignment, until its time is over, its budget is used up or it is not wanted any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "daemon/bursts/applications.h"
#include "daemon/bursts/burst_budget.h"
#include "daemon/bursts/burst_loop.h"
#include "daemon/bursts/recorder.h"
#include "daemon/bursts/recording_builder.h"
#include "proto/fleet.pb.h"
#include "proto/profile.pb.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::bursts {

// What a recording needs of its daemon. All are called in the recording thread.
struct RecordingContext {
  std::string machine;                     // ID
  std::vector<std::string> notes = {};     // of all recordings
  uint64_t max_memory_bytes = 0;           // rings, records and events
  std::function<int64_t()> server_now_ns;  // the server's wall clock
  // Why nothing is to be recorded for now, in words; empty: something is. Asked at the begin of each burst.
  std::function<std::string()> reason_to_pause;
  // A recording, with an ID of 16 bytes: on disk when it returns. After an error recording ends.
  std::function<Status(const std::string& id, Bytes encoded)> hand_over;
  OpenRecorder open;
  OpenApplications open_applications = {};  // empty: there are none
  std::function<traces::ClockState()> read_clock;
};

// One thread.
class AssignedRecording {
 public:
  // Of an assignment that was accepted (accept_bursts()). Borrows the context. Readable `stop_fd` ends waiting at once; `is_wanted` is
  // asked then, and before each burst. `changed` is called with what has come of it so far.
  AssignedRecording(const wire::Assignment& assignment, const traces::BurstConfig& config,
                    const RecordingContext& context, int stop_fd, std::function<bool()> is_wanted,
                    std::function<void(const wire::BurstReport&)> changed);

  // Until it is over. What was recorded before an error is handed over. The events are open meanwhile, and disabled between bursts.
  Status run();

 private:
  enum class Step { kGoOn, kEnd };

  // Until other CPUs are online, or it is over.
  Status run_with(Recorder& recorder);
  Result<Step> take_next(BurstLoop& loop, RecordingBuilder& builder);
  Status record(const traces::BurstTimes& planned, BurstLoop& loop, RecordingBuilder& builder);
  // A recording of what there is.
  Status cut(Recorder& recorder, RecordingBuilder& builder);
  // Asks applications for events that are not in `builder` yet.
  void collect(RecordingBuilder& builder, int64_t deadline_ns);
  void end_early(const std::string& why);
  // Counts bursts that went by before this one, while the newest was decoded or handed over.
  void note_gone_by(const traces::BurstTimes& planned);
  int64_t left_ns() const;
  void report() { changed_(report_); }

  const wire::Assignment assignment_;
  const traces::BurstConfig config_;
  const RecordingContext& context_;
  const int stop_fd_;
  const std::function<bool()> is_wanted_;
  const std::function<void(const wire::BurstReport&)> changed_;
  std::unique_ptr<BurstBudget> budget_;         // once the number of CPUs is known
  std::unique_ptr<Applications> applications_;  // null: they are not asked for
  int64_t next_collect_ns_ = 0;
  wire::BurstReport report_;
  bool is_over_ = false;
  int64_t next_begin_ms_ = 0;     // of the burst after the newest one; 0: there is none yet
  int64_t first_pending_ms_ = 0;  // begin of the first burst that is in no recording
};

}  // namespace plimsoll::bursts
