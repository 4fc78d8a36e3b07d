#include "store/aggregation/chunk_aggregator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace plimsoll::store {
namespace {

// Several sums, because each addition waits for the one before it.
double sum_of(std::span<const double> values) {
  std::array<double, 8> sums{};
  size_t i = 0;
  for (; i + sums.size() <= values.size(); i += sums.size()) {
    for (size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += values[i + lane];
    }
  }
  for (; i < values.size(); ++i) {
    sums[0] += values[i];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

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

// Goes through a matrix: start(place), add(group, hits) for each of its entries, end(place); those of a place whose start says false
// are passed over. The loop that most of the time goes to: everything that it needs stays in registers.
template <typename Start, typename Add, typename End>
void for_each_entry(const ChunkMatrix<double>& matrix, Start start, Add add, End end) {
  const double* hits = matrix.hits.data();
  if (!matrix.is_by_stack) {
    for (size_t i = 0; i < matrix.size; ++i) {
      if (start(i)) {
        add(matrix.group[i], hits[i]);
        end(i);
      }
    }
    return;
  }
  const uint32_t* first = matrix.first.data();
  const uint32_t* gap = matrix.gap.data();
  for (size_t i = 0; i < matrix.size; ++i) {
    if (!start(i)) {
      const uint32_t runs = (matrix.singles[i] > 0 ? 1 : 0) + (matrix.multiples[i] > 0 ? 1 : 0);
      first += runs;
      gap += matrix.singles[i] + matrix.multiples[i] - runs;
      hits += matrix.multiples[i];
      continue;
    }
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

Status ChunkAggregator::add(const Segment& segment, size_t chunk) {
  const ChunkZones& zones = segment.zones(chunk);
  if (const Status read = segment.read_groups(chunk, groups_, weighed_.wanted(zones)); !read) {
    return read;
  }
  if (!needs_matrix()) {
    return add_groups(zones);
  }
  if (!weighed_.weigh(groups_, zones, 0, groups_.size)) {
    return {};
  }
  if (weighed_.is_one_cell()) {
    return add_to_one_cell(segment, chunk);
  }
  if (const Status read = segment.read_matrix(chunk, matrix_); !read) {
    return read;
  }
  number_stacks(std::span(matrix_.stack).first(matrix_.size));
  if (!sums_.is_dense() || !weighed_.has_every_factor()) {
    return add_one_by_one();
  }
  if (lists_ == nullptr && !space_.has_wanted()) {
    add_densely();
  } else {
    add_lists_densely();
  }
  return {};
}

Status ChunkAggregator::add_value(uint64_t possible_cell, size_t measure, uint32_t machine_group,
                                  double value) {
  const uint64_t cell = space_.wanted(possible_cell);
  if (value == 0 || cell == CellSpace::kUnwanted) {
    return {};
  }
  if (std::isnan(value)) {
    return weighed_.missing_factor();
  }
  const size_t place = sums_.place(cell);
  if (place == CellSums::kNone) {
    return too_many_sums(request_.max_sums);
  }
  sums_.sums()[place + measure * space_.machine_groups() + machine_group] += value;
  return {};
}

Status ChunkAggregator::add_to(uint64_t cell, size_t group, double hits) {
  for (size_t m = 0; m < space_.measures(); ++m) {
    const double value = weighed_.weights(m)[group] * hits;
    if (Status added = add_value(cell, m, weighed_.machine()[group], value); !added) {
      return added;
    }
  }
  return {};
}

// Some groups at a time, so that what is worked out about them stays in the nearest cache.
Status ChunkAggregator::add_groups(const ChunkZones& zones) {
  constexpr size_t kGroups = 1024;
  for (size_t first = 0; first < groups_.size; first += kGroups) {
    const size_t count = std::min(kGroups, groups_.size - first);
    if (!weighed_.weigh(groups_, zones, first, count)) {
      continue;
    }
    const std::span<const double> hits = std::span(groups_.hits).subspan(first, count);
    if (!weighed_.is_one_cell() && sums_.is_dense() && weighed_.has_every_factor() && !space_.has_wanted() &&
        !has_long_runs()) {
      add_groups_densely(hits);
      continue;
    }
    if (Status added = weighed_.is_one_cell() ? add_to_one_cell(hits) : add_groups(hits); !added) {
      return added;
    }
  }
  return {};
}

// Whether neighbours mostly fall into the same cell.
bool ChunkAggregator::has_long_runs() const {
  constexpr size_t kLong = 4;
  const std::vector<uint64_t>& cell = weighed_.first_cell();
  const std::vector<uint32_t>& machine = weighed_.machine();
  size_t runs = 1;
  for (size_t i = 1; i < weighed_.size(); ++i) {
    runs += cell[i] != cell[i - 1] || machine[i] != machine[i - 1] ? 1 : 0;
  }
  return runs * kLong < weighed_.size();
}

// An addition to memory waits for the one before it to the same place: runs of them are added up in registers.
Status ChunkAggregator::add_groups(std::span<const double> hits) {
  const std::vector<uint64_t>& cell = weighed_.first_cell();
  const std::vector<uint32_t>& machine = weighed_.machine();
  for (size_t from = 0; from < hits.size();) {
    size_t to = from + 1;
    while (to < hits.size() && cell[to] == cell[from] && machine[to] == machine[from]) {
      ++to;
    }
    for (size_t m = 0; m < space_.measures(); ++m) {
      const double sum =
          dot_product(std::span(weighed_.weights(m)).subspan(from, to - from), hits.subspan(from, to - from));
      if (Status added = add_value(cell[from], m, machine[from], sum); !added) {
        return added;
      }
    }
    from = to;
  }
  return {};
}

Status ChunkAggregator::add_to_one_cell(std::span<const double> hits) {
  for (size_t m = 0; m < space_.measures(); ++m) {
    const std::vector<double>& weights = weighed_.weights(m);
    const double sum = weighed_.is_one_weight() ? weights[0] * sum_of(hits) : dot_product(weights, hits);
    if (Status added = add_value(weighed_.first_cell()[0], m, weighed_.machine()[0], sum); !added) {
      return added;
    }
  }
  return {};
}

// Of other places no addition waits, and many of them are under way at once, however far away the sums are.
void ChunkAggregator::add_groups_densely(std::span<const double> hits) {
  const size_t width = space_.width();
  const uint64_t* const cell = weighed_.first_cell().data();
  const uint32_t* const machine = weighed_.machine().data();
  for (size_t m = 0; m < space_.measures(); ++m) {
    const double* const weights = weighed_.weights(m).data();
    double* const sums = sums_.sums() + m * space_.machine_groups();
    for (size_t i = 0; i < hits.size(); ++i) {
      sums[cell[i] * width + machine[i]] += weights[i] * hits[i];
    }
  }
  for (size_t i = 0; i < hits.size(); ++i) {
    sums_.touch(cell[i]);
  }
}

// Where all groups count alike, which of them a stack was seen in need not be read.
Status ChunkAggregator::add_to_one_cell(const Segment& segment, size_t chunk) {
  const bool is_one_weight = weighed_.is_one_weight();
  const Status read = is_one_weight ? segment.read_matrix(chunk, counts_, MatrixParts::kHits)
                                    : segment.read_matrix(chunk, matrix_);
  if (!read) {
    return read;
  }
  if (is_one_weight) {
    number_stacks(std::span(counts_.stack).first(counts_.size));
    sum_hits_by_place();
  } else {
    number_stacks(std::span(matrix_.stack).first(matrix_.size));
  }
  for (size_t m = 0; m < space_.measures(); ++m) {
    if (!is_one_weight) {
      sum_values_by_place(m);
    }
    if (Status added = add_values(m, is_one_weight ? weighed_.weights(m)[0] : 1); !added) {
      return added;
    }
  }
  return {};
}

void ChunkAggregator::number_stacks(std::span<const uint32_t> stacks) {
  const std::vector<bool>& selected = request_.filter[Column::kStack].flags();
  is_stack_selected_.clear();
  for (size_t i = 0; !selected.empty() && i < stacks.size(); ++i) {
    is_stack_selected_.push_back(IdSet::selects(selected, stacks[i]) ? 1 : 0);
  }
  const IdGrouping& grouping = request_.group[Column::kStack];
  if (grouping.is_each() || lists_ != nullptr) {
    stack_number_ = stacks;
    return;
  }
  numbers_.resize(stacks.size());
  const std::span<const uint32_t> table = grouping.table();
  for (size_t i = 0; i < stacks.size(); ++i) {
    numbers_[i] = group_number(table, stacks[i]);
  }
  stack_number_ = numbers_;
}

// A stack's multiples are few: a loop over them ends before the processor has learnt when. Differences of running sums need no
// loop for each stack.
void ChunkAggregator::sum_hits_by_place() {
  values_.resize(counts_.size);
  if (!counts_.is_by_stack) {
    for (size_t i = 0; i < counts_.size; ++i) {
      values_[i] = static_cast<double>(counts_.hits[i]);
    }
    return;
  }
  uint64_t sum = 0;
  for (uint64_t& hits : counts_.hits) {
    hits = sum += hits;
  }
  uint64_t before = 0;
  size_t multiples = 0;
  for (size_t i = 0; i < counts_.size; ++i) {
    multiples += counts_.multiples[i];
    const uint64_t after = multiples == 0 ? 0 : counts_.hits[multiples - 1];
    values_[i] = static_cast<double>(counts_.singles[i] + (after - before));
    before = after;
  }
}

void ChunkAggregator::sum_values_by_place(size_t measure) {
  values_.resize(matrix_.size);
  const double* weights = weighed_.weights(measure).data();
  double* values = values_.data();
  double sum = 0;
  for_each_entry(
      matrix_,
      [&](size_t i) {
        values[i] = sum = 0;
        return is_stack_selected(i);
      },
      [&](uint32_t group, double hits) { sum += weights[group] * hits; }, [&](size_t i) { values[i] = sum; });
}

// The values, each times `factor`, to the one cell of all groups.
Status ChunkAggregator::add_values(size_t measure, double factor) {
  const uint64_t first_cell = weighed_.first_cell()[0];
  const uint32_t machine = weighed_.machine()[0];
  if (!sums_.is_dense() || !weighed_.has_every_factor()) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!is_stack_selected(i)) {
        continue;
      }
      for (const uint32_t number : numbers_of(i)) {
        if (Status added = add_value(first_cell + number, measure, machine, values_[i] * factor); !added) {
          return added;
        }
      }
    }
    return {};
  }
  const size_t width = space_.width();
  const uint64_t first_of_part = space_.first_of_part(first_cell);
  const uint64_t within_part = space_.within_part(first_cell);
  double* const sums = sums_.sums() + measure * space_.machine_groups() + machine;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!is_stack_selected(i) || values_[i] == 0) {
      continue;
    }
    for (const uint32_t number : numbers_of(i)) {
      if (const uint64_t place = space_.place(within_part + number); place != CellSpace::kUnwanted) {
        const uint64_t cell = first_of_part + place;
        sums[cell * width] += values_[i] * factor;
        sums_.touch(cell);
      }
    }
  }
  return {};
}

void ChunkAggregator::add_densely() {
  const size_t width = space_.width();
  first_sum_.resize(weighed_.size());
  for (size_t group = 0; group < weighed_.size(); ++group) {
    first_sum_[group] = weighed_.first_cell()[group] * width + weighed_.machine()[group];
  }
  sums_.touch_all();
  for (size_t m = 0; m < space_.measures(); ++m) {
    const double* weights = weighed_.weights(m).data();
    const size_t* first_sum = first_sum_.data();
    double* const all_sums = sums_.sums() + m * space_.machine_groups();
    double* sums = nullptr;  // of the stack at hand, where it is selected
    for_each_entry(
        matrix_,
        [&](size_t i) {
          sums = all_sums + stack_number_[i] * width;
          return is_stack_selected(i);
        },
        [&](uint32_t group, double hits) { sums[first_sum[group]] += weights[group] * hits; }, [](size_t) {});
  }
}

// What the entries of a stack come to is worked out once, for all of its groups.
void ChunkAggregator::add_lists_densely() {
  const size_t groups = weighed_.size();
  first_sum_.resize(groups);
  within_part_.resize(groups);
  for (size_t group = 0; group < groups; ++group) {
    const uint64_t first_cell = weighed_.first_cell()[group];
    first_sum_[group] = space_.first_of_part(first_cell) * space_.width() + weighed_.machine()[group];
    within_part_[group] = space_.within_part(first_cell);
  }
  // A group is seen on a stack once; in a file that says otherwise, once among each of two runs.
  entry_group_.resize(2 * groups);
  entry_hits_.resize(2 * groups);
  values_.resize(2 * groups);
  sums_.touch_all();
  size_t entries = 0;
  for_each_entry(
      matrix_,
      [&](size_t i) {
        entries = 0;
        return is_stack_selected(i) && !numbers_of(i).empty();
      },
      [&](uint32_t group, double hits) {
        entry_group_[entries] = group;
        entry_hits_[entries++] = hits;
      },
      [&](size_t i) { add_entries(entries, numbers_of(i)); });
}

void ChunkAggregator::add_entries(size_t entries, std::span<const uint32_t> numbers) {
  const size_t width = space_.width();
  const uint32_t* const group = entry_group_.data();
  for (size_t m = 0; m < space_.measures(); ++m) {
    const double* const weights = weighed_.weights(m).data();
    double* const sums = sums_.sums() + m * space_.machine_groups();
    for (size_t i = 0; i < entries; ++i) {
      values_[i] = weights[group[i]] * entry_hits_[i];
    }
    for (const uint32_t number : numbers) {
      if (!space_.has_wanted()) {
        double* const sums_of_number = sums + number * width;
        for (size_t i = 0; i < entries; ++i) {
          sums_of_number[first_sum_[group[i]]] += values_[i];
        }
        continue;
      }
      for (size_t i = 0; i < entries; ++i) {
        const uint64_t place = space_.place(within_part_[group[i]] + number);
        if (place != CellSpace::kUnwanted) {
          sums[first_sum_[group[i]] + place * width] += values_[i];
        }
      }
    }
  }
}

Status ChunkAggregator::add_one_by_one() {
  Status status;
  std::span<const uint32_t> numbers;
  for_each_entry(
      matrix_,
      [&](size_t i) {
        numbers = numbers_of(i);
        return is_stack_selected(i) && !numbers.empty();
      },
      [&](uint32_t group, double hits) {
        for (size_t i = 0; i < numbers.size() && status; ++i) {
          status = add_to(weighed_.first_cell()[group] + numbers[i], group, hits);
        }
      },
      [](size_t) {});
  return status;
}

}  // namespace plimsoll::store
