#include "store/aggregation/weighed_groups.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace plimsoll::store {
namespace {

// Entry 0 is of no origin.
std::optional<double> common_factor(std::span<const double> by_origin) {
  if (by_origin.size() < 2) {
    return std::nullopt;
  }
  const double first = by_origin[1];
  const bool is_common =
      std::ranges::all_of(by_origin.subspan(1), [&](double factor) { return factor == first; });
  return is_common ? std::optional(first) : std::nullopt;
}

}  // namespace

WeighedGroups::WeighedGroups(const AggregateRequest& request, const CellSpace& space)
    : request_(request), space_(space), weights_(request.measures.size()) {
  for (const Factors& factors : request.measures) {
    auto& tables = factors_.emplace_back();
    auto& common = common_factors_.emplace_back();
    for (const IdTable<double>& by_origin : factors) {
      tables.push_back(by_origin.values());
      common.push_back(store::common_factor(by_origin.values()));
    }
  }
  for (const Column column : kGroupColumns) {
    flags_[column] = &request.filter[column].flags();
  }
}

std::optional<double> WeighedGroups::common_factor(size_t measure, const ChunkZones& zones) const {
  const std::span<const std::span<const double>> factors = factors_[measure];
  const Zone events = zones[Column::kEvent];
  const Zone origins = zones[Column::kOrigin];
  const uint32_t event = events.min;
  const bool is_covered =
      event == events.max && event < factors.size() && origins.min > 0 && origins.max < factors[event].size();
  if (!is_covered) {
    return std::nullopt;
  }
  return origins.min == origins.max ? std::optional(factors[event][origins.min])
                                    : common_factors_[measure][event];
}

GroupColumns WeighedGroups::wanted(const ChunkZones& zones) const {
  bool has_common_factors = true;
  for (size_t m = 0; m < weights_.size(); ++m) {
    has_common_factors = has_common_factors && common_factor(m, zones).has_value();
  }
  GroupColumns wanted;
  for (const Column column : kGroupColumns) {
    // Factors are by event and origin, machines by origin.
    const bool is_asked_for =
        !request_.filter[column].is_all() || !request_.group[column].is_one() || column == Column::kEvent ||
        (column == Column::kOrigin && (!request_.machine_group.empty() || !has_common_factors));
    wanted[column] = zones[column].min != zones[column].max && is_asked_for;
  }
  return wanted;
}

bool WeighedGroups::weigh(const ChunkGroups& groups, const ChunkZones& zones, size_t first, size_t count) {
  const GroupColumns are_there = wanted(zones);
  IdsByColumn columns;
  for (const Column column : kGroupColumns) {
    columns[column] = are_there[column]
                          ? Ids::of(std::span(groups[column]).subspan(first, count), zones[column])
                          : Ids{zones[column], {}};
  }
  size_ = count;
  select(columns);
  if (!is_any_selected_) {
    return false;
  }
  place(columns);
  weigh(columns, zones);
  return true;
}

// Neighbours are mostly of one workload: then nothing about it need be worked out for each.
WeighedGroups::Ids WeighedGroups::Ids::of(std::span<const uint32_t> ids, Zone zone) {
  if (ids.empty()) {
    return {zone, {}};
  }
  uint32_t differences = 0;  // no early end, so that it is a few vector instructions
  for (const uint32_t id : ids) {
    differences |= id ^ ids[0];
  }
  return differences == 0 ? Ids{{ids[0], ids[0]}, {}} : Ids{zone, ids};
}

void WeighedGroups::weigh(const IdsByColumn& columns, const ChunkZones& zones) {
  has_every_factor_ = true;
  is_one_weight_ = is_one_cell_ && is_every_selected_;
  for (size_t m = 0; m < weights_.size(); ++m) {
    is_one_weight_ = is_one_weight_ && common_factor(m, zones).has_value();
  }
  for (size_t m = 0; m < weights_.size(); ++m) {
    const auto common = common_factor(m, zones);
    if (common && is_every_selected_) {
      weights_[m].assign(is_one_weight_ ? 1 : size_, *common);
    } else {
      weigh(columns, factors_[m], weights_[m]);
    }
  }
}

std::unexpected<Error> WeighedGroups::missing_factor() const {
  return fail(ErrorCode::kCorrupt, "a row names event {} of origin {}, which the dictionaries do not hold",
              without_factor_.event, without_factor_.origin);
}

void WeighedGroups::select(const IdsByColumn& columns) {
  is_every_selected_ = true;
  is_any_selected_ = true;
  for (const Column column : kGroupColumns) {
    select(*flags_[column], columns[column]);
  }
  if (is_any_selected_ && !is_every_selected_) {
    is_any_selected_ = std::ranges::find(is_selected_, true) != is_selected_.end();
  }
}

void WeighedGroups::select(const std::vector<bool>& flags, const Ids& column) {
  if (flags.empty()) {
    return;
  }
  if (column.ids.empty()) {
    is_any_selected_ = is_any_selected_ && IdSet::selects(flags, column.zone.min);
    return;
  }
  if (is_every_selected_) {
    is_selected_.assign(size_, 1);
  }
  for (size_t group = 0; group < size_; ++group) {
    is_selected_[group] = is_selected_[group] != 0 && IdSet::selects(flags, column.ids[group]) ? 1 : 0;
  }
  is_every_selected_ = false;
}

void WeighedGroups::weigh(const IdsByColumn& columns, std::span<const std::span<const double>> factors,
                          std::vector<double>& weights) {
  weights.resize(size_);
  const Ids& events = columns[Column::kEvent];
  const Ids& origins = columns[Column::kOrigin];
  const uint32_t only_event = events.zone.min;
  if (is_every_selected_ && events.ids.empty() && !origins.ids.empty() && only_event < factors.size() &&
      origins.zone.max < factors[only_event].size()) {
    const double* const factor = factors[only_event].data();
    const uint32_t* const origin = origins.ids.data();
    for (size_t group = 0; group < size_; ++group) {
      weights[group] = factor[origin[group]];
    }
    return;
  }
  for (size_t group = 0; group < size_; ++group) {
    const uint32_t event = events[group];
    const uint32_t origin = origins[group];
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

void WeighedGroups::place(const IdsByColumn& columns) {
  is_one_cell_ = true;
  has_places_ = false;
  first_cell_of_all_ = 0;
  for (const Column column : kGroupColumns) {
    place(request_.group[column], columns[column], space_.stride(column));
  }
  place_machines(columns[Column::kOrigin]);
  if (!has_places_) {
    first_cell_.assign(is_one_cell_ ? 1 : size_, first_cell_of_all_);
  } else if (first_cell_of_all_ != 0) {
    for (uint64_t& cell : first_cell_) {
      cell += first_cell_of_all_;
    }
  }
}

// Adds a dimension's part to the groups' cells.
void WeighedGroups::place(const IdGrouping& grouping, const Ids& column, uint64_t stride) {
  if (grouping.is_one()) {
    return;
  }
  if (column.ids.empty()) {
    first_cell_of_all_ += grouping.of(column.zone.min) * stride;
    return;
  }
  if (!has_places_) {
    first_cell_.assign(size_, 0);
    has_places_ = true;
  }
  is_one_cell_ = false;
  if (grouping.is_each()) {
    for (size_t group = 0; group < size_; ++group) {
      first_cell_[group] += column.ids[group] * stride;
    }
    return;
  }
  for_each_number(grouping.table(), column,
                  [&](size_t group, uint32_t number) { first_cell_[group] += number * stride; });
}

void WeighedGroups::place_machines(const Ids& origins) {
  if (request_.machine_group.empty() || origins.ids.empty()) {
    // No groups, or one of them: entry 0 of no groups is 0.
    machine_.assign(is_one_cell_ ? 1 : size_,
                    group_number(request_.machine_group.values(), origins.zone.min));
    return;
  }
  is_one_cell_ = false;
  machine_.resize(size_);
  for_each_number(request_.machine_group.values(), origins,
                  [&](size_t group, uint32_t number) { machine_[group] = number; });
}

// Hands each group with its number in the table to `use`.
template <typename Use>
void WeighedGroups::for_each_number(std::span<const uint32_t> table, const Ids& column, Use use) const {
  const uint32_t* const ids = column.ids.data();
  if (column.zone.max < table.size()) {
    const uint32_t* const numbers = table.data();
    for (size_t group = 0; group < size_; ++group) {
      use(group, numbers[ids[group]]);
    }
    return;
  }
  for (size_t group = 0; group < size_; ++group) {
    use(group, group_number(table, ids[group]));
  }
}

}  // namespace plimsoll::store
