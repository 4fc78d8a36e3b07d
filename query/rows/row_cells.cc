#include "query/rows/row_cells.h"

#include <algorithm>
#include <set>
#include <utility>

namespace plimsoll::query {
namespace {

// Of what no dimension is about: rows have number 0 there, all of them, so it is the first to get a place.
constexpr uint32_t kOnlyPlace = 1;

// Where rows are of frames, a code has two groups of stacks: those whose leaf it is, and those that it is on.
uint32_t self_group(uint32_t code) {
  return 2 * code;
}
uint32_t total_group(uint32_t code) {
  return 2 * code + 1;
}

uint64_t key_of(uint32_t frame_place, uint32_t text_place) {
  return uint64_t{frame_place} << 32U | text_place;
}

}  // namespace

uint32_t Places::add(uint32_t number) {
  const auto [entry, is_new] = places_.try_emplace(number, static_cast<uint32_t>(numbers_.size() + 1));
  if (is_new) {
    numbers_.push_back(number);
  }
  return entry->second;
}

uint32_t Places::of(uint32_t number) const {
  const auto found = places_.find(number);
  return found == places_.end() ? 0 : found->second;
}

std::vector<uint32_t> Places::by_number(size_t count) const {
  std::vector<uint32_t> places(count);
  for (size_t i = 0; i < numbers_.size() && count > 0; ++i) {
    places[numbers_[i]] = static_cast<uint32_t>(i + 1);
  }
  return places;
}

store::IdGrouping Places::places_of(const store::IdGrouping& grouping) const {
  std::vector<uint32_t> places;
  places.reserve(grouping.table().size());
  for (const uint32_t group : grouping.table()) {
    places.push_back(of(group));
  }
  return store::IdGrouping::by(std::move(places));
}

uint32_t Codes::add(uint32_t frame_place, uint32_t text_place) {
  return numbers_.try_emplace(key_of(frame_place, text_place), static_cast<uint32_t>(numbers_.size()))
      .first->second;
}

uint32_t Codes::of(uint32_t frame_place, uint32_t text_place) const {
  const auto found = numbers_.find(key_of(frame_place, text_place));
  return found == numbers_.end() ? kNone : found->second;
}

RowCells::RowCells(std::span<const RowKey> keys, bool has_totals, const Grouping& grouping,
                   const Snapshot& snapshot)
    : rows_(keys.size()), needs_stacks_(grouping.needs_stacks()), has_frames_(grouping.frames() != nullptr) {
  for (const Column column : kEntryColumns) {
    has_[column] = grouping.groups_by(column);
  }
  for (uint32_t row = 0; row < rows_; ++row) {
    const RowKey& key = keys[row];
    Groups groups;
    std::ranges::transform(kEntryColumns, groups.begin(),
                           [&](Column column) { return places_[column].add(key.group[column]); });
    const uint32_t code = codes_.add(frames_.add(key.frame), texts_.add(key.group[Column::kStack]));
    rows_of_[groups].push_back({code, row});
  }
  for (auto& [groups, rows] : rows_of_) {
    std::ranges::sort(rows, {}, &CodeRow::code);
  }
  if (needs_stacks_) {
    groups_of_stacks_ = store::IdGrouping::in_lists(list_codes(has_totals, grouping, snapshot));
  }
}

void RowCells::apply(store::AggregateRequest& request) const {
  bool has_several_cells = false;
  for (const Column column : kEntryColumns) {
    request.group[column] = places_[column].places_of(request.group[column]);
    has_several_cells = has_several_cells || (has_[column] && column != Column::kOrigin);
  }
  if (needs_stacks_) {
    request.group[Column::kStack] = groups_of_stacks_;
    request.wanted = has_several_cells ? wanted_cells() : std::vector<store::CellKey>();
  }
}

std::optional<RowPlace> RowCells::place_of(uint32_t origin_group, const store::CellKey& cell,
                                           Last& last) const {
  Groups groups;
  std::ranges::transform(kEntryColumns, groups.begin(), [&](Column column) {
    return !has_[column] ? kOnlyPlace : column == Column::kOrigin ? origin_group : cell[column];
  });
  if (groups != last.groups) {
    const auto found = rows_of_.find(groups);
    last.groups = groups;
    last.rows = found == rows_of_.end() ? std::span<const CodeRow>() : found->second;
  }
  const uint32_t code = needs_stacks_ ? cell[Column::kStack] / 2 : 0;
  const auto row = std::ranges::lower_bound(last.rows, code, {}, &CodeRow::code);
  if (row == last.rows.end() || row->code != code) {
    return std::nullopt;
  }
  return RowPlace{row->row, !has_frames_ || cell[Column::kStack] == self_group(code),
                  !has_frames_ || cell[Column::kStack] == total_group(code)};
}

// Of which codes each stack is. Stacks with the same shown frames in the same order, and leaf and text, share a list.
store::StackGroups RowCells::list_codes(bool has_totals, const Grouping& grouping,
                                        const Snapshot& snapshot) const {
  const FrameKeys* const frames = grouping.frames();
  const size_t stacks = snapshot.dictionaries.stacks.size();
  const bool has_tree = frames != nullptr && has_totals;
  const store::KeyTree tree = has_tree ? frames->stacks().key_tree(frames_.numbers()) : store::KeyTree{};
  const std::span<const uint32_t> self_keys =
      frames != nullptr ? frames->stacks().self_keys() : std::span<const uint32_t>();
  const std::vector<uint32_t> place_of_key = frames_.by_number(frames == nullptr ? 0 : frames->size());
  std::vector<uint32_t> text_place(grouping.groups_by_stack() ? stacks : 0);
  for (const auto& [stack, number] : grouping.stack_numbers()) {
    text_place[stack] = texts_.of(number);
  }
  using ListKey = std::array<uint32_t, 3>;  // of the tree of keys, place of the leaf's key, place of the text
  boost::unordered_flat_map<ListKey, uint32_t, boost::hash<ListKey>> lists;
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> plain_list(std::max<size_t>(1, tree.classes.size()), kNone);
  store::StackGroups of_stacks;
  of_stacks.list_of_stack.resize(stacks);
  for (size_t stack = 0; stack < stacks; ++stack) {
    const uint32_t tree_class = has_tree ? tree.class_of_stack[stack] : 0;
    const uint32_t leaf = frames == nullptr ? 0 : place_of_key[self_keys[stack]];
    const uint32_t text = text_place.empty() ? kOnlyPlace : text_place[stack];
    // Most stacks have a list that their tree alone decides; those need not be looked up.
    const bool is_plain = text_place.empty() && leaf == 0;
    if (is_plain && plain_list[tree_class] != kNone) {
      of_stacks.list_of_stack[stack] = plain_list[tree_class];
      continue;
    }
    const auto [list, is_new] =
        lists.try_emplace({tree_class, leaf, text}, static_cast<uint32_t>(lists.size()));
    if (is_new) {
      add_list(tree, tree_class, leaf, text, of_stacks);
    }
    of_stacks.list_of_stack[stack] = list->second;
    if (is_plain) {
      plain_list[tree_class] = list->second;
    }
  }
  return of_stacks;
}

void RowCells::add_list(const store::KeyTree& tree, uint32_t tree_class, uint32_t leaf, uint32_t text,
                        store::StackGroups& lists) const {
  std::vector<uint32_t>& groups = lists.groups;
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
  lists.first.push_back(static_cast<uint32_t>(groups.size()));
}

// Without their origins.
std::vector<store::CellKey> RowCells::wanted_cells() const {
  std::set<store::CellKey> cells;
  for (const auto& [groups, rows] : rows_of_) {
    store::CellKey key;
    for (size_t i = 0; i < groups.size(); ++i) {
      const Column column = kEntryColumns[i];
      key[column] = has_[column] && column != Column::kOrigin ? groups[i] : 0;
    }
    for (const CodeRow& row : rows) {
      for (const uint32_t group : {self_group(row.code), total_group(row.code)}) {
        key[Column::kStack] = group;
        cells.insert(key);
      }
    }
  }
  return {cells.begin(), cells.end()};
}

}  // namespace plimsoll::query
