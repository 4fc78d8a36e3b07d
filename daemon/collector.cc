#include "daemon/collector.h"

#include <algorithm>

#include "base/random.h"
#include "base/time.h"
#include "daemon/jit_names.h"
#include "daemon/perf/cpu_list.h"
#include "daemon/perf/open_event.h"
#include "daemon/perf/ring_size.h"
#include "daemon/profile/cpu_time_counts.h"
#include "daemon/profile/sample_assembly.h"
#include "proto/profile_codec.h"

namespace plimsoll {
namespace {

// Redrawing periods more often costs samples (the kernel restarts the period each time), more rarely lets a
// period that happens to be in step with a program last.
constexpr int64_t kShortestDrainNs = 100'000'000;
constexpr int64_t kLongestDrainNs = 250'000'000;

wire::ClockPair read_clocks() {
  wire::ClockPair pair;
  pair.set_monotonic_ns(monotonic_now_ns());
  pair.set_wall_ns(wall_now_ns());
  return pair;
}

// Where every occurrence is a sample, what is neither here nor lost was counted without one.
void reckon_not_sampled(wire::RawProfile& profile) {
  for (wire::Event& event : *profile.mutable_events()) {
    const auto produced = static_cast<uint64_t>(event.counter_total());
    const uint64_t known = event.hits() + event.lost();
    event.set_not_sampled(event.mean_period() == 1 && produced > known ? produced - known : 0);
  }
}

void write_counts(const std::vector<perf::EventCounts>& counts, wire::RawProfile& profile) {
  for (size_t i = 0; i < counts.size(); ++i) {
    wire::Event& event = *profile.mutable_events(static_cast<int>(i));
    event.set_counter_total(static_cast<double>(counts[i].total));
    event.set_lost(counts[i].lost);
    event.set_ticks_due(counts[i].ticks_due);
    event.set_time_enabled_ns(static_cast<int64_t>(counts[i].time_enabled_ns));
    event.set_time_running_ns(static_cast<int64_t>(counts[i].time_running_ns));
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
      user_stacks_(images_),
      random_(random_seed()) {}

Result<std::unique_ptr<Collector>> Collector::open(CollectorOptions options) {
  std::unique_ptr<Collector> collector(new Collector(std::move(options)));
  auto plan = plan_events(collector->options_.assignment);
  if (!plan) {
    return propagate(plan);
  }
  collector->plan_ = std::move(*plan);
  collector->notes_ = collector->plan_.notes;
  auto kernel = identity::KernelMap::read_running();
  if (kernel) {
    collector->kernel_ = std::make_unique<identity::KernelMap>(std::move(*kernel));
  } else {
    collector->notes_.push_back("kernel code is unresolved: " + kernel.error().text());
  }
  if (!perf::samples_tell_cgroups()) {
    collector->notes_.push_back(
        "this kernel's samples do not tell their control group (CONFIG_CGROUP_PERF): a process counts for "
        "the group that "
        "/proc told of it in the window");
  }
  collector->window_counts_.push_back(std::make_unique<CpuTimeCounts>(collector->proc_fs_));
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
  sampler_options.cpus = *cpus;
  sampler_options.stack_bytes = options_.assignment.stack_bytes();
  sampler_options.seed = random_();
  sampler_options.on_side_band_lost = [this] { processes_.distrust(); };
  for (const PlannedEvent& event : plan_.events) {
    sampler_options.events.push_back(event.sampled);
  }
  sampler_options.sample_pages =
      options_.sample_pages != 0
          ? options_.sample_pages
          : perf::ring_pages(sampler_options.events, sampler_options.stack_bytes, cpus->size());
  auto sampler = perf::Sampler::open(std::move(sampler_options));
  if (!sampler) {
    return propagate(sampler);
  }
  sampler_ = std::make_unique<perf::Sampler>(std::move(*sampler));
  return {};
}

Status Collector::learn_processes() {
  if (scanned_) {
    return {};
  }
  if (auto enabled = sampler_->enable_side_band(); !enabled) {
    return enabled;
  }
  if (const size_t denied = processes_.scan(); denied > 0) {
    notes_.push_back(
        fmt::format("code of {} process{} is unresolved: this user may not read the mappings; "
                    "CAP_SYS_PTRACE permits most",
                    denied, denied == 1 ? "" : "es"));
  }
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
        fmt::format("{} records of processes were lost: who ran was asked of /proc again, and {} times "
                    "nobody could tell ({})",
                    profile.lost_side_band(), processes_.unknown() - unknown_before, identity::kUnknownComm));
  }
}

Status Collector::run_window(const WindowOptions& window, ProfileBuilder& builder) {
  SampleAssembly assembly(processes_, kernel_.get(), &user_stacks_, builder,
                          [this](uint64_t id) { return sampler_->event_index(id); });
  uint64_t undecodable = 0;
  const auto consume = [&](Bytes bytes) {
    if (const auto record = perf::decode_record(bytes)) {
      assembly.apply(*record);
    } else {
      ++undecodable;
    }
  };

  const uint64_t dropped_before = sampler_->dropped_bytes();
  const int64_t start_ns = monotonic_now_ns();
  const int64_t end_ns = start_ns + window.duration_ns;
  std::uniform_int_distribution<int64_t> drain_interval(kShortestDrainNs, kLongestDrainNs);
  if (auto enabled = sampler_->enable(); !enabled) {
    return enabled;
  }
  int64_t now_ns = monotonic_now_ns();
  int64_t redraw_at_ns = now_ns;
  bool woken = false;
  while (now_ns < end_ns && !woken) {
    if (now_ns >= redraw_at_ns) {
      if (auto redrawn = sampler_->redraw_periods(); !redrawn) {
        return redrawn;
      }
      redraw_at_ns = now_ns + drain_interval(random_);
    }
    const auto waited = sampler_->wait(std::min(redraw_at_ns, end_ns), window.wake_fd);
    if (!waited) {
      return propagate(waited);
    }
    woken = *waited;
    sampler_->drain(consume);
    now_ns = monotonic_now_ns();
    if (window.progress) {
      window.progress(now_ns - start_ns, builder.hits());
    }
  }
  if (auto disabled = sampler_->disable(); !disabled) {
    return disabled;
  }
  sampler_->drain_all(consume);
  if (const uint64_t dropped = sampler_->dropped_bytes() - dropped_before; dropped > 0) {
    return fail(ErrorCode::kCorrupt, "{} bytes of the ring buffers are no perf records", dropped);
  }
  return undecodable == 0 ? Status()
                          : fail(ErrorCode::kCorrupt, "{} perf records could not be decoded", undecodable);
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

Result<wire::RawProfile> Collector::collect(const WindowOptions& window) {
  wire::RawProfile profile;
  profile.set_format_version(wire::kFormatVersion);
  profile.set_profile_id(random_bytes(16));
  *profile.mutable_machine() = options_.machine;
  *profile.mutable_assignment() = options_.assignment;
  if (auto learned = learn_processes(); !learned) {
    return propagate(learned);
  }
  const uint64_t unknown_before = processes_.unknown();
  const auto counts_before = sampler_->read_counts();
  const auto side_band_before = sampler_->side_band_lost();
  if (!counts_before || !side_band_before) {
    return !counts_before ? propagate(counts_before) : propagate(side_band_before);
  }
  *profile.mutable_window()->mutable_start() = read_clocks();
  for (const auto& window_counts : window_counts_) {
    window_counts->start();
  }
  ProfileBuilder builder;
  if (auto ran = run_window(window, builder); !ran) {
    return propagate(ran, "sampling");
  }
  *profile.mutable_window()->mutable_end() = read_clocks();
  for (const std::string& note : notes_) {
    profile.add_notes(note);
  }
  const auto counts_after = sampler_->read_counts();
  const auto side_band_after = sampler_->side_band_lost();
  if (!counts_after || !side_band_after) {
    return !counts_after ? propagate(counts_after) : propagate(side_band_after);
  }
  std::vector<perf::EventCounts> counts;
  counts.reserve(counts_after->size());
  for (size_t i = 0; i < counts_after->size(); ++i) {
    counts.push_back((*counts_after)[i] - (*counts_before)[i]);
  }
  describe_events(plan_, profile);
  write_counts(counts, profile);
  for (const auto& window_counts : window_counts_) {
    window_counts->add_to(profile, builder);
  }
  builder.finish(profile);
  name_jit_locations(proc_fs_, profile);
  reckon_not_sampled(profile);
  profile.set_lost_side_band(*side_band_after - *side_band_before);
  note_unknown_processes(unknown_before, profile);
  if (window.with_kernel_symbols && kernel_ != nullptr) {
    add_kernel_symbols(*kernel_, profile);
  }
  end_window();
  return profile;
}

}  // namespace plimsoll
