#include "store/live/placed_jobs.h"

#include "store/live/live_machine.h"

namespace plimsoll::store {

void PlacedJobs::add_machine() {
  ends_.push_back(placed_.size());
}

void PlacedJobs::add(const JobPlacement& placement) {
  const auto [found, is_new] = numbers_.try_emplace(placement.job, static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(placement.job);
  }
  const PlacedJob placed{.job = found->second,
                         .instances = static_cast<uint32_t>(placement.instances),
                         .unlimited = static_cast<uint32_t>(placement.unlimited),
                         .quota_cpus = placement.quota_cpus};
  if (const auto before = of(machines() - 1); !before.empty() && before.back().job == placed.job) {
    placed_.back() = placed;
    return;
  }
  placed_.push_back(placed);
  ends_.back() = placed_.size();
}

std::span<const PlacedJob> PlacedJobs::of(size_t machine) const {
  const size_t first = machine == 0 ? 0 : ends_[machine - 1];
  return std::span(placed_).subspan(first, ends_[machine] - first);
}

std::optional<uint32_t> PlacedJobs::number_of(std::string_view job) const {
  const auto found = numbers_.find(job);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace plimsoll::store
