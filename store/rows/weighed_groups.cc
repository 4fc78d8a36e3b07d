#include "store/rows/weighed_groups.h"

#include <algorithm>
#include <limits>

namespace plimsoll::store {

bool WeighedGroups::weigh(const BlockGroups& groups, const BlockZones& zones) {
  size_ = groups.size;
  select(groups, zones);
  if (!is_any_selected_) {
    return false;
  }
  has_every_factor_ = true;
  for (size_t m = 0; m < weights_.size(); ++m) {
    weigh(groups, zones, request_.measures[m], weights_[m]);
  }
  place(groups, zones);
  return true;
}

std::optional<double> WeighedGroups::common_weight(size_t measure) const {
  const std::vector<double>& weights = weights_[measure];
  for (size_t group = 1; group < size_; ++group) {
    if (weights[group] != weights[0]) {
      return std::nullopt;
    }
  }
  return weights[0];
}

std::unexpected<Error> WeighedGroups::missing_factor() const {
  return fail(ErrorCode::kCorrupt, "a row names event {} of origin {}, which the dictionaries do not hold",
              without_factor_.event, without_factor_.origin);
}

void WeighedGroups::select(const BlockGroups& groups, const BlockZones& zones) {
  const RowFilter& filter = request_.filter;
  is_every_selected_ = true;
  is_any_selected_ = true;
  select(filter.events, groups.event, zones.event);
  select(filter.workloads, groups.workload, zones.workload);
  select(filter.origins, groups.origin, zones.origin);
  select(filter.threads, groups.thread, zones.thread);
  if (!is_every_selected_) {
    is_any_selected_ = std::ranges::find(is_selected_, true) != is_selected_.end();
  }
}

void WeighedGroups::select(const std::vector<bool>& flags, const std::vector<uint32_t>& ids, Zone zone) {
  // A block whose only ID is not selected is not read at all.
  if (flags.empty() || zone.min == zone.max) {
    return;
  }
  if (is_every_selected_) {
    is_selected_.assign(size_, 1);
  }
  for (size_t group = 0; group < size_; ++group) {
    is_selected_[group] = is_selected_[group] != 0 && RowFilter::selects(flags, ids[group]) ? 1 : 0;
  }
  is_every_selected_ = false;
}

void WeighedGroups::weigh(const BlockGroups& groups, const BlockZones& zones, const Factors& factors,
                          std::vector<double>& weights) {
  weights.resize(size_);
  const bool has_one_event = zones.event.min == zones.event.max;
  if (is_every_selected_ && has_one_event && zones.event.min < factors.size() &&
      zones.origin.max < factors[zones.event.min].size()) {
    const std::vector<double>& factor = factors[zones.event.min];
    for (size_t group = 0; group < size_; ++group) {
      weights[group] = factor[groups.origin[group]];
    }
    return;
  }
  for (size_t group = 0; group < size_; ++group) {
    const uint32_t event = groups.event[group];
    const uint32_t origin = groups.origin[group];
    weights[group] = 0;
    if (!is_every_selected_ && is_selected_[group] == 0) {
      continue;
    }
    if (event >= factors.size() || origin >= factors[event].size()) {
      // No failure yet: its rows may be on stacks that are not selected.
      weights[group] = std::numeric_limits<double>::quiet_NaN();
      without_factor_ = {event, origin};
      has_every_factor_ = false;
      continue;
    }
    weights[group] = factors[event][origin];
  }
}

void WeighedGroups::place(const BlockGroups& groups, const BlockZones& zones) {
  is_one_cell_ = true;
  has_places_ = false;
  first_cell_of_all_ = 0;
  place(request_.event_group, groups.event, zones.event, space_.event_stride());
  place(request_.origin_group, groups.origin, zones.origin, space_.origin_stride());
  place(request_.workload_group, groups.workload, zones.workload, space_.workload_stride());
  place(request_.thread_group, groups.thread, zones.thread, space_.thread_stride());
  if (!has_places_) {
    first_cell_.assign(size_, first_cell_of_all_);
  } else {
    for (uint64_t& cell : first_cell_) {
      cell += first_cell_of_all_;
    }
  }
  place_machines(groups.origin, zones.origin);
}

// Adds a dimension's part to the groups' cells.
void WeighedGroups::place(const std::vector<uint32_t>& table, const std::vector<uint32_t>& ids, Zone zone,
                          uint64_t stride) {
  if (table.empty()) {
    return;
  }
  if (zone.min == zone.max) {
    first_cell_of_all_ += group_number(table, zone.min) * stride;
    return;
  }
  if (!has_places_) {
    first_cell_.assign(size_, 0);
    has_places_ = true;
  }
  is_one_cell_ = false;
  for_each_number(table, ids, zone,
                  [&](size_t group, uint32_t number) { first_cell_[group] += number * stride; });
}

void WeighedGroups::place_machines(const std::vector<uint32_t>& origins, Zone zone) {
  if (request_.machine_group.empty()) {
    machine_.assign(size_, 0);
    return;
  }
  is_one_cell_ = false;
  machine_.resize(size_);
  for_each_number(request_.machine_group, origins, zone,
                  [&](size_t group, uint32_t number) { machine_[group] = number; });
}

// Hands each group with its number in the table to `use`.
template <typename Use>
void WeighedGroups::for_each_number(const std::vector<uint32_t>& table, const std::vector<uint32_t>& ids,
                                    Zone zone, Use use) const {
  if (zone.max < table.size()) {
    for (size_t group = 0; group < size_; ++group) {
      use(group, table[ids[group]]);
    }
    return;
  }
  for (size_t group = 0; group < size_; ++group) {
    use(group, group_number(table, ids[group]));
  }
}

}  // namespace plimsoll::store
