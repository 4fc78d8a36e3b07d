// A recorder whose bursts have as many events as a test says, and bursts that come every few milliseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "daemon/bursts/assigned_recording.h"
#include "daemon/bursts/burst_clock.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bursts {

// What a test tells its recorders, and what they have done.
struct FakeMachine {
  std::atomic<uint64_t> events_per_burst = 10;
  std::atomic<uint64_t> lost_per_burst = 0;
  std::atomic<int> opened = 0;
  std::atomic<int> enabled = 0;
  std::atomic<int> disabled = 0;
  std::atomic<bool> is_outdated = false;  // the recorder that is open; one that is opened later is not
  std::atomic<bool> fails = false;
  BurstRecorderOptions options;  // of the newest
};

class FakeRecorder : public Recorder {
 public:
  explicit FakeRecorder(FakeMachine& machine) : machine_(machine) {}

  Status enable(traces::Burst& burst) override {
    burst.on_ns = monotonic_now_ns();
    burst.wall_offset_on_ns = wall_offset_ns();
    ++machine_.enabled;
    return machine_.fails ? fail(ErrorCode::kIo, "the event is gone") : Status();
  }
  Status disable(traces::Burst& burst) override {
    burst.off_ns = monotonic_now_ns();
    burst.wall_offset_off_ns = wall_offset_ns();
    ++machine_.disabled;
    return {};
  }
  Status finish(traces::Burst& burst) override {
    for (uint64_t i = 0; i < machine_.events_per_burst; ++i) {
      // Numbers that do not compress: some ten bytes each.
      burst.events.push_back({.time_ns = burst.on_ns, .first = random_(), .thread = 1});
    }
    burst.lost[0] = machine_.lost_per_burst;
    return {};
  }
  size_t cpus() const override { return 2; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::vector<traces::BurstThread> take_threads() override {
    return {{.tid = 0, .pid = 0, .name = "idle"}, {.tid = 71, .pid = 70, .name = "worker"}};
  }
  bool is_outdated() const override { return machine_.is_outdated; }

 private:
  FakeMachine& machine_;
  std::mt19937_64 random_{1};
  const std::vector<std::string> notes_{"not recorded: new-thread: as a test has it"};
};

inline OpenRecorder open_fake(FakeMachine& machine) {
  return [&machine](const BurstRecorderOptions& options) -> Result<std::unique_ptr<Recorder>> {
    ++machine.opened;
    machine.is_outdated = false;
    machine.options = options;
    return std::make_unique<FakeRecorder>(machine);
  };
}

// What was handed over.
class KeptRecordings {
 public:
  Status add(const std::string& id, Bytes encoded) {
    const std::lock_guard lock(mutex_);
    if (is_full_) {
      return fail(ErrorCode::kUnavailable, "the disk is full");
    }
    ids_.push_back(id);
    encoded_.emplace_back(as_text(encoded));
    return {};
  }
  void set_full() {
    const std::lock_guard lock(mutex_);
    is_full_ = true;
  }
  std::vector<traces::BurstRecording> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<traces::BurstRecording> recordings;
    for (const std::string& encoded : encoded_) {
      recordings.push_back(*traces::decode_bursts(as_bytes(encoded)));
    }
    return recordings;
  }
  std::vector<std::string> ids() const {
    const std::lock_guard lock(mutex_);
    return ids_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> ids_;  // protected by mutex_, as all below
  std::vector<std::string> encoded_;
  bool is_full_ = false;
};

// Bursts of 2^3 ms in every 2^4 ms.
inline constexpr uint64_t kFastConfig = 0b1000;
inline constexpr int64_t kFastPeriodNs = 16 * kNsPerMs;

// Of bursts of that config, from now on.
inline wire::Assignment fast_assignment(const std::string& id, int64_t duration_ns) {
  wire::Assignment assignment;
  assignment.set_id(id);
  assignment.set_start_ns(wall_now_ns());
  assignment.set_duration_ns(duration_ns);
  assignment.mutable_draw()->set_id(id);
  wire::BurstRequest& bursts = *assignment.mutable_bursts();
  bursts.set_config_bits(kFastConfig);
  bursts.set_duration_ns(duration_ns);
  bursts.set_max_bytes(1 << 20);
  bursts.set_max_overhead(1);
  return assignment;
}

inline RecordingContext fake_context(FakeMachine& machine, KeptRecordings& kept) {
  return {.machine = "m1",
          .max_memory_bytes = uint64_t{4} << 20,
          .server_now_ns = wall_now_ns,
          .reason_to_pause = [] { return std::string(); },
          .hand_over = [&kept](const std::string& id, Bytes encoded) { return kept.add(id, encoded); },
          .open = open_fake(machine),
          .read_clock = [] { return traces::ClockState{.is_synchronized = true, .max_error_ns = 1000}; }};
}

}  // namespace plimsoll::bursts
