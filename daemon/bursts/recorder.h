// What records bursts: BurstRecorder, or that of a test.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

struct BurstRecorderOptions {
  bool with_system_calls = false;  // entry and exit of all; else marks alone
  bool with_page_faults = false;
  bool with_disk = false;                        // begin and end of requests
  bool with_network = false;                     // packets
  uint32_t samples_hz = 0;                       // of each CPU, with stacks; 0: none
  size_t max_stack_nodes = 1'000'000;            // of samples, of a recording; some 80 bytes each
  uint64_t max_ring_bytes = uint64_t{64} << 20;  // of all CPUs together
  uint64_t max_burst_bytes = uint64_t{256}
                             << 20;  // of one burst's records, in memory; what is more is lost and counted
};

// One thread.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  // Both cost some 30 us per CPU; the times in `burst` are those at which all CPUs record.
  virtual Status enable(traces::Burst& burst) = 0;
  virtual Status disable(traces::Burst& burst) = 0;
  // After disable(): decodes what the burst recorded, and counts what it lost.
  virtual Status finish(traces::Burst& burst) = 0;

  virtual size_t cpus() const = 0;
  // What is not recorded, and why.
  virtual const std::vector<std::string>& notes() const = 0;
  // Those of the bursts that were finished since the last call, which may have others with the same indexes afterwards.
  virtual std::vector<traces::BurstThread> take_threads() = 0;
  // Their stacks, likewise.
  virtual traces::BurstStacks take_stacks() { return {}; }
  // Whether other CPUs are online than when it was opened: another one has to be opened then.
  virtual bool is_outdated() const = 0;
};

using OpenRecorder = std::function<Result<std::unique_ptr<Recorder>>(const BurstRecorderOptions& options)>;

}  // namespace plimsoll::bursts
