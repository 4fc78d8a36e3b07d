#include "scheduler/safety/overhead_meter.h"

#include <algorithm>
#include <utility>

namespace plimsoll::scheduler {

// The one of an hour before gives way; with it go machines that were not heard of since.
OverheadMeter::Slot& OverheadMeter::slot_at(int64_t now_ns) {
  const int64_t number = now_ns / kSlotNs;
  Slot& slot = slots_[static_cast<size_t>(number) % kSlots];
  if (slot.number != number) {
    slot = {.number = number};
    boost::unordered::erase_if(
        newest_, [&](const auto& machine) { return now_ns - machine.second.at_ns > kMemoryNs; });
  }
  return slot;
}

void OverheadMeter::heard_from(std::string_view machine_id, int64_t cpu_time_ns, int64_t now_ns) {
  cpu_time_ns = std::max<int64_t>(cpu_time_ns, 0);
  const std::lock_guard lock(mutex_);
  Slot& slot = slot_at(now_ns);
  const auto [machine, is_new] = newest_.try_emplace(std::string(machine_id));
  const Report before = std::exchange(machine->second, {cpu_time_ns, now_ns});
  const int64_t elapsed_ns = now_ns - before.at_ns;
  if (is_new || elapsed_ns <= 0 || elapsed_ns > kMemoryNs) {
    return;
  }
  const bool is_same_run = cpu_time_ns >= before.cpu_time_ns;
  const int64_t taken_ns = is_same_run ? cpu_time_ns - before.cpu_time_ns : cpu_time_ns;
  // At most one CPU: a false report must not stop the whole fleet.
  slot.cpu_ns += static_cast<double>(std::clamp<int64_t>(taken_ns, 0, elapsed_ns));
  slot.machine_ns += static_cast<double>(elapsed_ns);
}

std::optional<double> OverheadMeter::cpus_of_daemon(int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const int64_t oldest = now_ns / kSlotNs - static_cast<int64_t>(kSlots);
  double cpu_ns = 0;
  double machine_ns = 0;
  for (const Slot& slot : slots_) {
    if (slot.number > oldest) {
      cpu_ns += slot.cpu_ns;
      machine_ns += slot.machine_ns;
    }
  }
  return machine_ns > 0 ? std::optional(cpu_ns / machine_ns) : std::nullopt;
}

double affordable(size_t drawn, double measured_each, double share, double max_share) {
  const auto all = static_cast<double>(drawn);
  if (drawn == 0 || measured_each == 0 || share == 0) {
    return all;
  }
  // The overhead is proportional to the machines that are profiled: this many would have been within the limit. At least one, so
  // that there is a measurement by which the number can rise again.
  return std::clamp(measured_each * max_share / share, 1.0, all);
}

}  // namespace plimsoll::scheduler
