#include "daemon/window_counts/cpu_time_counts.h"

#include "base/time.h"

namespace plimsoll {
namespace {

// A process that stands for the instance, and has no PID.
uint32_t add_instance(const identity::InstanceUsage& usage, ProfileBuilder& builder) {
  auto identity = std::make_shared<identity::ProcessIdentity>();
  identity->comm = usage.comm;
  identity->executable = usage.executable;
  identity->cgroup = usage.cgroup;
  identity->workload = std::make_shared<const identity::Workload>(
      identity::Workload{usage.job, usage.instance, usage.container, usage.image, usage.labels});
  return builder.thread(builder.process(identity), 0, {});
}

void add_missing(const Error& error, wire::RawProfile& profile) {
  wire::MissingEvent& missing = *profile.add_missing_events();
  missing.set_name(std::string(kCpuTimeEvent));
  missing.set_reason(error.text());
}

}  // namespace

CpuTimeCounts::CpuTimeCounts(const identity::ProcFs& proc_fs, std::shared_ptr<const identity::JobRules> rules,
                             std::string mounts)
    : census_(proc_fs, std::move(mounts), {}, std::move(rules)) {}

void CpuTimeCounts::start() {
  at_start_ = census_.take(monotonic_now_ns());
}

void CpuTimeCounts::add_to(wire::RawProfile& profile, ProfileBuilder& builder) {
  const auto taken = at_start_ ? census_.take(monotonic_now_ns()) : at_start_;
  if (!taken) {
    add_missing(taken.error(), profile);
    return;
  }
  const auto index = static_cast<uint32_t>(profile.events_size());
  wire::Event& event = *profile.add_events();
  event.set_name(std::string(kCpuTimeEvent));
  event.set_unit(wire::NANOSECONDS);
  event.set_kind(wire::DELTA);
  double total_ns = 0;
  for (const identity::InstanceUsage& usage : taken->instances) {
    if (usage.cpu_time_ns > 0) {
      builder.add_count(index, add_instance(usage, builder), static_cast<uint64_t>(usage.cpu_time_ns));
      total_ns += static_cast<double>(usage.cpu_time_ns);
    }
  }
  event.set_counter_total(total_ns);
}

}  // namespace plimsoll
