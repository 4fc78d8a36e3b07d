// Samples events on every CPU of this machine.
//
// Each CPU has two ring buffers: one for the samples of all events, one for the side-band records (mmap,
// comm, fork, exit), so that a flood of samples cannot push out what is needed to understand them. Periods
// are random: each event's is redrawn on every CPU once about 20 of its periods have gone by there, when redraw_periods() is
// called, which should be every 100 to 250 ms. More often costs samples (the kernel restarts the period; an event whose
// period is longer than that would never be sampled), and a fixed period falls into step with the programs it samples.
//
// An event may have stacks with a part of its samples only. It is then opened twice on each CPU, with stacks and bare, as
// one group: the kernel counts both at exactly the same times, so that the counter of either is the event's total, and the
// samples of both, whose periods are independent, share it.
//
//   auto sampler = Sampler::open({.events = {{cpu_clock, 10'101'010}}});
//   sampler->enable();
//   while (...) {
//     sampler->wait(deadline_ns);
//     sampler->drain([&](Bytes record) { ... });
//     sampler->redraw_periods();
//   }
//   sampler->disable();
//   sampler->drain_all(...);
//   auto counts = sampler->take_counts();  // exact: hits drained + lost = what the kernel produced
//
// An event need not be on every CPU: on a machine with two kinds of cores it may have a code for each, or exist on some
// (EventCode::cpus); its counters add up. Sets of events take turns: each set's counters run in its turns alone, while the
// time that they are enabled goes on, so that an event's value is scaled to the whole window as for a multiplexed counter.
//
// One thread. Holds (events + 1) x CPUs file descriptors, and one more for each event on each CPU that is opened twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "capture/perf/records.h"
#include "daemon/sampling/event_config.h"
#include "daemon/sampling/event_counts.h"
#include "daemon/sampling/ring_reader.h"
#include "daemon/sampling/turns.h"

namespace plimsoll::perf {

struct SampledEvent {
  EventType type;
  uint64_t mean_period;       // in the event's unit
  bool random_period = true;  // false for a period of exactly mean_period (1: every occurrence)
  // Share of the samples that have a stack; 1: all, 0: none. Between these only with a mean_period over 1, since an
  // occurrence could come both with and without.
  double stack_share = 1;
  // Events of one set are collected at once; several sets take turns. kEverySet: at all times.
  uint32_t set = 0;
  bool with_branches = false;  // branch_sampling_attr(); without stacks
};

inline constexpr uint32_t kEverySet = UINT32_MAX;

struct SamplerOptions {
  std::vector<SampledEvent> events;
  std::vector<int> cpus;
  uint32_t sample_pages = 64;     // of each CPU's sample ring; a power of two
  uint32_t stack_bytes = 0;       // of the user stack with each sample (sampling_attr)
  uint32_t side_band_pages = 32;  // likewise
  // The most memory for records that were read and not handed over yet; the others stay in the rings.
  size_t max_backlog_bytes = size_t{32} << 20;
  uint64_t seed = 0;    // of the random periods, and of the order of turns
  int64_t turn_ns = 0;  // of one set, or until the next pass_turn()
  // Called before records are handed over in whose time others of the side band were lost; may be empty.
  std::function<void()> on_side_band_lost = {};
};

class Sampler {
 public:
  // Opens everything, disabled. The error says which privilege or hardware is missing.
  static Result<Sampler> open(SamplerOptions options);

  // Also before the events, for who wants to know the processes before their first sample.
  Status enable_side_band();
  Status enable();
  // Afterwards no event writes any more: drain_all() then has every sample. The side band goes on, so that what
  // processes do until the next enable() is known then.
  Status disable();

  // Draws a new period, uniform between half and one and a half times the mean, for each event on each CPU where it is due.
  Status redraw_periods();

  // How many times as few samples are taken from the next enable() on; 1 until told otherwise. Events of a fixed period get
  // random ones under a slowdown. While the sampler is disabled only: samples of one window all stand for the same.
  void set_slowdown(uint32_t slowdown) { slowdown_ = slowdown; }
  uint32_t slowdown() const { return slowdown_; }

  // Where the turn of a set is over the next one's begins. To be called with each drain; nothing to do where there is but one
  // set.
  Status pass_turn();

  // From the next redraw on. Between windows only: hits of one window must stand for the same number of events.
  void set_mean_period(size_t index, uint64_t mean_period);

  // When the turn of the current set is over; INT64_MAX where there is but one.
  int64_t turn_ends_ns() const { return turns_.any() ? turn_ends_ns_ : INT64_MAX; }

  // Returns when a ring is half full or at `deadline_ns` (monotonic), whichever comes first, or early, with
  // true, when `wake_fd` (-1: none) is readable.
  Result<bool> wait(int64_t deadline_ns, int wake_fd = -1) const;

  // Hands over records of all CPUs in the order of their times. Records younger than the start of this call
  // are held back for the next one, since another CPU may still be writing an older one. Returns the time before which all that
  // were read have been handed over.
  int64_t drain(const std::function<void(Bytes record)>& consume);
  void drain_all(const std::function<void(Bytes record)>& consume);

  // Of each of options.events, since the last call or open().
  Result<std::vector<EventCounts>> take_counts();
  // Side-band records lost since open.
  Result<uint64_t> side_band_lost() const;
  // What lay in the rings since open and could not be read (RingBuffer::dropped_bytes): hits + lost is then less than what the
  // kernel produced.
  uint64_t dropped_bytes() const;

  // Which of options.events a record's event_id belongs to; -1 where none.
  int event_index(uint64_t event_id) const;
  // For decode_record().
  const BranchEvents& branch_events() const { return branch_events_; }

 private:
  // The samples of an event, or those of them with or without stacks.
  struct Part {
    size_t index;  // of options.events
    bool leads;    // it is enabled, disabled and counted, and any other part of the event with it
    double share;  // of the event's samples
    uint64_t mean_period;
  };
  struct OpenEvent {
    UniqueFd fd;
    Part part;
    uint64_t period;               // in force now
    int64_t enabled_since_ns = 0;  // 0: disabled
    uint64_t ticks_due = 0;
    // Of the period in force: the mean it was drawn from (0: it was not drawn), how long it has been in force while enabled, what
    // of that is in ticks_due, and the counter when it was drawn.
    uint64_t drawn_from = 0;
    uint64_t drawn_for_ns = 0;
    uint64_t drawn_ticks = 0;
    uint64_t drawn_at_count = 0;
    // When take_counts() was called last.
    CounterValues taken = {};
    uint64_t taken_ticks = 0;
  };
  // How long a set has waited for its turn within windows.
  struct Waiting {
    int64_t since_ns = 0;  // 0: it has its turn, or no window is open
    uint64_t total_ns = 0;
    uint64_t taken_ns = 0;  // of it, by take_counts()
  };

  explicit Sampler(SamplerOptions options);
  Status open_cpu(int cpu);
  // The samples go to the ring of `ring_fd`, or to a new one where it is -1; it is set to that.
  Status open_samples(size_t index, int cpu, int& ring_fd);
  Part part_of(size_t index, double share, bool leads) const;
  Status open_one(Part part, const perf_event_attr& attr, int cpu, int leader_fd, int& ring_fd);
  Status map_ring(int fd, uint32_t pages);
  Status open_side_band(int cpu);
  Status enable_set(uint32_t set);
  Status disable_set(uint32_t set);
  uint32_t set_of(const OpenEvent& event) const { return options_.events[event.part.index].set; }
  // Notes for each set that takes turns whether it waits from now on.
  void account_waiting(bool window_is_open);
  const EventType& type_of(const OpenEvent& event) const { return options_.events[event.part.index].type; }
  // Adds what was due until now; what had gone by of a period when the event was disabled counts when it is enabled again, as
  // the kernel's timer does.
  void account_ticks(OpenEvent& event, bool goes_on);
  uint64_t mean_period_of(const OpenEvent& event) const;
  uint64_t waited_ns(const OpenEvent& event) const;
  Result<bool> is_redraw_due(OpenEvent& event);
  Status redraw_period(OpenEvent& event);
  // Reads the rings. False: some records are left there, since there is no memory for them.
  bool collect();
  void report_side_band_losses();
  // The latest time up to `before_ns` before which the records of each ring are the ring's first: an interrupt may put a
  // younger record before the one whose time was taken already.
  int64_t settled_before(int64_t before_ns) const;
  int64_t deliver(int64_t before_ns, const std::function<void(Bytes record)>& consume);

  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<OpenEvent> events_;
  std::vector<UniqueFd> side_band_;
  uint64_t side_band_lost_ = 0;  // that was told of
  std::unique_ptr<RingReader> reader_;
  std::unordered_map<uint64_t, int> index_by_id_;
  BranchEvents branch_events_;
  uint32_t slowdown_ = 1;
  Turns turns_;
  int64_t turn_ends_ns_ = 0;
  std::map<uint32_t, Waiting> waiting_;  // of each set that takes turns

  // A record that was not handed over yet.
  struct Pending {
    int64_t time_ns;
    uint64_t number;  // in the order in which they were read
    RingReader::Record record;
  };
  std::vector<Pending> pending_;  // of each ring, in its order
  uint64_t read_ = 0;
};

}  // namespace plimsoll::perf
