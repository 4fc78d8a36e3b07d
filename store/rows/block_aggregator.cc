#include "store/rows/block_aggregator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plimsoll::store {
namespace {

uint32_t group_of(const std::vector<uint32_t>& groups, uint32_t id) {
  return id < groups.size() ? groups[id] : 0;
}

bool may_hold(const std::vector<bool>& flags, Zone zone) {
  if (flags.empty()) {
    return true;
  }
  for (size_t id = zone.min; id <= zone.max && id < flags.size(); ++id) {
    if (flags[id]) {
      return true;
    }
  }
  return false;
}

// Four sums, because each addition waits for the one before it.
double dot_product(std::span<const double> a, std::span<const double> b) {
  std::array<double, 4> sums{};
  size_t i = 0;
  for (; i + 4 <= a.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < a.size(); ++i) {
    sums[0] += a[i] * b[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Goes through a matrix by stack: start(place of the stack), add(group, hits) for each group, end(place of the stack). The
// loop that most of the time goes to: everything that it needs stays in registers.
template <typename Start, typename Add, typename End>
void for_each_entry(const BlockMatrix<double>& matrix, Start start, Add add, End end) {
  const uint32_t* first = matrix.first.data();
  const uint32_t* gap = matrix.gap.data();
  const double* hits = matrix.hits.data();
  for (size_t i = 0; i < matrix.size; ++i) {
    start(i);
    if (const uint32_t length = matrix.singles[i]; length > 0) {
      uint32_t group = *first++;
      add(group, 1.0);
      for (const uint32_t* last = gap + (length - 1); gap != last; ++gap) {
        group += *gap + 1;
        add(group, 1.0);
      }
    }
    if (const uint32_t length = matrix.multiples[i]; length > 0) {
      uint32_t group = *first++;
      add(group, *hits++);
      for (const uint32_t* last = gap + (length - 1); gap != last; ++gap) {
        group += *gap + 1;
        add(group, *hits++);
      }
    }
    end(i);
  }
}

}  // namespace

bool may_hold(const RowFilter& filter, const BlockZones& zones) {
  return may_hold(filter.events, zones.event) && may_hold(filter.workloads, zones.workload) &&
         may_hold(filter.origins, zones.origin) && may_hold(filter.threads, zones.thread) &&
         may_hold(filter.stacks, zones.stack);
}

Status BlockAggregator::add(const Segment& segment, size_t block) {
  if (const Status read = segment.read_groups(block, groups_); !read) {
    return read;
  }
  weigh_groups(segment.zones(block));
  if (!is_any_selected_) {
    return {};
  }
  if (!needs_matrix()) {
    return add_groups();
  }
  if (const Status read = segment.read_matrix(block, matrix_); !read) {
    return read;
  }
  return matrix_.is_by_stack ? add_matrix() : add_by_row();
}

uint32_t BlockAggregator::stack_group_of(uint32_t stack) const {
  return request_.by_stack ? stack : group_of(request_.stack_group, stack);
}

// Column by column, and only those that a filter or a grouping asks for: a block has the same event throughout, often the
// same workload.
void BlockAggregator::weigh_groups(const BlockZones& zones) {
  select_groups(zones);
  if (!is_any_selected_) {
    return;
  }
  has_every_factor_ = true;
  for (size_t m = 0; m < weights_.size(); ++m) {
    weigh_groups(request_.measures[m], zones, weights_[m]);
  }
  is_one_cell_ = true;
  has_places_ = false;
  first_cell_of_all_ = 0;
  place_groups(request_.event_group, groups_.event, zones.event, space_.event_stride());
  place_groups(request_.origin_group, groups_.origin, zones.origin, space_.origin_stride());
  place_groups(request_.workload_group, groups_.workload, zones.workload, space_.workload_stride());
  place_groups(request_.thread_group, groups_.thread, zones.thread, space_.thread_stride());
  if (!has_places_) {
    first_cell_.assign(groups_.size, first_cell_of_all_);
  } else {
    for (uint64_t& cell : first_cell_) {
      cell += first_cell_of_all_;
    }
  }
  place_machines(zones.origin);
}

void BlockAggregator::select_groups(const BlockZones& zones) {
  const RowFilter& filter = request_.filter;
  is_every_selected_ = true;
  is_any_selected_ = true;
  select_groups(filter.events, groups_.event, zones.event);
  select_groups(filter.workloads, groups_.workload, zones.workload);
  select_groups(filter.origins, groups_.origin, zones.origin);
  select_groups(filter.threads, groups_.thread, zones.thread);
  if (!is_every_selected_) {
    is_any_selected_ = std::ranges::find(is_selected_, true) != is_selected_.end();
  }
}

void BlockAggregator::select_groups(const std::vector<bool>& flags, const std::vector<uint32_t>& ids,
                                    Zone zone) {
  // A block whose only ID is not selected is not read at all.
  if (flags.empty() || zone.min == zone.max) {
    return;
  }
  if (is_every_selected_) {
    is_selected_.assign(groups_.size, 1);
  }
  for (size_t group = 0; group < groups_.size; ++group) {
    is_selected_[group] = is_selected_[group] != 0 && RowFilter::selects(flags, ids[group]) ? 1 : 0;
  }
  is_every_selected_ = false;
}

void BlockAggregator::weigh_groups(const Factors& factors, const BlockZones& zones,
                                   std::vector<double>& weights) {
  weights.resize(groups_.size);
  const bool has_one_event = zones.event.min == zones.event.max;
  if (is_every_selected_ && has_one_event && zones.event.min < factors.size() &&
      zones.origin.max < factors[zones.event.min].size()) {
    const std::vector<double>& factor = factors[zones.event.min];
    for (size_t group = 0; group < groups_.size; ++group) {
      weights[group] = factor[groups_.origin[group]];
    }
    return;
  }
  for (size_t group = 0; group < groups_.size; ++group) {
    const uint32_t event = groups_.event[group];
    const uint32_t origin = groups_.origin[group];
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

// Adds a dimension's part to the groups' cells.
void BlockAggregator::place_groups(const std::vector<uint32_t>& table, const std::vector<uint32_t>& ids,
                                   Zone zone, uint64_t stride) {
  if (table.empty()) {
    return;
  }
  if (zone.min == zone.max) {
    first_cell_of_all_ += group_of(table, zone.min) * stride;
    return;
  }
  if (!has_places_) {
    first_cell_.assign(groups_.size, 0);
    has_places_ = true;
  }
  is_one_cell_ = false;
  for_each_number(table, ids, zone,
                  [&](size_t group, uint32_t number) { first_cell_[group] += number * stride; });
}

void BlockAggregator::place_machines(Zone origin) {
  if (request_.machine_group.empty()) {
    machine_.assign(groups_.size, 0);
    return;
  }
  is_one_cell_ = false;
  machine_.resize(groups_.size);
  for_each_number(request_.machine_group, groups_.origin, origin,
                  [&](size_t group, uint32_t number) { machine_[group] = number; });
}

// Hands each group with its number in the table to `use`.
template <typename Use>
void BlockAggregator::for_each_number(const std::vector<uint32_t>& table, const std::vector<uint32_t>& ids,
                                      Zone zone, Use use) const {
  if (zone.max < table.size()) {
    for (size_t group = 0; group < groups_.size; ++group) {
      use(group, table[ids[group]]);
    }
    return;
  }
  for (size_t group = 0; group < groups_.size; ++group) {
    use(group, group_of(table, ids[group]));
  }
}

Status BlockAggregator::add_value(uint64_t cell, size_t measure, uint32_t machine_group, double value) {
  if (value == 0) {
    return {};
  }
  if (std::isnan(value)) {
    return fail(ErrorCode::kCorrupt, "a row names event {} of origin {}, which the dictionaries do not hold",
                without_factor_.event, without_factor_.origin);
  }
  const size_t place = sums_.place(cell);
  if (place == CellSums::kNone) {
    return too_many_sums(request_.max_sums);
  }
  sums_.sums()[place + measure * space_.machine_groups() + machine_group] += value;
  return {};
}

Status BlockAggregator::add_to(uint64_t cell, size_t group, double hits) {
  for (size_t m = 0; m < weights_.size(); ++m) {
    if (Status added = add_value(cell, m, machine_[group], weights_[m][group] * hits); !added) {
      return added;
    }
  }
  return {};
}

// Neighbours mostly fall into the same cell, and an addition to memory waits for the one before it: runs of them are added up
// in registers.
Status BlockAggregator::add_groups() {
  for (size_t from = 0; from < groups_.size;) {
    size_t to = from + 1;
    while (to < groups_.size && first_cell_[to] == first_cell_[from] && machine_[to] == machine_[from]) {
      ++to;
    }
    for (size_t m = 0; m < weights_.size(); ++m) {
      const double sum = dot_product(std::span(weights_[m]).subspan(from, to - from),
                                     std::span(groups_.hits).subspan(from, to - from));
      if (Status added = add_value(first_cell_[from], m, machine_[from], sum); !added) {
        return added;
      }
    }
    from = to;
  }
  return {};
}

Status BlockAggregator::add_by_row() {
  for (size_t row = 0; row < matrix_.size; ++row) {
    const uint32_t stack = matrix_.stack[row];
    if (!RowFilter::selects(request_.filter.stacks, stack)) {
      continue;
    }
    const uint32_t group = matrix_.group[row];
    if (Status added = add_to(first_cell_[group] + stack_group_of(stack), group, matrix_.hits[row]); !added) {
      return added;
    }
  }
  return {};
}

Status BlockAggregator::add_matrix() {
  if (is_one_cell_) {
    return add_stacks_of_one_cell();
  }
  if (!sums_.is_dense() || !has_every_factor_) {
    return add_stacks_one_by_one();
  }
  add_stacks_densely();
  return {};
}

Status BlockAggregator::add_stacks_of_one_cell() {
  stack_sums_.resize(matrix_.size);
  for (size_t m = 0; m < weights_.size(); ++m) {
    const double* weights = weights_[m].data();
    double* sums = stack_sums_.data();
    double sum = 0;
    for_each_entry(
        matrix_, [&](size_t) { sum = 0; }, [&](uint32_t group, double hits) { sum += weights[group] * hits; },
        [&](size_t i) { sums[i] = sum; });
    for (size_t i = 0; i < matrix_.size; ++i) {
      if (!RowFilter::selects(request_.filter.stacks, matrix_.stack[i])) {
        continue;
      }
      const uint64_t cell = first_cell_[0] + stack_group_of(matrix_.stack[i]);
      if (Status added = add_value(cell, m, machine_[0], stack_sums_[i]); !added) {
        return added;
      }
    }
  }
  return {};
}

void BlockAggregator::add_stacks_densely() {
  const size_t width = space_.width();
  place_.resize(groups_.size);
  for (size_t group = 0; group < groups_.size; ++group) {
    place_[group] = first_cell_[group] * width + machine_[group];
  }
  for (size_t m = 0; m < weights_.size(); ++m) {
    const double* weights = weights_[m].data();
    const size_t* places = place_.data();
    double* const all_sums = sums_.sums() + m * space_.machine_groups();
    double* sums = nullptr;  // of the stack at hand, where it is selected
    for_each_entry(
        matrix_,
        [&](size_t i) {
          const uint32_t stack = matrix_.stack[i];
          sums = RowFilter::selects(request_.filter.stacks, stack) ? all_sums + stack_group_of(stack) * width
                                                                   : nullptr;
        },
        [&](uint32_t group, double hits) {
          if (sums != nullptr) {
            sums[places[group]] += weights[group] * hits;
          }
        },
        [](size_t) {});
  }
}

Status BlockAggregator::add_stacks_one_by_one() {
  Status status;
  uint64_t stack_group = 0;
  bool is_stack_selected = false;
  for_each_entry(
      matrix_,
      [&](size_t i) {
        is_stack_selected = RowFilter::selects(request_.filter.stacks, matrix_.stack[i]);
        stack_group = stack_group_of(matrix_.stack[i]);
      },
      [&](uint32_t group, double hits) {
        if (is_stack_selected && status) {
          status = add_to(first_cell_[group] + stack_group, group, hits);
        }
      },
      [](size_t) {});
  return status;
}

}  // namespace plimsoll::store
