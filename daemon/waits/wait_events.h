// The events that are made of switches, for the collector: which there are, their recording within a window, and their rows.
//
//   off-cpu-ns           time that threads that had begun to run were not on a CPU, whatever for
//   runnable-ns          of it: when they could have run and waited for a CPU; requires the tracing file system
//   kernel-lock-wait-ns  time that threads waited for locks of the kernel; requires the tracing file system
//   cpu-latency-ns       time on CPUs, each sample divided by how many threads of its process ran at that moment
//
// docs/events.md has the definitions, what is recorded and what it costs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/profile/sample_assembly.h"
#include "daemon/waits/slots.h"
#include "daemon/waits/thread_stream.h"
#include "daemon/waits/wait_accounts.h"
#include "proto/profile.pb.h"

namespace plimsoll::waits {

// Which of them a profile is to have.
struct WantedWaits {
  bool off_cpu = false;
  bool runnable = false;
  bool locks = false;
  bool latency = false;

  bool operator==(const WantedWaits&) const = default;
};

struct WaitEventsOptions {
  WantedWaits wanted;
  std::vector<int> cpus;
  // Indexes among the sampler's events; -1: there is none. Samples of the first two have the stacks with which threads leave their CPU,
  // and begin to wait for a lock; those of the third count for latency.
  int switches = -1;
  int lock_begins = -1;
  int clock = -1;
  double switches_per_second = 0;  // on the busiest CPU, as far as known: until it has been recorded
  uint64_t max_ring_bytes = uint64_t{16} << 20U;
  uint64_t seed = 0;
};

// One thread, the collecting one.
class WaitEvents {
 public:
  // Records written on a CPU, on average: 1 % of its time.
  static constexpr double kMaxRecordsPerSecond = 10'000;

  static Result<std::unique_ptr<WaitEvents>> open(const WaitEventsOptions& options);

  // Borrows `assembly` until finish_window(), and has its samples. `slowdown`: times as few records.
  Status begin_window(SampleAssembly& assembly, int64_t duration_ns, uint32_t slowdown);
  // To be called often: begins the next slot where one is over.
  Status pass_slot();
  int64_t slot_ends_ns() const { return slot_.ends_ns; }
  // Before the record is applied to the assembly; records of the sampler, in the order of time.
  void apply(const perf::Record& record);
  // All records of the sampler before that time were applied.
  void settle(int64_t before_ns) { advance(before_ns); }
  // Records nothing any more.
  Status end_window();
  // After the last record, or where the window fails.
  void finish_window();
  // Records of processes were lost: which threads there are is read again.
  void forget_threads() { accounts_.forget_threads(); }

  // Appends the events to the profile's, whose events of the sampler are there already, and their rows to the builder.
  void write(wire::RawProfile& profile, ProfileBuilder& builder);

 private:
  explicit WaitEvents(const WaitEventsOptions& options) : options_(options), slots_(options.seed) {}
  void on_sample(const perf::SampleRecord& sample, int64_t time_ns, uint32_t event,
                 SampleAssembly::Subject subject);
  void advance(int64_t before_ns);
  void read();
  void measure_rate(int64_t now_ns);
  Status begin_slot(Slot slot);
  Status end_slot();
  void write_event(std::string_view name, StackShares& rows, double total, std::string_view note,
                   wire::RawProfile& profile, ProfileBuilder& builder);
  void write_latency(wire::RawProfile& profile, ProfileBuilder& builder);
  std::string note_of_window() const;
  // Over all of the window: what was recorded of it is what it is scaled by.
  double scaled(const StackShares& rows) const;

  WaitEventsOptions options_;
  std::unique_ptr<ThreadStream> stream_;
  WaitAccounts accounts_;
  Slots slots_;
  Slot slot_;
  bool is_recorded_ = false;  // a slot is, since slot_began_ns_
  int64_t slot_began_ns_ = 0;
  uint32_t max_one_in_ = 1;
  uint32_t slowdown_ = 1;
  double records_per_second_ = 0;      // of the busiest CPU, while recording
  std::vector<uint64_t> read_of_cpu_;  // since the rate was measured
  int64_t read_until_ns_ = 0;
  std::vector<ThreadRecord> records_;
  int64_t window_began_ns_ = 0;
  int64_t window_ended_ns_ = 0;
  uint64_t clock_hits_ = 0;
  uint32_t stackless_ = 0;
  SampleAssembly* assembly_ = nullptr;
};

// Those of the names; others are passed over.
WantedWaits wanted_waits(std::span<const std::string> names);

}  // namespace plimsoll::waits
