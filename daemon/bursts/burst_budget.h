// What the bursts of one assignment may take: bytes of recordings, and CPU time of the machine. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll::bursts {

class BurstBudget {
 public:
  struct Limits {
    uint64_t max_bytes = 0;
    int64_t max_cpu_ns = 0;
  };
  // `max_overhead`: share of the CPU time of so many CPUs within the duration.
  static Limits limits_of(uint64_t max_bytes, double max_overhead, int64_t duration_ns, size_t cpus);

  explicit BurstBudget(const Limits& limits) : limits_(limits) {}

  // A burst that was recorded: CPU time that decoding it took, and how many events the kernel made, lost ones included, of which so many
  // are samples. For what the kernel itself takes there are kKernelNsPerEvent and kKernelNsPerSample.
  void note_burst(int64_t cpu_ns, uint64_t events, uint64_t samples = 0);
  // CPU time of anything else, such as making a recording.
  void note_cpu(int64_t cpu_ns) { cpu_ns_ += cpu_ns; }
  // A recording of so many events that was handed over.
  void note_recording(uint64_t bytes, uint64_t events);

  uint64_t bytes_left() const;
  int64_t cpu_ns() const { return cpu_ns_; }

  // Why no further burst is recorded, in words; empty: another one like the newest fits. `pending_events`: of bursts that are in no
  // recording yet.
  std::string reason_to_end(uint64_t pending_events) const;

  // Measured: 0.35 us for a switch or a wake-up (docs/bursts.md), and its copy out of the ring.
  static constexpr int64_t kKernelNsPerEvent = 400;
  // Assumed: the timer's interrupt, and following a call chain of some dozens of frames.
  static constexpr int64_t kKernelNsPerSample = 3000;

 private:
  const Limits limits_;
  int64_t cpu_ns_ = 0;
  int64_t newest_cpu_ns_ = 0;
  uint64_t newest_events_ = 0;
  uint64_t bytes_ = 0;
  uint64_t events_in_bytes_ = 0;
};

}  // namespace plimsoll::bursts
