#include "daemon/collector.h"

#include <malloc.h>

#include <algorithm>

#include "base/random.h"
#include "base/time.h"
#include "capture/profile/sample_assembly.h"
#include "daemon/energy.h"
#include "daemon/events/cpu_list.h"
#include "daemon/events/event_names.h"
#include "daemon/jit/jit_names.h"
#include "daemon/machine_counters.h"
#include "daemon/reach_notes.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/ring_size.h"
#include "daemon/window_counts/cpu_time_counts.h"
#include "proto/profile_codec.h"

namespace plimsoll {
namespace {

constexpr int64_t kShortestDrainNs = 100'000'000;
constexpr int64_t kLongestDrainNs = 250'000'000;
// Rings of switches have so much less memory than those of samples, and beside it.
constexpr uint64_t kWaitsPartOfRings = 4;

wire::ClockPair read_clocks() {
  wire::ClockPair pair;
  pair.set_monotonic_ns(monotonic_now_ns());
  pair.set_wall_ns(wall_now_ns());
  return pair;
}

// Where every occurrence is a sample, what is neither here nor lost was counted without one.
void account_not_sampled(wire::RawProfile& profile) {
  for (wire::Event& event : *profile.mutable_events()) {
    const auto produced = static_cast<uint64_t>(event.counter_total());
    const uint64_t known = event.hits() + event.lost();
    event.set_not_sampled(event.mean_period() == 1 && produced > known ? produced - known : 0);
  }
}

CollectorOptions with_defaults(CollectorOptions options) {
  wire::Assignment& assignment = options.assignment;
  if (assignment.rate_hz() == 0) {
    assignment.set_rate_hz(kDefaultRateHz);
  }
  if (assignment.stack_bytes() == 0) {
    assignment.set_stack_bytes(kDefaultStackBytes);
  }
  assignment.set_stack_bytes(std::min(assignment.stack_bytes(), kMaxStackBytes) / 8 * 8);
  if (assignment.stack_rate_hz() == 0 || assignment.stack_rate_hz() > assignment.rate_hz()) {
    assignment.set_stack_rate_hz(assignment.rate_hz());
  }
  return options;
}

}  // namespace

Collector::Collector(CollectorOptions options)
    : options_(with_defaults(std::move(options))),
      images_(proc_fs_),
      binaries_(images_),
      processes_(proc_fs_, binaries_),
      namer_(proc_fs_, options_.rules),
      user_stacks_(images_),
      random_(random_seed()) {}

Result<std::unique_ptr<Collector>> Collector::open(CollectorOptions options) {
  const OneTimeWork once(options.governor);
  std::unique_ptr<Collector> collector(new Collector(std::move(options)));
  if (auto checked = collector->proc_fs_.check_namespace(); !checked) {
    return propagate(checked, "reading processes");
  }
  const LiveEvents machine;
  auto plan = plan_events(collector->options_.assignment, collector->options_.allowed_events, machine);
  if (!plan) {
    return propagate(plan);
  }
  collector->plan_ = std::move(*plan);
  collector->notes_ = collector->plan_.notes;
  add_capability_notes(collector->notes_);
  collector->window_counts_.push_back(std::make_unique<MachineCounters>(collector->plan_.counted));
  if (auto energy = energy_counts(machine.catalogue(), collector->options_.allowed_events)) {
    collector->window_counts_.push_back(std::move(energy));
  }
  auto kernel = identity::KernelMap::read_running();
  if (kernel) {
    collector->kernel_ = std::make_unique<identity::KernelMap>(std::move(*kernel));
  } else {
    collector->notes_.push_back("kernel code is unresolved: " + kernel.error().text());
  }
  if (!perf::samples_tell_cgroups()) {
    collector->notes_.push_back(
        "this kernel's samples have no control group (no CONFIG_CGROUP_PERF): samples count for the group of "
        "the process in /proc during the window");
  }
  collector->window_counts_.push_back(
      std::make_unique<CpuTimeCounts>(collector->proc_fs_, collector->options_.rules));
  if (auto exact = exact_counts(collector->options_.exact_counts, collector->options_.allowed_events, machine,
                                collector->proc_fs_, collector->options_.rules)) {
    collector->window_counts_.push_back(std::move(exact));
  }
  if (auto opened = collector->open_sampler(); !opened) {
    return propagate(opened);
  }
  return collector;
}

Status Collector::open_sampler() {
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  perf::SamplerOptions sampler_options;
  sampler_options.cpus = cpus_ = *cpus;
  sampler_options.stack_bytes = options_.assignment.stack_bytes();
  sampler_options.seed = random_();
  sampler_options.on_side_band_lost = [this] {
    processes_.invalidate();
    if (waits_ != nullptr) {
      waits_->forget_threads();
    }
  };
  for (const PlannedEvent& event : plan_.events) {
    sampler_options.events.push_back(event.sampled);
  }
  sampler_options.turn_ns = turn_ns(options_.assignment, plan_);
  // Buffers are memory of the daemon's, too.
  const uint64_t max_ring_bytes =
      options_.governor == nullptr
          ? perf::kMaxRingBytes
          : std::min(perf::kMaxRingBytes, options_.governor->budget().resident_bytes / 4);
  const uint32_t wanted_pages = options_.sample_pages != 0
                                    ? options_.sample_pages
                                    : perf::ring_pages(sampler_options.events, sampler_options.stack_bytes,
                                                       cpus->size(), max_ring_bytes);
  sampler_options.sample_pages = wanted_pages;
  if (options_.governor != nullptr) {
    sampler_options.max_backlog_bytes =
        std::min<uint64_t>(sampler_options.max_backlog_bytes, options_.governor->budget().resident_bytes / 8);
  }
  auto fitted = perf::open_fitted(std::move(sampler_options));
  if (!fitted) {
    return propagate(fitted);
  }
  if (fitted->sample_pages < wanted_pages) {
    notes_.push_back(smaller_rings_note(fitted->sample_pages, wanted_pages));
  }
  sampler_ = std::make_unique<perf::Sampler>(std::move(fitted->sampler));
  open_waits(max_ring_bytes / kWaitsPartOfRings);
  return {};
}

void Collector::drop_waits_of_other_namespaces() {
  const auto runnable = std::ranges::find(plan_.waits, perf::kRunnableEvent);
  if (runnable == plan_.waits.end() || processes_.sees_all_processes()) {
    return;
  }
  wire::MissingEvent& missing = plan_.missing.emplace_back();
  missing.set_name(*runnable);
  missing.set_reason(
      "wake-ups name threads by their IDs in the machine's PID namespace, and this daemon runs in another");
  plan_.waits.erase(runnable);
}

void Collector::open_waits(uint64_t max_ring_bytes) {
  drop_waits_of_other_namespaces();
  if (plan_.waits.empty()) {
    return;
  }
  const auto index_of = [this](std::string_view name) {
    const auto found = std::ranges::find_if(
        plan_.events, [&](const PlannedEvent& event) { return event.sampled.type.name == name; });
    return found == plan_.events.end() ? -1 : static_cast<int>(found - plan_.events.begin());
  };
  auto opened = waits::WaitEvents::open({.wanted = waits::wanted_waits(plan_.waits),
                                         .cpus = cpus_,
                                         .switches = index_of("context-switches"),
                                         .lock_begins = index_of("lock:contention_begin"),
                                         .clock = index_of("cpu-clock"),
                                         .switches_per_second = plan_.switches_per_second,
                                         .max_ring_bytes = max_ring_bytes,
                                         .seed = random_()});
  if (opened) {
    waits_ = std::move(*opened);
    return;
  }
  notes_.push_back(opened.error().text());
  for (const std::string& name : plan_.waits) {
    wire::MissingEvent& missing = plan_.missing.emplace_back();
    missing.set_name(name);
    missing.set_reason(opened.error().text());
  }
}

Status Collector::learn_processes() {
  if (scanned_) {
    return {};
  }
  const OneTimeWork once(options_.governor);
  if (auto enabled = sampler_->enable_side_band(); !enabled) {
    return enabled;
  }
  const size_t denied = processes_.scan();
  add_reach_notes({.unread_mappings = denied,
                   .unread_binaries = images_.denied(),
                   .is_in_pid_namespace = !processes_.sees_all_processes()},
                  notes_);
  scanned_ = true;
  sampler_->drain([this](Bytes bytes) {
    if (const auto record = perf::decode_record(bytes)) {
      processes_.apply(*record);
    }
  });
  return {};
}

void Collector::note_unknown_processes(uint64_t unknown_before, wire::RawProfile& profile) const {
  if (profile.lost_side_band() > 0) {
    profile.add_notes(
        fmt::format("{} records of processes were lost: processes were read from /proc again, {} of them "
                    "remain unknown ({})",
                    profile.lost_side_band(), processes_.unknown() - unknown_before, identity::kUnknownComm));
  }
  if (processes_.unplaced() > 0) {
    profile.add_notes(
        fmt::format("{} samples count for the control group in which their process started: their own is "
                    "unknown, because of over {} groups or lost records",
                    processes_.unplaced(), identity::CgroupTable::Limits{}.max_groups));
  }
}

bool Collector::must_end(WindowCost& cost) {
  if (options_.governor == nullptr) {
    return false;
  }
  options_.governor->spread(user_stacks_.take_compile_cpu_ns());
  options_.governor->observe(monotonic_now_ns());
  cost.look_for_reason_to_end();
  return !cost.reason_to_end().empty();
}

Status Collector::sample(const WindowOptions& window, const std::function<void(Bytes record)>& consume,
                         const ProfileBuilder& builder, WindowCost& cost) {
  std::uniform_int_distribution<int64_t> drain_interval(kShortestDrainNs, kLongestDrainNs);
  const int64_t start_ns = monotonic_now_ns();
  const int64_t end_ns = start_ns + window.duration_ns;
  int64_t redraw_at_ns = start_ns + drain_interval(random_);
  int64_t now_ns = start_ns;
  bool ends = false;
  while (now_ns < end_ns && !ends) {
    if (now_ns >= redraw_at_ns) {
      if (auto redrawn = sampler_->redraw_periods(); !redrawn) {
        return redrawn;
      }
      redraw_at_ns = now_ns + drain_interval(random_);
    }
    if (auto passed = sampler_->pass_turn(); !passed) {
      return passed;
    }
    const int64_t slot_ends_ns = waits_ == nullptr ? INT64_MAX : waits_->slot_ends_ns();
    const auto woken = sampler_->wait(
        std::min({redraw_at_ns, sampler_->turn_ends_ns(), slot_ends_ns, end_ns}), window.wake_fd);
    if (!woken) {
      return propagate(woken);
    }
    const int64_t settled_ns = sampler_->drain(consume);
    if (waits_ != nullptr) {
      waits_->settle(settled_ns);
      if (auto passed = waits_->pass_slot(); !passed) {
        return passed;
      }
    }
    ends = *woken || must_end(cost);
    now_ns = monotonic_now_ns();
    if (window.progress) {
      window.progress(now_ns - start_ns, builder.hits());
    }
  }
  return {};
}

Status Collector::run_window(const WindowOptions& window, ProfileBuilder& builder, WindowCost& cost) {
  SampleAssembly assembly(processes_, kernel_.get(), &user_stacks_, builder,
                          [this](uint64_t id) { return sampler_->event_index(id); });
  if (waits_ == nullptr) {
    return run_sampler(window, assembly, builder, cost);
  }
  Status ran = waits_->begin_window(assembly, window.duration_ns, cost.slowdown());
  if (ran) {
    ran = run_sampler(window, assembly, builder, cost);
  }
  waits_->finish_window();
  return ran;
}

Status Collector::run_sampler(const WindowOptions& window, SampleAssembly& assembly,
                              const ProfileBuilder& builder, WindowCost& cost) {
  uint64_t undecodable = 0;
  const auto consume = [&](Bytes bytes) {
    if (const auto record = perf::decode_record(bytes, &sampler_->branch_events())) {
      if (waits_ != nullptr) {
        waits_->apply(*record);
      }
      assembly.apply(*record);
    } else {
      ++undecodable;
    }
  };
  const uint64_t dropped_before = sampler_->dropped_bytes();
  sampler_->set_slowdown(cost.slowdown());
  if (auto enabled = sampler_->enable(); !enabled) {
    return enabled;
  }
  const Status sampled = sample(window, consume, builder, cost);
  const Status ended = waits_ == nullptr ? Status() : waits_->end_window();
  Status disabled = sampler_->disable();
  disabled = ended ? disabled : ended;
  if (!sampled || !disabled) {
    return !sampled ? sampled : disabled;
  }
  sampler_->drain_all(consume);
  if (const uint64_t dropped = sampler_->dropped_bytes() - dropped_before; dropped > 0) {
    return fail(ErrorCode::kCorrupt, "{} bytes of the ring buffers are not perf records", dropped);
  }
  return undecodable == 0 ? Status()
                          : fail(ErrorCode::kCorrupt, "{} perf records could not be decoded", undecodable);
}

Status Collector::follow_processes(int64_t duration_ns, int wake_fd) {
  const int64_t end_ns = monotonic_now_ns() + duration_ns;
  bool woken = false;
  while (monotonic_now_ns() < end_ns && !woken) {
    const auto waited = sampler_->wait(end_ns, wake_fd);
    if (!waited) {
      return propagate(waited);
    }
    woken = *waited;
    // No samples: the events are disabled between windows.
    sampler_->drain([this](Bytes bytes) {
      if (const auto record = perf::decode_record(bytes)) {
        if (waits_ != nullptr) {
          waits_->apply(*record);
        }
        processes_.apply(*record);
      }
    });
  }
  processes_.end_window();
  return {};
}

bool Collector::is_outdated() const {
  const auto cpus = perf::online_cpus();
  return cpus && *cpus != cpus_;
}

void Collector::shrink() {
  user_stacks_.clear();
  ::malloc_trim(0);
}

void Collector::end_window() {
  processes_.end_window();
  if (binaries_.has_too_many()) {
    for (const identity::BinaryInfo* binary : binaries_.forget_unused(processes_.binaries_in_use())) {
      user_stacks_.forget(binary);
    }
  }
  user_stacks_.trim();
}

Result<Collector::OpenWindow> Collector::open_window() {
  OpenWindow open{.cost = WindowCost(options_.governor),
                  .builder = ProfileBuilder({}, &namer_),
                  .clocks = {},
                  .unknown_processes = processes_.unknown(),
                  .side_band_lost = 0};
  // What was counted until now is no window's.
  if (auto counts = sampler_->take_counts(); !counts) {
    return propagate(counts);
  }
  const auto lost = sampler_->side_band_lost();
  if (!lost) {
    return propagate(lost);
  }
  open.side_band_lost = *lost;
  for (const auto& window_counts : window_counts_) {
    window_counts->start();
  }
  open.clocks = read_clocks();
  return open;
}

Status Collector::write_counted(OpenWindow& open, wire::RawProfile& profile) {
  const auto counts = sampler_->take_counts();
  const auto side_band_lost = sampler_->side_band_lost();
  if (!counts || !side_band_lost) {
    return !counts ? propagate(counts) : propagate(side_band_lost);
  }
  describe_events(plan_, open.cost.slowdown(), profile);
  write_counts(plan_, *counts, profile);
  for (const auto& window_counts : window_counts_) {
    window_counts->add_to(profile, open.builder);
  }
  if (waits_ != nullptr) {
    waits_->write(profile, open.builder);
  }
  profile.set_lost_side_band(*side_band_lost - open.side_band_lost);
  follow_rates(*counts, plan_, *sampler_);
  return {};
}

Result<wire::RawProfile> Collector::collect(const WindowOptions& window) {
  if (auto learned = learn_processes(); !learned) {
    return propagate(learned);
  }
  auto open = open_window();
  if (!open) {
    return propagate(open);
  }
  if (auto ran = run_window(window, open->builder, open->cost); !ran) {
    return propagate(ran, "sampling");
  }
  wire::RawProfile profile;
  profile.set_format_version(wire::kFormatVersion);
  profile.set_profile_id(random_bytes(16));
  *profile.mutable_machine() = options_.machine;
  *profile.mutable_assignment() = options_.assignment;
  *profile.mutable_window()->mutable_start() = open->clocks;
  *profile.mutable_window()->mutable_end() = read_clocks();
  profile.mutable_notes()->Assign(notes_.begin(), notes_.end());
  if (auto written = write_counted(*open, profile); !written) {
    return propagate(written);
  }
  const auto sampled_processes = open->builder.processes();
  open->builder.finish(profile);
  name_jit_locations(proc_fs_, sampled_processes, profile);
  account_not_sampled(profile);
  remark_on_hits(plan_, profile);
  note_unknown_processes(open->unknown_processes, profile);
  if (window.with_kernel_symbols && kernel_ != nullptr) {
    const OneTimeWork once(options_.governor);
    add_kernel_symbols(*kernel_, profile);
  }
  end_window();
  open->cost.write(profile);
  return profile;
}

}  // namespace plimsoll
