#include "query/rows/row_sums.h"

#include <algorithm>
#include <array>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "query/selection/selection.h"

namespace plimsoll::query {
namespace {

// Cells with the same groups of entries, one after the other.
class Run {
 public:
  Run(const store::Cells& cells, size_t first) : cells_(cells), first_(first), last_(first) {
    while (last_ < cells.size() && is_same(cells.keys[last_], cells.keys[first])) {
      ++last_;
    }
  }

  size_t first() const { return first_; }
  size_t last() const { return last_; }
  size_t size() const { return last_ - first_; }
  const store::CellKey& groups() const { return cells_.keys[first_]; }

 private:
  static bool is_same(const store::CellKey& a, const store::CellKey& b) {
    return a.event == b.event && a.origin == b.origin && a.workload == b.workload && a.thread == b.thread;
  }

  const store::Cells& cells_;
  size_t first_;
  size_t last_;
};

class RowSummation {
 public:
  RowSummation(const store::Cells& cells, size_t events, Grouping& grouping, const Snapshot& snapshot)
      : cells_(cells), grouping_(grouping), stacks_(snapshot.dictionaries.stacks.size()) {
    summed_.events = events;
    if (const FrameKeys* frames = grouping.frames()) {
      sums_of_key_.resize(frames->size());
    }
  }

  SummedRows run() {
    for (size_t first = 0; first < cells_.size();) {
      const Run run(cells_, first);
      first = run.last();
      if (grouping_.groups_by_stack()) {
        add_by_stack(run);
      } else if (grouping_.frames() == nullptr) {
        add_whole(run);
      } else if (run.size() * kNodesPerCell > stacks_) {
        project(run);
      } else {
        walk(run);
      }
    }
    return std::move(summed_);
  }

 private:
  // Fewer cells than one of so many nodes are cheaper to walk up from.
  static constexpr size_t kNodesPerCell = 64;

  static RowKey key_of(const store::CellKey& groups) {
    return {.origin = groups.origin, .workload = groups.workload, .thread = groups.thread};
  }

  RowValues& row(const RowKey& key, uint32_t event) {
    const auto [entry, is_new] = number_of_.try_emplace(key, static_cast<uint32_t>(summed_.keys.size()));
    if (is_new) {
      summed_.keys.push_back(key);
      summed_.values.resize(summed_.values.size() + summed_.events);
    }
    return summed_.values[entry->second * summed_.events + event];
  }

  void add(RowKey key, uint32_t event, uint32_t frame, RowValues values) {
    key.frame = frame;
    RowValues& row_values = row(key, event);
    row_values.self += values.self;
    row_values.total += values.total;
  }

  void add_whole(const Run& run) {
    double sum = 0;
    for (size_t i = run.first(); i < run.last(); ++i) {
      sum += cells_.sum(i, kValue);
    }
    add(key_of(run.groups()), run.groups().event, 0, {sum, sum});
  }

  void add_by_stack(const Run& run) {
    for (size_t i = run.first(); i < run.last(); ++i) {
      RowKey key = key_of(run.groups());
      key.stack = grouping_.stack_number(cells_.keys[i].stack);
      if (grouping_.frames() == nullptr) {
        const double value = cells_.sum(i, kValue);
        add(key, run.groups().event, 0, {value, value});
      } else {
        add_frames(i);
        hand_out(key, run.groups().event);
      }
    }
  }

  // All nodes at once.
  void project(const Run& run) {
    by_stack_.assign(stacks_, 0);
    for (size_t i = run.first(); i < run.last(); ++i) {
      by_stack_[cells_.keys[i].stack] += cells_.sum(i, kValue);
    }
    const store::StackProjection& projection = grouping_.frames()->stacks();
    const std::vector<double> self = projection.self(by_stack_);
    const std::vector<double> total = projection.total(by_stack_);
    for (uint32_t key = 0; key < total.size(); ++key) {
      if (self[key] != 0 || total[key] != 0) {
        add(key_of(run.groups()), run.groups().event, key, {self[key], total[key]});
      }
    }
  }

  // Each cell's stack, from its leaf up.
  void walk(const Run& run) {
    for (size_t i = run.first(); i < run.last(); ++i) {
      add_frames(i);
    }
    hand_out(key_of(run.groups()), run.groups().event);
  }

  void add_frames(size_t cell) {
    const uint32_t stack = cells_.keys[cell].stack;
    const double value = cells_.sum(cell, kValue);
    const store::StackProjection& projection = grouping_.frames()->stacks();
    touched(projection.self_keys()[stack]).self += value;
    projection.for_each_key(stack, [&](uint32_t key) { touched(key).total += value; });
  }

  RowValues& touched(uint32_t key) {
    if (sums_of_key_[key] == RowValues()) {
      touched_.push_back(key);
    }
    return sums_of_key_[key];
  }

  void hand_out(const RowKey& groups, uint32_t event) {
    for (const uint32_t key : touched_) {
      // A key may have been touched twice: by a value of 0.
      if (const RowValues values = std::exchange(sums_of_key_[key], {}); values != RowValues()) {
        add(groups, event, key, values);
      }
    }
    touched_.clear();
  }

  const store::Cells& cells_;
  Grouping& grouping_;
  const size_t stacks_;
  SummedRows summed_;
  boost::unordered_flat_map<RowKey, uint32_t, boost::hash<RowKey>> number_of_;
  std::vector<RowValues> sums_of_key_;
  std::vector<uint32_t> touched_;
  std::vector<double> by_stack_;
};

// Numbers from 1 for a few of many; 0 for the others.
class Places {
 public:
  uint32_t add(uint32_t number) {
    const auto [entry, is_new] = places_.try_emplace(number, static_cast<uint32_t>(numbers_.size() + 1));
    if (is_new) {
      numbers_.push_back(number);
    }
    return entry->second;
  }
  uint32_t of(uint32_t number) const {
    const auto found = places_.find(number);
    return found == places_.end() ? 0 : found->second;
  }
  const std::vector<uint32_t>& numbers() const { return numbers_; }
  // Of each number below `count`.
  std::vector<uint32_t> by_number(size_t count) const {
    std::vector<uint32_t> places(count);
    for (size_t i = 0; i < numbers_.size() && count > 0; ++i) {
      places[numbers_[i]] = static_cast<uint32_t>(i + 1);
    }
    return places;
  }

  // Of groups by ID, only the few stay apart.
  void apply(std::vector<uint32_t>& groups) const {
    for (uint32_t& group : groups) {
      group = of(group);
    }
  }

 private:
  boost::unordered_flat_map<uint32_t, uint32_t> places_;
  std::vector<uint32_t> numbers_;
};

class RowSampling {
 public:
  RowSampling(std::span<const RowKey> keys, size_t events, const MachineSample& sample, Grouping& grouping,
              const Snapshot& snapshot)
      : sample_(sample), grouping_(grouping), snapshot_(snapshot), rows_(keys.size()), events_(events) {
    by_row_.resize(rows_ * events);
    for (uint32_t row = 0; row < rows_; ++row) {
      const RowKey& key = keys[row];
      const Groups groups{origins_.add(key.origin), workloads_.add(key.workload), threads_.add(key.thread),
                          stacks_.add(key.stack)};
      const uint32_t combination =
          combinations_.try_emplace(groups, static_cast<uint32_t>(combinations_.size())).first->second;
      row_of_.emplace(place_of(combination, frames_.add(key.frame)), row);
    }
    if (grouping.needs_stacks()) {
      classify_stacks();
    }
  }

  // May be called for several requests, one after the other.
  Result<SampledRows> run(store::AggregateRequest request) {
    sampled_ = {.events = events_,
                .rows = std::vector<std::vector<UnitValues>>(rows_ * events_),
                .whole = std::vector(events_, std::vector<double>(sample_.units())),
                .whole_samples = std::vector(events_, std::vector<double>(sample_.units()))};
    split(request);
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells, "splitting rows by machine for their margins");
    }
    for (size_t i = 0; i < cells->size(); ++i) {
      add(cells->keys[i], cells->sum(i, kValue), cells->sum(i, kSamples));
      // Groups of origins ascend by unit.
      if (i + 1 == cells->size() || unit_of(cells->keys[i + 1]) != unit_of(cells->keys[i])) {
        hand_out(unit_of(cells->keys[i]));
      }
    }
    return std::move(sampled_);
  }

 private:
  // Of what no dimension is about: rows have number 0 there, all of them, so it is the first to get a place.
  static constexpr uint32_t kOnlyPlace = 1;
  static constexpr uint32_t kNone = UINT32_MAX;

  using Groups = std::array<uint32_t, 4>;  // places of origin, workload, thread, stack
  static uint64_t place_of(uint32_t combination, uint32_t frame_place) {
    return uint64_t{combination} << 32U | frame_place;
  }
  using StackClass =
      std::array<uint32_t, 3>;  // of the tree of keys, place of the leaf's key, place of the text
  struct Part {
    uint32_t unit = 0;
    uint32_t origin_place = 0;
    auto operator<=>(const Part&) const = default;
  };

  uint32_t unit_of(const store::CellKey& cell) const { return parts_[cell.origin].unit; }

  void split(store::AggregateRequest& request) {
    has_workloads_ = !request.workload_group.empty();
    has_threads_ = !request.thread_group.empty();
    origins_.apply(request.origin_group);
    workloads_.apply(request.workload_group);
    threads_.apply(request.thread_group);
    split_by_unit(request.origin_group);
    request.by_stack = false;
    request.stack_group = class_of_stack_;
  }

  void split_by_unit(std::vector<uint32_t>& origin_group) {
    const std::vector<uint32_t>& units = sample_.unit_of_origin();
    const auto part_of = [&](size_t origin) {
      return Part{units[origin], origin_group.empty() ? kOnlyPlace : origin_group[origin]};
    };
    std::set<Part> parts;
    for (size_t origin = 0; origin < units.size(); ++origin) {
      parts.insert(part_of(origin));
    }
    parts_.assign(parts.begin(), parts.end());
    std::vector<uint32_t> group(units.size());
    for (size_t origin = 0; origin < units.size(); ++origin) {
      group[origin] =
          static_cast<uint32_t>(std::ranges::lower_bound(parts_, part_of(origin)) - parts_.begin());
    }
    origin_group = std::move(group);
  }

  void classify_stacks() {
    const FrameKeys* frames = grouping_.frames();
    if (frames != nullptr) {
      tree_ = frames->stacks().key_tree(frames_.numbers());
    }
    const size_t stacks = snapshot_.dictionaries.stacks.size();
    std::vector<uint32_t> text_place(grouping_.groups_by_stack() ? stacks : 0);
    for (const auto& [stack, number] : grouping_.stack_numbers()) {
      text_place[stack] = stacks_.of(number);
    }
    const std::vector<uint32_t> place_of_key = frames_.by_number(frames == nullptr ? 0 : frames->size());
    boost::unordered_flat_map<StackClass, uint32_t, boost::hash<StackClass>> numbers;
    // Most stacks are of a class that their tree alone decides; those need not be looked up.
    std::vector<uint32_t> plain_class(std::max<size_t>(1, tree_.classes.size()), kNone);
    class_of_stack_.resize(stacks);
    for (size_t stack = 0; stack < stacks; ++stack) {
      const StackClass stack_class{frames == nullptr ? 0 : tree_.class_of_stack[stack],
                                   frames == nullptr ? 0 : place_of_key[frames->stacks().self_keys()[stack]],
                                   text_place.empty() ? kOnlyPlace : text_place[stack]};
      const auto [tree_class, self_place, text] = stack_class;
      const bool is_plain = text_place.empty() && self_place == 0;
      if (is_plain && plain_class[tree_class] != kNone) {
        class_of_stack_[stack] = plain_class[tree_class];
        continue;
      }
      const auto [entry, is_new] = numbers.try_emplace(stack_class, static_cast<uint32_t>(classes_.size()));
      if (is_new) {
        classes_.push_back(stack_class);
      }
      class_of_stack_[stack] = entry->second;
      if (is_plain) {
        plain_class[tree_class] = entry->second;
      }
    }
  }

  // Cells with the same groups stand together.
  std::optional<uint32_t> combination_of(const Groups& groups) {
    if (groups != last_groups_) {
      const auto found = combinations_.find(groups);
      last_groups_ = groups;
      last_combination_ = found == combinations_.end() ? std::nullopt : std::optional(found->second);
    }
    return last_combination_;
  }

  void add(const store::CellKey& cell, double value, double samples) {
    const Part& part = parts_[cell.origin];
    if (part.unit == MachineSample::kNone) {
      return;  // its event never ran: there are no hits
    }
    sampled_.whole[cell.event][part.unit] += value;
    sampled_.whole_samples[cell.event][part.unit] += samples;
    const auto [tree_class, self_place, text_place] =
        classes_.empty() ? StackClass{0, 0, kOnlyPlace} : classes_[cell.stack];
    const auto combination = combination_of({part.origin_place, has_workloads_ ? cell.workload : kOnlyPlace,
                                             has_threads_ ? cell.thread : kOnlyPlace, text_place});
    if (!combination) {
      return;
    }
    if (grouping_.frames() == nullptr) {
      add_to(*combination, kOnlyPlace, {value, value}, {samples, samples}, cell.event);
      return;
    }
    if (self_place != 0) {
      add_to(*combination, self_place, {value, 0}, {samples, 0}, cell.event);
    }
    for (uint32_t node = tree_class; node != 0; node = tree_.classes[node].parent) {
      // Places of frames begin with 1, those of the tree with 0.
      add_to(*combination, tree_.classes[node].key + 1, {0, value}, {0, samples}, cell.event);
    }
  }

  void add_to(uint32_t combination, uint32_t frame_place, RowValues value, RowValues samples,
              uint32_t event) {
    const auto found = row_of_.find(place_of(combination, frame_place));
    if (found == row_of_.end()) {
      return;
    }
    const size_t row = found->second * events_ + event;
    UnitValues& sums = by_row_[row];
    if (sums.samples == RowValues() && sums.value == RowValues()) {
      touched_.push_back(row);
    }
    sums.value += value;
    sums.samples += samples;
  }

  void hand_out(uint32_t unit) {
    for (const size_t row : touched_) {
      UnitValues values = std::exchange(by_row_[row], {});
      values.unit = unit;
      sampled_.rows[row].push_back(values);
    }
    touched_.clear();
  }

  const MachineSample& sample_;
  Grouping& grouping_;
  const Snapshot& snapshot_;
  const size_t rows_;
  const size_t events_;
  Places origins_, workloads_, threads_, stacks_, frames_;
  boost::unordered_flat_map<Groups, uint32_t, boost::hash<Groups>> combinations_;
  Groups last_groups_{};
  std::optional<uint32_t> last_combination_;
  boost::unordered_flat_map<uint64_t, uint32_t> row_of_;  // by combination and place of a frame key
  bool has_workloads_ = false;                            // rows are by dimensions of them
  bool has_threads_ = false;
  std::vector<Part> parts_;  // by group of origins
  store::KeyTree tree_;
  std::vector<uint32_t> class_of_stack_;  // empty where rows are not of stacks
  std::vector<StackClass> classes_;
  SampledRows sampled_;
  std::vector<UnitValues> by_row_;  // of the unit at hand; as in SampledRows
  std::vector<size_t> touched_;
};

// Both ascend by unit, as their sum does.
std::vector<UnitValues> sum_of(const std::vector<UnitValues>& a, const std::vector<UnitValues>& b) {
  std::vector<UnitValues> sum;
  std::ranges::merge(a, b, std::back_inserter(sum), {}, &UnitValues::unit, &UnitValues::unit);
  size_t kept = 0;
  for (const UnitValues& unit : sum) {
    if (kept > 0 && sum[kept - 1].unit == unit.unit) {
      sum[kept - 1].value += unit.value;
      sum[kept - 1].samples += unit.samples;
    } else {
      sum[kept++] = unit;
    }
  }
  sum.resize(kept);
  return sum;
}

}  // namespace

SummedRows sum_rows(const store::Cells& cells, size_t events, Grouping& grouping, const Snapshot& snapshot) {
  return RowSummation(cells, events, grouping, snapshot).run();
}

SampledRows sum_of(const SampledRows& a, const SampledRows& b) {
  SampledRows sum = a;
  const auto add = [](std::vector<std::vector<double>>& to, const std::vector<std::vector<double>>& from) {
    for (size_t event = 0; event < to.size(); ++event) {
      std::ranges::transform(to[event], from[event], to[event].begin(), std::plus<>());
    }
  };
  add(sum.whole, b.whole);
  add(sum.whole_samples, b.whole_samples);
  for (size_t row = 0; row < sum.rows.size(); ++row) {
    sum.rows[row] = sum_of(a.rows[row], b.rows[row]);
  }
  return sum;
}

SummedRows first_rows(const SummedRows& rows, std::vector<uint32_t> places, size_t count,
                      const std::function<bool(uint32_t, uint32_t)>& before) {
  const auto last = places.begin() + static_cast<ptrdiff_t>(std::min(places.size(), count));
  std::partial_sort(places.begin(), last, places.end(), before);
  places.erase(last, places.end());
  SummedRows first{.events = rows.events, .keys = {}, .values = {}};
  for (const uint32_t row : places) {
    first.keys.push_back(rows.keys[row]);
    for (size_t event = 0; event < rows.events; ++event) {
      first.values.push_back(rows.of(row, event));
    }
  }
  return first;
}

Result<SampledRows> sample_rows(const store::AggregateRequest& request, std::span<const RowKey> keys,
                                size_t events, const MachineSample& sample, Grouping& grouping,
                                const Snapshot& snapshot) {
  return RowSampling(keys, events, sample, grouping, snapshot).run(request);
}

Result<std::array<SampledRows, 2>> sample_rows_of_two(
    const std::array<const store::AggregateRequest*, 2>& requests, std::span<const RowKey> keys,
    size_t events, const MachineSample& sample, Grouping& grouping, const Snapshot& snapshot) {
  RowSampling sampling(keys, events, sample, grouping, snapshot);
  std::array<SampledRows, 2> sampled;
  for (size_t i = 0; i < requests.size(); ++i) {
    auto of_one = sampling.run(*requests[i]);
    if (!of_one) {
      return propagate(of_one);
    }
    sampled[i] = std::move(*of_one);
  }
  return sampled;
}

}  // namespace plimsoll::query
