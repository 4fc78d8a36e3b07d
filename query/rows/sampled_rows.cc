#include "query/rows/sampled_rows.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/run_both.h"
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

// Immutable once made: any thread.
class RowCells {
 public:
  RowCells(std::span<const RowKey> keys, size_t events, const Grouping& grouping, const Snapshot& snapshot,
           RowMeasures measures)
      : measures_(measures),
        count_(keys.size()),
        events_(events),
        needs_stacks_(grouping.needs_stacks()),
        has_frames_(grouping.frames() != nullptr) {
    for (uint32_t row = 0; row < count_; ++row) {
      const RowKey& key = keys[row];
      const Groups groups{origins_.add(key.origin), workloads_.add(key.workload), threads_.add(key.thread)};
      const uint32_t code = codes_.add(frames_.add(key.frame), texts_.add(key.stack));
      rows_of_[groups].push_back({code, row});
    }
    for (auto& [groups, rows] : rows_of_) {
      std::ranges::sort(rows, {}, &CodeRow::code);
    }
    if (needs_stacks_) {
      list_codes(grouping, snapshot);
    }
  }

  // Of what no dimension is about: rows have number 0 there, all of them, so it is the first to get a place.
  static constexpr uint32_t kOnlyPlace = 1;

  // Places of origin, workload, thread.
  using Groups = std::array<uint32_t, 3>;
  // A row of some groups; they ascend by their codes.
  struct CodeRow {
    uint32_t code = 0;
    uint32_t row = 0;
  };
  // What a cell counts for.
  struct Place {
    uint32_t row = 0;
    uint32_t event = 0;
    bool is_self = false;
    bool is_total = false;

    RowValues of(double value) const { return {is_self ? value : 0, is_total ? value : 0}; }
  };

  // Of a request's groups, leaves those of the rows apart.
  void apply(store::AggregateRequest& request) const {
    const bool has_workloads = !request.workload_group.empty();
    const bool has_threads = !request.thread_group.empty();
    origins_.apply(request.origin_group);
    workloads_.apply(request.workload_group);
    threads_.apply(request.thread_group);
    if (needs_stacks_) {
      request.stack_groups = groups_of_stacks_;
      request.wanted = has_workloads || has_threads ? cells_of_rows(has_workloads, has_threads)
                                                    : std::vector<store::CellKey>();
    }
  }

  const std::vector<CodeRow>& of(const Groups& groups) const {
    const auto found = rows_of_.find(groups);
    return found == rows_of_.end() ? no_rows_ : found->second;
  }

  // Absent: of none of these rows.
  std::optional<Place> place_of(const store::CellKey& cell, const std::vector<CodeRow>& rows) const {
    const uint32_t code = needs_stacks_ ? cell.stack / 2 : 0;
    const auto row = std::ranges::lower_bound(rows, code, {}, &CodeRow::code);
    if (row == rows.end() || row->code != code) {
      return std::nullopt;
    }
    return Place{row->row, cell.event, !has_frames_ || cell.stack == self_group(code),
                 !has_frames_ || cell.stack == total_group(code)};
  }

  const RowMeasures& measures() const { return measures_; }
  size_t count() const { return count_; }
  size_t events() const { return events_; }

 private:
  // Where rows are of frames, a code has two groups of stacks: those whose leaf it is, and those that it is on.
  static uint32_t self_group(uint32_t code) { return 2 * code; }
  static uint32_t total_group(uint32_t code) { return 2 * code + 1; }

  // Of which codes each stack is. Stacks with the same shown frames in the same order, and leaf and text, share a list.
  void list_codes(const Grouping& grouping, const Snapshot& snapshot) {
    const FrameKeys* const frames = grouping.frames();
    const size_t stacks = snapshot.dictionaries.stacks.size();
    const bool has_tree = frames != nullptr && measures_.totals;
    const store::KeyTree tree = has_tree ? frames->stacks().key_tree(frames_.numbers()) : store::KeyTree{};
    const std::vector<uint32_t> place_of_key = frames_.by_number(frames == nullptr ? 0 : frames->size());
    std::vector<uint32_t> text_place(grouping.groups_by_stack() ? stacks : 0);
    for (const auto& [stack, number] : grouping.stack_numbers()) {
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
    if (!has_frames_) {
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
  std::vector<store::CellKey> cells_of_rows(bool has_workloads, bool has_threads) const {
    std::set<store::CellKey> cells;
    for (const auto& [groups, rows] : rows_of_) {
      const auto [origin, workload, thread] = groups;
      for (const CodeRow& row : rows) {
        for (const uint32_t group : {self_group(row.code), total_group(row.code)}) {
          cells.insert(
              {.workload = has_workloads ? workload : 0, .thread = has_threads ? thread : 0, .stack = group});
        }
      }
    }
    return {cells.begin(), cells.end()};
  }

  const RowMeasures measures_;
  const size_t count_;
  const size_t events_;
  const bool needs_stacks_;
  const bool has_frames_;
  Places origins_, workloads_, threads_, frames_, texts_;
  Codes codes_;
  boost::unordered_flat_map<Groups, std::vector<CodeRow>, boost::hash<Groups>> rows_of_;
  const std::vector<CodeRow> no_rows_;
  store::StackGroups groups_of_stacks_;  // where rows are of stacks
};

namespace {

// Sums a request by unit, and what it has of the rows by unit.
class Splitting {
 public:
  Splitting(const RowCells& rows, const store::AggregateRequest& request, const OriginUnits& units,
            const Snapshot& snapshot)
      : rows_(rows), request_(request), units_(units), snapshot_(snapshot) {
    if (!rows.measures().samples) {
      request_.measures.resize(kValue + 1);
    }
  }

  // Two passes, at once.
  Status run() {
    std::array<Status, 2> done;
    run_both([&] { done[0] = sum_whole(); }, [&] { done[1] = sum_rows(); });
    return !done[0]   ? propagate(done[0], "summing up by machine, for margins")
           : !done[1] ? propagate(done[1], "splitting rows by machine for their margins")
                      : Status();
  }

  // Of all that was selected, what each unit has.
  template <typename Add>
  void for_each_whole(const Add& add) const {
    for (size_t i = 0; i < whole_.size(); ++i) {
      const store::CellKey& cell = whole_.keys[i];
      if (const uint32_t unit = whole_parts_[cell.origin].unit; unit != OriginUnits::kNone) {
        add(unit, cell.event, whole_.sum(i, kValue), samples_of(whole_, i));
      }
    }
  }

  // Of the rows; units ascend.
  template <typename Add>
  void for_each_place(const Add& add) const {
    const bool has_workloads = !request_.workload_group.empty();
    const bool has_threads = !request_.thread_group.empty();
    RowCells::Groups last_groups{};  // of none: places begin with 1
    const std::vector<RowCells::CodeRow>* rows = &rows_.of(last_groups);
    for (size_t i = 0; i < cells_.size(); ++i) {
      const store::CellKey& cell = cells_.keys[i];
      const Part& part = parts_[cell.origin];
      const RowCells::Groups groups{part.origin_place, has_workloads ? cell.workload : RowCells::kOnlyPlace,
                                    has_threads ? cell.thread : RowCells::kOnlyPlace};
      // Cells with the same groups stand together.
      if (groups != last_groups) {
        rows = &rows_.of(groups);
        last_groups = groups;
      }
      const auto place = rows_.place_of(cell, *rows);
      if (place && part.unit != OriginUnits::kNone) {  // else its event never ran: there are no hits
        add(part.unit, *place, cells_.sum(i, kValue), samples_of(cells_, i));
      }
    }
  }

 private:
  // What origins are kept apart by.
  struct Part {
    uint32_t unit = 0;
    uint32_t origin_place = 0;
    auto operator<=>(const Part&) const = default;
  };

  Status sum_whole() {
    store::AggregateRequest request = request_;
    request.origin_group.clear();
    whole_parts_ = split_by_unit(request.origin_group);
    request.workload_group.clear();
    request.thread_group.clear();
    return aggregate(request, whole_);
  }

  Status sum_rows() {
    store::AggregateRequest request = request_;
    rows_.apply(request);
    parts_ = split_by_unit(request.origin_group);
    return aggregate(request, cells_);
  }

  Status aggregate(const store::AggregateRequest& request, store::Cells& into) const {
    auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    into = std::move(*cells);
    return {};
  }

  double samples_of(const store::Cells& cells, size_t cell) const {
    return rows_.measures().samples ? cells.sum(cell, kSamples) : 0;
  }

  // The parts by the number that they have as groups.
  std::vector<Part> split_by_unit(std::vector<uint32_t>& origin_group) const {
    const std::vector<uint32_t>& units = units_.of_origin;
    const auto part_of = [&](size_t origin) {
      return Part{units[origin], origin_group.empty() ? RowCells::kOnlyPlace : origin_group[origin]};
    };
    std::set<Part> ordered;
    for (size_t origin = 0; origin < units.size(); ++origin) {
      ordered.insert(part_of(origin));
    }
    std::vector<Part> parts(ordered.begin(), ordered.end());
    std::vector<uint32_t> group(units.size());
    for (size_t origin = 0; origin < units.size(); ++origin) {
      group[origin] = static_cast<uint32_t>(std::ranges::lower_bound(parts, part_of(origin)) - parts.begin());
    }
    origin_group = std::move(group);
    return parts;
  }

  const RowCells& rows_;
  store::AggregateRequest request_;
  const OriginUnits& units_;
  const Snapshot& snapshot_;
  std::vector<Part> whole_parts_, parts_;  // by group of origins
  store::Cells whole_, cells_;
};

// The sums of one unit at a time, on their way to the rows.
class UnitSums {
 public:
  explicit UnitSums(SampledRows& sampled) : sampled_(sampled), sums_(sampled.rows.size()) {}

  // Units ascend.
  void add(uint32_t unit, size_t row, const RowValues& value, const RowValues& samples) {
    if (unit != unit_) {
      hand_out();
      unit_ = unit;
    }
    UnitValues& sums = sums_[row];
    if (sums.samples == RowValues() && sums.value == RowValues()) {
      touched_.push_back(row);
    }
    sums.value += value;
    sums.samples += samples;
  }

  // After the last.
  void hand_out() {
    for (const size_t row : touched_) {
      UnitValues values = std::exchange(sums_[row], {});
      values.unit = unit_;
      sampled_.rows[row].push_back(values);
    }
    touched_.clear();
  }

 private:
  SampledRows& sampled_;
  std::vector<UnitValues> sums_;  // as sampled_.rows
  std::vector<size_t> touched_;
  uint32_t unit_ = 0;
};

}  // namespace

UnitTable sum_of(const UnitTable& a, const UnitTable& b) {
  UnitTable sum = a;
  std::ranges::transform(sum.values, b.values, sum.values.begin(), std::plus<>());
  std::ranges::transform(sum.whole, b.whole, sum.whole.begin(), std::plus<>());
  return sum;
}

RowSplitter::RowSplitter(std::span<const RowKey> keys, size_t events, const Grouping& grouping,
                         const Snapshot& snapshot, RowMeasures measures)
    : rows_(std::make_unique<const RowCells>(keys, events, grouping, snapshot, measures)),
      snapshot_(snapshot) {}

RowSplitter::~RowSplitter() = default;

Result<SampledRows> RowSplitter::split(const store::AggregateRequest& request,
                                       const OriginUnits& units) const {
  Splitting splitting(*rows_, request, units, snapshot_);
  if (const Status done = splitting.run(); !done) {
    return propagate(done);
  }
  const size_t events = rows_->events();
  SampledRows sampled{.events = events,
                      .rows = std::vector<std::vector<UnitValues>>(rows_->count() * events),
                      .whole = std::vector(events, std::vector<double>(units.count)),
                      .whole_samples = std::vector(events, std::vector<double>(units.count))};
  splitting.for_each_whole([&](uint32_t unit, uint32_t event, double value, double samples) {
    sampled.whole[event][unit] += value;
    sampled.whole_samples[event][unit] += samples;
  });
  UnitSums sums(sampled);
  splitting.for_each_place([&](uint32_t unit, const RowCells::Place& place, double value, double samples) {
    sums.add(unit, place.row * events + place.event, place.of(value), place.of(samples));
  });
  sums.hand_out();
  return sampled;
}

Result<UnitTable> RowSplitter::tabulate(const store::AggregateRequest& request,
                                        const OriginUnits& units) const {
  const size_t parts = rows_->measures().totals ? 2 : 1;
  UnitTable table;
  table.columns = parts * rows_->count() + 1;
  table.has_totals = rows_->measures().totals;
  if (units.count > request.max_sums / table.columns) {
    return fail(ErrorCode::kTooLarge, "a table of {} rows by {} machines has more than {} sums",
                rows_->count(), units.count, request.max_sums);
  }
  Splitting splitting(*rows_, request, units, snapshot_);
  if (const Status done = splitting.run(); !done) {
    return propagate(done);
  }
  table.values.resize(units.count * table.columns);
  table.whole.resize(units.count);
  splitting.for_each_whole([&](uint32_t unit, uint32_t /*event*/, double value, double /*samples*/) {
    table.whole[unit] += value;
  });
  splitting.for_each_place(
      [&](uint32_t unit, const RowCells::Place& place, double value, double /*samples*/) {
        double* const values = &table.values[unit * table.columns + place.row * parts];
        const RowValues of_row = place.of(value);
        values[0] += of_row.self;
        if (parts == 2) {
          values[1] += of_row.total;
        }
      });
  return table;
}

}  // namespace plimsoll::query
