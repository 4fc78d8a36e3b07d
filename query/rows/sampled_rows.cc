#include "query/rows/sampled_rows.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "query/selection/selection.h"

namespace plimsoll::query {
namespace {

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

// What the rows of a view say about stacks, each once: a frame, the text of a whole stack, both, or nothing at all.
class Codes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t add(uint32_t frame_place, uint32_t text_place) {
    return numbers_.try_emplace(key(frame_place, text_place), static_cast<uint32_t>(numbers_.size()))
        .first->second;
  }
  uint32_t of(uint32_t frame_place, uint32_t text_place) const {
    const auto found = numbers_.find(key(frame_place, text_place));
    return found == numbers_.end() ? kNone : found->second;
  }

 private:
  static uint64_t key(uint32_t frame_place, uint32_t text_place) {
    return uint64_t{frame_place} << 32U | text_place;
  }
  boost::unordered_flat_map<uint64_t, uint32_t> numbers_;
};

}  // namespace

class RowSplitter::Impl {
 public:
  Impl(std::span<const RowKey> keys, size_t events, Grouping& grouping, const Snapshot& snapshot,
       RowMeasures measures)
      : grouping_(grouping), snapshot_(snapshot), measures_(measures), rows_(keys.size()), events_(events) {
    by_row_.resize(rows_ * events);
    for (uint32_t row = 0; row < rows_; ++row) {
      const RowKey& key = keys[row];
      const Groups groups{origins_.add(key.origin), workloads_.add(key.workload), threads_.add(key.thread)};
      const uint32_t code = codes_.add(frames_.add(key.frame), texts_.add(key.stack));
      rows_of_[groups].push_back({code, row});
    }
    for (auto& [groups, rows] : rows_of_) {
      std::ranges::sort(rows, {}, &CodeRow::code);
    }
    if (grouping.needs_stacks()) {
      list_codes();
    }
  }

  Result<SampledRows> split(const store::AggregateRequest& request, const OriginUnits& units) {
    SampledRows sampled{.events = events_,
                        .rows = std::vector<std::vector<UnitValues>>(rows_ * events_),
                        .whole = std::vector(events_, std::vector<double>(units.count)),
                        .whole_samples = std::vector(events_, std::vector<double>(units.count))};
    const auto add_whole = [&](uint32_t unit, uint32_t event, double value, double samples) {
      sampled.whole[event][unit] += value;
      sampled.whole_samples[event][unit] += samples;
    };
    uint32_t last_unit = 0;
    const auto add = [&](uint32_t unit, const Place& place, double value, double samples) {
      if (unit != last_unit) {
        hand_out(last_unit, sampled);
        last_unit = unit;
      }
      UnitValues& sums = touched(place.row * events_ + place.event);
      sums.value += place.of(value);
      sums.samples += place.of(samples);
    };
    if (const Status added = add_all(request, units, add_whole, add); !added) {
      return propagate(added);
    }
    hand_out(last_unit, sampled);
    return sampled;
  }

  Result<UnitTable> tabulate(const store::AggregateRequest& request, const OriginUnits& units) {
    const size_t parts = measures_.totals ? 2 : 1;
    UnitTable table;
    table.columns = parts * rows_ + 1;
    table.has_totals = measures_.totals;
    if (units.count > request.max_sums / table.columns) {
      return fail(ErrorCode::kTooLarge, "a table of {} rows by {} machines has more than {} sums", rows_,
                  units.count, request.max_sums);
    }
    table.values.resize(units.count * table.columns);
    table.whole.resize(units.count);
    const auto add_whole = [&](uint32_t unit, uint32_t /*event*/, double value, double /*samples*/) {
      table.whole[unit] += value;
    };
    const auto add = [&](uint32_t unit, const Place& place, double value, double /*samples*/) {
      double* const values = &table.values[unit * table.columns + place.row * parts];
      const RowValues of_row = place.of(value);
      values[0] += of_row.self;
      if (parts == 2) {
        values[1] += of_row.total;
      }
    };
    const Status added = add_all(request, units, add_whole, add);
    return added ? Result<UnitTable>(std::move(table)) : propagate(added);
  }

 private:
  // Of what no dimension is about: rows have number 0 there, all of them, so it is the first to get a place.
  static constexpr uint32_t kOnlyPlace = 1;

  using Groups = std::array<uint32_t, 3>;  // places of origin, workload, thread
  struct CodeRow {
    uint32_t code = 0;
    uint32_t row = 0;
  };
  struct Part {
    uint32_t unit = 0;
    uint32_t origin_place = 0;
    auto operator<=>(const Part&) const = default;
  };

  // What a cell counts for.
  struct Place {
    uint32_t row = 0;
    uint32_t event = 0;
    bool is_self = false;
    bool is_total = false;

    RowValues of(double value) const { return {is_self ? value : 0, is_total ? value : 0}; }
  };

  // Where rows are of frames, a code has two groups of stacks: those whose leaf it is, and those that it is on.
  static uint32_t self_group(uint32_t code) { return 2 * code; }
  static uint32_t total_group(uint32_t code) { return 2 * code + 1; }

  // Units ascend.
  template <typename AddWhole, typename Add>
  Status add_all(store::AggregateRequest request, const OriginUnits& units, const AddWhole& add_whole,
                 const Add& add) {
    units_ = &units;
    if (!measures_.samples) {
      request.measures.resize(kValue + 1);
    }
    if (const Status summed = sum_whole(request, add_whole); !summed) {
      return propagate(summed, "summing up by machine, for margins");
    }
    const Status summed = sum_rows(std::move(request), add);
    return summed ? summed : propagate(summed, "splitting rows by machine for their margins");
  }

  template <typename AddWhole>
  Status sum_whole(store::AggregateRequest request, const AddWhole& add_whole) {
    request.origin_group.clear();
    split_by_unit(request.origin_group);
    request.workload_group.clear();
    request.thread_group.clear();
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    for (size_t i = 0; i < cells->size(); ++i) {
      const store::CellKey& cell = cells->keys[i];
      if (const uint32_t unit = parts_[cell.origin].unit; unit != OriginUnits::kNone) {
        add_whole(unit, cell.event, cells->sum(i, kValue), samples_of(*cells, i));
      }
    }
    return {};
  }

  template <typename Add>
  Status sum_rows(store::AggregateRequest request, const Add& add) {
    has_workloads_ = !request.workload_group.empty();
    has_threads_ = !request.thread_group.empty();
    origins_.apply(request.origin_group);
    workloads_.apply(request.workload_group);
    threads_.apply(request.thread_group);
    split_by_unit(request.origin_group);
    if (grouping_.needs_stacks()) {
      request.stack_groups = groups_of_stacks_;
      request.wanted = has_workloads_ || has_threads_ ? cells_of_rows() : std::vector<store::CellKey>();
    }
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    for (size_t i = 0; i < cells->size(); ++i) {
      const store::CellKey& cell = cells->keys[i];
      const uint32_t unit = parts_[cell.origin].unit;
      const std::optional<Place> place = place_of(cell);
      if (place && unit != OriginUnits::kNone) {  // else its event never ran: there are no hits
        add(unit, *place, cells->sum(i, kValue), samples_of(*cells, i));
      }
    }
    return {};
  }

  double samples_of(const store::Cells& cells, size_t cell) const {
    return measures_.samples ? cells.sum(cell, kSamples) : 0;
  }

  void split_by_unit(std::vector<uint32_t>& origin_group) {
    const std::vector<uint32_t>& units = units_->of_origin;
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

  // Of which codes each stack is. Stacks with the same shown frames in the same order, and leaf and text, share a list.
  void list_codes() {
    const FrameKeys* const frames = grouping_.frames();
    const size_t stacks = snapshot_.dictionaries.stacks.size();
    const bool has_tree = frames != nullptr && measures_.totals;
    const store::KeyTree tree = has_tree ? frames->stacks().key_tree(frames_.numbers()) : store::KeyTree{};
    const std::vector<uint32_t> place_of_key = frames_.by_number(frames == nullptr ? 0 : frames->size());
    std::vector<uint32_t> text_place(grouping_.groups_by_stack() ? stacks : 0);
    for (const auto& [stack, number] : grouping_.stack_numbers()) {
      text_place[stack] = texts_.of(number);
    }
    using ListKey =
        std::array<uint32_t, 3>;  // of the tree of keys, place of the leaf's key, place of the text
    boost::unordered_flat_map<ListKey, uint32_t, boost::hash<ListKey>> lists;
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> plain_list(std::max<size_t>(1, tree.classes.size()), kNone);
    groups_of_stacks_.list_of_stack.resize(stacks);
    for (size_t stack = 0; stack < stacks; ++stack) {
      const uint32_t tree_class = has_tree ? tree.class_of_stack[stack] : 0;
      const uint32_t leaf = frames == nullptr ? 0 : place_of_key[frames->stacks().self_keys()[stack]];
      const uint32_t text = text_place.empty() ? kOnlyPlace : text_place[stack];
      // Most stacks have a list that their tree alone decides; those need not be looked up.
      const bool is_plain = text_place.empty() && leaf == 0;
      if (is_plain && plain_list[tree_class] != kNone) {
        groups_of_stacks_.list_of_stack[stack] = plain_list[tree_class];
        continue;
      }
      const auto [list, is_new] =
          lists.try_emplace({tree_class, leaf, text}, static_cast<uint32_t>(lists.size()));
      if (is_new) {
        add_list(tree, tree_class, leaf, text);
      }
      groups_of_stacks_.list_of_stack[stack] = list->second;
      if (is_plain) {
        plain_list[tree_class] = list->second;
      }
    }
  }

  void add_list(const store::KeyTree& tree, uint32_t tree_class, uint32_t leaf, uint32_t text) {
    std::vector<uint32_t>& groups = groups_of_stacks_.groups;
    const auto add = [&](uint32_t frame_place, uint32_t (*group)(uint32_t)) {
      if (const uint32_t code = codes_.of(frame_place, text); code != Codes::kNone) {
        groups.push_back(group(code));
      }
    };
    if (grouping_.frames() == nullptr) {
      add(kOnlyPlace, total_group);
    } else if (leaf != 0) {
      add(leaf, self_group);
    }
    for (uint32_t node = tree_class; node != 0; node = tree.classes[node].parent) {
      // Places of frames begin with 1, those of the tree with 0.
      add(tree.classes[node].key + 1, total_group);
    }
    groups_of_stacks_.first.push_back(static_cast<uint32_t>(groups.size()));
  }

  // Without their origins.
  std::vector<store::CellKey> cells_of_rows() const {
    std::set<store::CellKey> cells;
    for (const auto& [groups, rows] : rows_of_) {
      const auto [origin, workload, thread] = groups;
      for (const CodeRow& row : rows) {
        for (const uint32_t group : {self_group(row.code), total_group(row.code)}) {
          cells.insert({.workload = has_workloads_ ? workload : 0,
                        .thread = has_threads_ ? thread : 0,
                        .stack = group});
        }
      }
    }
    return {cells.begin(), cells.end()};
  }

  // Absent: of no row.
  std::optional<Place> place_of(const store::CellKey& cell) {
    const std::vector<CodeRow>& rows =
        rows_of({parts_[cell.origin].origin_place, has_workloads_ ? cell.workload : kOnlyPlace,
                 has_threads_ ? cell.thread : kOnlyPlace});
    const uint32_t code = grouping_.needs_stacks() ? cell.stack / 2 : 0;
    const auto row = std::ranges::lower_bound(rows, code, {}, &CodeRow::code);
    if (row == rows.end() || row->code != code) {
      return std::nullopt;
    }
    const bool has_frames = grouping_.frames() != nullptr;
    return Place{row->row, cell.event, !has_frames || cell.stack == self_group(code),
                 !has_frames || cell.stack == total_group(code)};
  }

  // Cells with the same groups stand together.
  const std::vector<CodeRow>& rows_of(const Groups& groups) {
    if (last_rows_ == nullptr || groups != last_groups_) {
      const auto found = rows_of_.find(groups);
      last_groups_ = groups;
      last_rows_ = found == rows_of_.end() ? &no_rows_ : &found->second;
    }
    return *last_rows_;
  }

  UnitValues& touched(size_t row) {
    UnitValues& sums = by_row_[row];
    if (sums.samples == RowValues() && sums.value == RowValues()) {
      touched_.push_back(row);
    }
    return sums;
  }

  void hand_out(uint32_t unit, SampledRows& sampled) {
    for (const size_t row : touched_) {
      UnitValues values = std::exchange(by_row_[row], {});
      values.unit = unit;
      sampled.rows[row].push_back(values);
    }
    touched_.clear();
  }

  Grouping& grouping_;
  const Snapshot& snapshot_;
  const RowMeasures measures_;
  const size_t rows_;
  const size_t events_;
  Places origins_, workloads_, threads_, frames_, texts_;
  Codes codes_;
  boost::unordered_flat_map<Groups, std::vector<CodeRow>, boost::hash<Groups>> rows_of_;  // by code
  const std::vector<CodeRow> no_rows_;
  Groups last_groups_{};
  const std::vector<CodeRow>* last_rows_ = nullptr;  // of last_groups_
  store::StackGroups groups_of_stacks_;              // where rows are of stacks
  bool has_workloads_ = false;                       // rows are by dimensions of them
  bool has_threads_ = false;
  const OriginUnits* units_ = nullptr;  // of the request at hand
  std::vector<Part> parts_;             // by group of origins
  std::vector<UnitValues> by_row_;      // of the unit at hand; as in SampledRows
  std::vector<size_t> touched_;
};

UnitTable sum_of(const UnitTable& a, const UnitTable& b) {
  UnitTable sum = a;
  std::ranges::transform(sum.values, b.values, sum.values.begin(), std::plus<>());
  std::ranges::transform(sum.whole, b.whole, sum.whole.begin(), std::plus<>());
  return sum;
}

RowSplitter::RowSplitter(std::span<const RowKey> keys, size_t events, Grouping& grouping,
                         const Snapshot& snapshot, RowMeasures measures)
    : impl_(std::make_unique<Impl>(keys, events, grouping, snapshot, measures)) {}

RowSplitter::RowSplitter(RowSplitter&&) noexcept = default;

RowSplitter::~RowSplitter() = default;

Result<SampledRows> RowSplitter::split(const store::AggregateRequest& request, const OriginUnits& units) {
  return impl_->split(request, units);
}

Result<UnitTable> RowSplitter::tabulate(const store::AggregateRequest& request, const OriginUnits& units) {
  return impl_->tabulate(request, units);
}

}  // namespace plimsoll::query
