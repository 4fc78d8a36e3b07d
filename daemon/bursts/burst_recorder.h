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
#include "daemon/bursts/event_collector.h"
#include "daemon/sampling/ring_reader.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

struct BurstRecorderOptions {
  bool with_system_calls = false;  // entry and exit of all; else marks alone
  bool with_page_faults = false;
  uint64_t max_ring_bytes = uint64_t{64} << 20;  // of all CPUs together
  uint64_t max_burst_bytes = uint64_t{256}
                             << 20;  // of one burst's records, in memory; what is more is lost and counted
};

// Of each CPU's ring: a power of two, at least 32 KiB or a page.
uint32_t pages_per_ring(uint64_t max_ring_bytes, size_t cpus, uint64_t page_bytes);

class BurstRecorder {
 public:
  // Switches and wake-ups must be there; what else is missing gets a note. The error says which privilege or file system is
  // missing, and what to do.
  static Result<std::unique_ptr<BurstRecorder>> open(const BurstRecorderOptions& options);

  // Both cost some 30 us per CPU; the times in `burst` are those at which all CPUs record.
  Status enable(traces::Burst& burst);
  Status disable(traces::Burst& burst);
  // After disable(): decodes what the burst recorded, and counts what it lost.
  Status finish(traces::Burst& burst);

  size_t cpus() const { return leaders_.size(); }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<traces::BurstThread>& threads() const { return collector_.threads(); }

 private:
  struct OpenEvent {
    UniqueFd fd;
    traces::BurstEventKind kind;
    uint64_t lost = 0;  // until the last finish()
  };

  BurstRecorder(std::vector<BurstTracepoint> tracepoints, std::vector<std::string> notes);
  Status open_cpu(int cpu, uint32_t pages);
  // With a ring as large as this user may lock.
  Status open_leader(int cpu, uint32_t pages);

  std::vector<BurstTracepoint> tracepoints_;
  std::vector<std::string> notes_;
  EventCollector collector_;
  std::vector<OpenEvent> events_;
  std::vector<size_t> leaders_;  // of events_, by CPU
  std::unique_ptr<perf::RingReader> reader_;
  uint64_t dropped_bytes_ = 0;  // until the last finish()
};

}  // namespace plimsoll::bursts
