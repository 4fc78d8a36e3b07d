#include "daemon/waits/wait_events.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "daemon/events/event_names.h"
#include "proto/profile_codec.h"

namespace plimsoll::waits {
namespace {

// A switch is told by the thread that leaves and by the one that enters, and often follows a wake-up.
constexpr double kRecordsPerSwitch = 2;
constexpr double kRecordsPerSwitchWithWake = 3;
constexpr uint64_t kMinBacklogBytes = uint64_t{1} << 20U;

uint64_t records_of(const ThreadRecord& record) {
  return record.event == ThreadEvent::kSwitch ? 2 : 1;
}

}  // namespace

WantedWaits wanted_waits(std::span<const std::string> names) {
  const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  return {.off_cpu = has(perf::kOffCpuEvent),
          .runnable = has(perf::kRunnableEvent),
          .locks = has(perf::kLockWaitEvent),
          .latency = has(perf::kCpuLatencyEvent)};
}

Result<std::unique_ptr<WaitEvents>> WaitEvents::open(const WaitEventsOptions& options) {
  std::unique_ptr<WaitEvents> events(new WaitEvents(options));
  auto stream = ThreadStream::open({.cpus = options.cpus,
                                    .with_wakes = options.wanted.runnable,
                                    .with_locks = options.wanted.locks,
                                    .max_ring_bytes = options.max_ring_bytes,
                                    .max_backlog_bytes = std::max(options.max_ring_bytes, kMinBacklogBytes)});
  if (!stream) {
    return propagate(stream, "recording switches");
  }
  events->stream_ = std::move(*stream);
  events->records_per_second_ =
      options.switches_per_second * (options.wanted.runnable ? kRecordsPerSwitchWithWake : kRecordsPerSwitch);
  return events;
}

Status WaitEvents::begin_window(SampleAssembly& assembly, int64_t duration_ns, uint32_t slowdown) {
  assembly_ = &assembly;
  assembly.set_on_sample(
      [this](const perf::SampleRecord& sample, int64_t time_ns, uint32_t event,
             SampleAssembly::Subject subject) { on_sample(sample, time_ns, event, subject); });
  accounts_.begin_window([&assembly](ThreadId thread, int64_t time_ns) {
    return assembly.find_thread(thread.pid, thread.tid, time_ns);
  });
  clock_hits_ = 0;
  slowdown_ = std::max(slowdown, 1U);
  // A round that does not end within the window may have no recorded slot in it, and slots last longer than asked for.
  max_one_in_ = static_cast<uint32_t>(
      std::clamp<int64_t>(duration_ns / (2 * Slots::kSlotNs), 1, int64_t{Slots::kMaxWeight}));
  slots_.restart();
  slot_.ends_ns = 0;
  window_began_ns_ = window_ended_ns_ = monotonic_now_ns();
  return pass_slot();
}

Status WaitEvents::begin_slot(Slot slot) {
  if (!stream_->is_enabled()) {
    if (auto enabled = stream_->enable(); !enabled) {
      return enabled;
    }
  }
  slot_began_ns_ = monotonic_now_ns();
  accounts_.begin_slot(slot_began_ns_, slot.weight);
  is_recorded_ = true;
  read_of_cpu_.assign(read_of_cpu_.size(), 0);
  return {};
}

Status WaitEvents::end_slot() {
  if (!std::exchange(is_recorded_, false)) {
    return {};
  }
  accounts_.end_slot(monotonic_now_ns());
  return stream_->disable();
}

void WaitEvents::measure_rate(int64_t now_ns) {
  read();
  const double seconds = static_cast<double>(now_ns - slot_began_ns_) / 1e9;
  const auto busiest = std::ranges::max_element(read_of_cpu_);
  if (busiest != read_of_cpu_.end() && seconds > 0) {
    records_per_second_ = static_cast<double>(*busiest) / seconds;
  }
}

Status WaitEvents::pass_slot() {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns < slot_.ends_ns) {
    return {};
  }
  if (is_recorded_) {
    measure_rate(now_ns);
  }
  const uint32_t one_in = one_slot_in(records_per_second_ * slowdown_, kMaxRecordsPerSecond);
  const Slot before = std::exchange(slot_, slots_.next(now_ns, std::min(one_in, max_one_in_)));
  // Where all slots are recorded they are one.
  if (is_recorded_ && slot_.is_recorded && slot_.weight == before.weight) {
    slot_began_ns_ = now_ns;
    read_of_cpu_.assign(read_of_cpu_.size(), 0);
    return {};
  }
  if (auto ended = end_slot(); !ended) {
    return ended;
  }
  return slot_.is_recorded ? begin_slot(slot_) : Status();
}

void WaitEvents::read() {
  read_until_ns_ = monotonic_now_ns();
  records_.clear();
  stream_->read(records_);
  for (const ThreadRecord& record : records_) {
    read_of_cpu_.resize(std::max<size_t>(read_of_cpu_.size(), record.cpu + size_t{1}));
    read_of_cpu_[record.cpu] += records_of(record);
  }
  accounts_.add(records_);
}

// One look at the rings for all samples that were taken before it.
void WaitEvents::advance(int64_t before_ns) {
  if (before_ns > read_until_ns_) {
    read();
  }
  accounts_.advance(before_ns);
}

void WaitEvents::apply(const perf::Record& record) {
  advance(record.time_ns);
  if (const auto* fork = std::get_if<perf::ForkRecord>(&record.body)) {
    accounts_.thread_started({fork->pid, fork->tid}, record.time_ns);
  } else if (const auto* exit = std::get_if<perf::ExitRecord>(&record.body)) {
    accounts_.thread_exited(exit->tid, record.time_ns);
  } else if (const auto* comm = std::get_if<perf::CommRecord>(&record.body);
             comm != nullptr && comm->is_exec) {
    accounts_.thread_has_new_program(comm->tid);
  }
}

void WaitEvents::on_sample(const perf::SampleRecord& sample, int64_t time_ns, uint32_t event,
                           SampleAssembly::Subject subject) {
  const ThreadId thread{sample.pid, sample.tid};
  const SampledStack stack{subject.thread, subject.stack};
  const auto index = static_cast<int>(event);
  if (index == options_.switches && !sample.is_bare) {
    accounts_.switch_sampled(thread, time_ns, stack);
  } else if (index == options_.lock_begins && !sample.is_bare) {
    accounts_.lock_sampled(thread, time_ns, stack);
  } else if (index != options_.switches && index != options_.lock_begins) {
    clock_hits_ += index == options_.clock ? 1 : 0;
    accounts_.running_sampled(sample.cpu, thread, time_ns, stack,
                              options_.wanted.latency && index == options_.clock);
  }
}

Status WaitEvents::end_window() {
  window_ended_ns_ = monotonic_now_ns();
  return end_slot();
}

void WaitEvents::finish_window() {
  if (assembly_ == nullptr) {
    return;
  }
  std::ignore = end_slot();  // where the window failed before its end
  read();
  accounts_.advance(INT64_MAX);
  stackless_ = assembly_->stack_not_taken();
  assembly_ = nullptr;
}

std::string WaitEvents::note_of_window() const {
  std::string note;
  if (accounts_.largest_weight() > 1) {
    note += fmt::format("; threads switch so often that down to one of {} slots of {} ms was recorded",
                        accounts_.largest_weight(), Slots::kSlotNs / 1'000'000);
  }
  if (accounts_.lost() > 0) {
    note += fmt::format("; {} records of switches were lost, and waits of that time cut", accounts_.lost());
  }
  if (accounts_.left_out() > 0) {
    note += fmt::format("; over {} threads: others are left out", WaitTimes::kMaxThreads);
  }
  return note;
}

void WaitEvents::write_event(std::string_view name, StackShares& rows, double total, std::string_view note,
                             wire::RawProfile& profile, ProfileBuilder& builder) {
  if (accounts_.slots() == 0) {
    wire::MissingEvent& missing = *profile.add_missing_events();
    missing.set_name(std::string(name));
    missing.set_reason("the window ended before a slot was recorded: threads switch so often that few are");
    return;
  }
  const auto index = static_cast<uint32_t>(profile.events_size());
  wire::Event& event = *profile.add_events();
  event.set_name(std::string(name));
  event.set_requested_name(std::string(name));
  event.set_unit(wire::NANOSECONDS);
  event.set_kind(wire::DELTA);
  event.set_note(std::string(note) + note_of_window());
  event.set_counter_total(total);
  rows.write(index, stackless_, builder);
}

void WaitEvents::write_latency(wire::RawProfile& profile, ProfileBuilder& builder) {
  StackShares& rows = accounts_.latency();
  if (options_.clock < 0 || options_.clock >= profile.events_size() || accounts_.latency_samples() == 0) {
    wire::MissingEvent& missing = *profile.add_missing_events();
    missing.set_name(std::string(perf::kCpuLatencyEvent));
    missing.set_reason("no sample of the CPU's clock fell into a time in which switches were recorded");
    return;
  }
  wire::Event clock = profile.events(options_.clock);
  clock.set_hits(clock_hits_);
  const double clock_ns = wire::scale_of(clock) * static_cast<double>(clock_hits_);
  // The mean of 1 / running threads over the samples whose moment was recorded.
  const double mean_share = static_cast<double>(rows.total_ns()) /
                            static_cast<double>(WaitAccounts::kWholeSample) /
                            static_cast<double>(accounts_.latency_samples());
  write_event(perf::kCpuLatencyEvent, rows, clock_ns * mean_share,
              "samples of cpu-clock, each divided by the threads of its process that ran", profile, builder);
}

double WaitEvents::scaled(const StackShares& rows) const {
  const auto window_ns = static_cast<double>(window_ended_ns_ - window_began_ns_);
  const auto recorded_ns = static_cast<double>(std::max<uint64_t>(accounts_.recorded_ns(), 1));
  return static_cast<double>(rows.total_ns()) * window_ns / recorded_ns;
}

void WaitEvents::write(wire::RawProfile& profile, ProfileBuilder& builder) {
  const WantedWaits& wanted = options_.wanted;
  if (wanted.off_cpu) {
    write_event(perf::kOffCpuEvent, accounts_.off_cpu(), scaled(accounts_.off_cpu()),
                "time off the CPU, of threads that ran while switches were recorded", profile, builder);
  }
  if (wanted.runnable) {
    write_event(perf::kRunnableEvent, accounts_.runnable(), scaled(accounts_.runnable()),
                "time for which threads waited for a CPU", profile, builder);
  }
  if (wanted.locks) {
    write_event(perf::kLockWaitEvent, accounts_.locks(), scaled(accounts_.locks()),
                "time for which threads waited for locks of the kernel", profile, builder);
  }
  if (wanted.latency) {
    write_latency(profile, builder);
  }
}

}  // namespace plimsoll::waits
