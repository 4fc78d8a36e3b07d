// Records bursts of this machine: tracepoints of perf on every CPU, opened beforehand and enabled for a burst alone.
//
// The events of a CPU are one group with one ring: a single call enables them. A thread (perf::RingReader) empties the rings into
// memory while a burst goes on; records are decoded between bursts, when nothing is recorded. What the kernel had no room for is
// counted by the kernel, exactly, for each event (PERF_FORMAT_LOST, Linux 6.0).
//
// One thread. Holds events x CPUs file descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/identity/image.h"
#include "capture/identity/kernel.h"
#include "capture/identity/proc_fs.h"
#include "daemon/bursts/event_collector.h"
#include "daemon/bursts/recorder.h"
#include "daemon/bursts/stack_collector.h"
#include "daemon/sampling/ring_reader.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

// As a RecordingThread opens it.
Result<std::unique_ptr<Recorder>> open_burst_recorder(const BurstRecorderOptions& options);

// Of each CPU's ring: a power of two, at least 32 KiB or a page.
uint32_t pages_per_ring(uint64_t max_ring_bytes, size_t cpus, uint64_t page_bytes);

class BurstRecorder : public Recorder {
 public:
  // Switches and wake-ups must be there; what else is missing gets a note. The error says which privilege or file system is
  // missing, and what to do.
  static Result<std::unique_ptr<BurstRecorder>> open(const BurstRecorderOptions& options);
  // Whether open() can work, by one event on one CPU. Takes milliseconds.
  static Status check();

  Status enable(traces::Burst& burst) override;
  Status disable(traces::Burst& burst) override;
  Status finish(traces::Burst& burst) override;

  size_t cpus() const override { return leaders_.size(); }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::vector<traces::BurstThread> take_threads() override { return collector_.take_threads(); }
  traces::BurstStacks take_stacks() override;
  bool is_outdated() const override;

 private:
  struct OpenEvent {
    UniqueFd fd;
    traces::BurstEventKind kind;
    uint64_t lost = 0;  // until the last finish()
  };

  // What samples need.
  class Sampling {
   public:
    // Adds to `notes` what is not resolved. Null: none are wanted, or none can be told from others here.
    static std::unique_ptr<Sampling> make(const BurstRecorderOptions& options,
                                          std::vector<std::string>& notes);
    uint64_t period_ns() const { return period_ns_; }
    StackCollector& stacks() { return stacks_; }

   private:
    Sampling(const BurstRecorderOptions& options, std::unique_ptr<identity::KernelMap> kernel);
    const uint64_t period_ns_;
    const std::unique_ptr<identity::KernelMap> kernel_;  // null where its addresses are hidden
    const identity::ProcFs proc_fs_;
    const identity::LiveImages images_{proc_fs_};
    StackCollector stacks_;
  };

  BurstRecorder(std::vector<BurstTracepoint> tracepoints, std::unique_ptr<Sampling> sampling,
                std::vector<std::string> notes, std::vector<int> online);
  Status open_cpu(int cpu, uint32_t pages);
  // With a ring as large as this user may lock.
  Status open_leader(int cpu, uint32_t pages);
  // Samples into the ring of the leader.
  Status open_samples(int cpu, const OpenEvent& leader, uint64_t ring_bytes);

  std::vector<BurstTracepoint> tracepoints_;
  std::vector<std::string> notes_;
  std::vector<int> online_;             // CPUs
  std::unique_ptr<Sampling> sampling_;  // null: there are no samples
  EventCollector collector_;
  std::vector<OpenEvent> events_;
  std::vector<size_t> leaders_;  // of events_, by CPU
  std::unique_ptr<perf::RingReader> reader_;
  uint64_t dropped_bytes_ = 0;  // until the last finish()
};

}  // namespace plimsoll::bursts
