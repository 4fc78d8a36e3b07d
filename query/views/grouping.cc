#include "query/views/grouping.h"

#include <algorithm>

namespace plimsoll::query {

uint32_t Grouping::Interner::number(const std::string& text) {
  const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (is_new) {
    texts_.push_back(text);
  }
  return entry->second;
}

bool Grouping::groups_by(DimensionSource source) const {
  return std::ranges::any_of(by_, [&](const Dimension& dimension) { return dimension.source == source; });
}

// Numbers the entries of a dictionary by their values in the dimensions of one source.
template <typename ValueOf>
void Grouping::number_entries(DimensionSource source, size_t entries, std::vector<uint32_t>& group,
                              std::vector<GroupKey>& keys, ValueOf value_of) {
  keys.assign(1, GroupKey());
  if (!groups_by(source)) {
    return;
  }
  std::map<GroupKey, uint32_t> numbers;
  group.assign(entries, 0);
  for (uint32_t id = 1; id < entries; ++id) {
    GroupKey key;
    for (const Dimension& dimension : by_) {
      if (dimension.source == source) {
        key.push_back(interner_.number(value_of(dimension.name, id)));
      }
    }
    const auto [entry, is_new] = numbers.try_emplace(key, static_cast<uint32_t>(keys.size()));
    if (is_new) {
      keys.push_back(key);
    }
    group[id] = entry->second;
  }
}

void Grouping::add_groups(store::AggregateRequest& request) {
  const store::Dictionaries& dictionaries = snapshot_.dictionaries;
  number_entries(DimensionSource::kOrigin, dictionaries.origins.size(), request.origin_group, origin_keys_,
                 [&](std::string_view name, uint32_t id) { return origin_value(snapshot_, name, id); });
  number_entries(DimensionSource::kWorkload, dictionaries.workloads.size(), request.workload_group,
                 workload_keys_,
                 [&](std::string_view name, uint32_t id) { return workload_value(snapshot_, name, id); });
  number_entries(DimensionSource::kThread, dictionaries.threads.size(), request.thread_group, thread_keys_,
                 [&](std::string_view, uint32_t id) { return dictionaries.threads[id]; });
}

// The group of a cell in one frame, in the order of by_.
GroupKey Grouping::key_of(const store::CellKey& cell, const GroupKey& frame_key) const {
  const auto* origin = origin_keys_[cell.origin].data();
  const auto* workload = workload_keys_[cell.workload].data();
  const auto* thread = thread_keys_[cell.thread].data();
  const auto* frame = frame_key.data();
  GroupKey key;
  for (const Dimension& dimension : by_) {
    switch (dimension.source) {
      case DimensionSource::kOrigin:
        key.push_back(*origin++);
        break;
      case DimensionSource::kWorkload:
        key.push_back(*workload++);
        break;
      case DimensionSource::kThread:
        key.push_back(*thread++);
        break;
      case DimensionSource::kFrame:
      case DimensionSource::kStack:
        key.push_back(*frame++);
        break;
    }
  }
  return key;
}

uint32_t Grouping::stack_number(uint32_t stack) {
  const auto [entry, is_new] = stack_numbers_.try_emplace(stack, 0);
  if (is_new) {
    entry->second = interner_.number(stack_value(snapshot_, stack));
  }
  return entry->second;
}

// The part of a key that frames and stacks decide.
GroupKey Grouping::frame_key(FramePlace place, uint32_t stack) {
  GroupKey key;
  for (const Dimension& dimension : by_) {
    if (dimension.source == DimensionSource::kFrame) {
      key.push_back(interner_.number(frame_value(snapshot_, dimension.name, place)));
    } else if (dimension.source == DimensionSource::kStack) {
      key.push_back(stack_number(stack));
    }
  }
  return key;
}

// Keys of all frames of a location, innermost first; made once for each location, or, where the whole stack is part of
// the key, for each stack that it is on.
const std::vector<GroupKey>& Grouping::location_keys(uint32_t location, uint32_t stack) {
  auto& keys = location_keys_[{location, groups_by(DimensionSource::kStack) ? stack : 0}];
  for (uint32_t depth = 0; keys.size() < frames_of(snapshot_, location); ++depth) {
    keys.push_back(frame_key({location, depth}, stack));
  }
  return keys;
}

uint32_t Grouping::leaf_of(const store::CellKey& cell) const {
  return cell.stack == 0 ? 0 : snapshot_.dictionaries.stacks[cell.stack].location;
}

GroupKey Grouping::self_key(const store::CellKey& cell) {
  // Without frames in the key, it is not worth remembering by location.
  return groups_by(DimensionSource::kFrame) ? key_of(cell, location_keys(leaf_of(cell), cell.stack).front())
                                            : key_of(cell, frame_key({leaf_of(cell), 0}, cell.stack));
}

std::set<GroupKey> Grouping::total_keys(const store::CellKey& cell) {
  if (!groups_by(DimensionSource::kFrame)) {
    return {self_key(cell)};
  }
  std::set<GroupKey> on_stack;
  if (cell.stack == 0) {
    on_stack.insert(location_keys(0, 0).front());
  }
  for (uint32_t node = cell.stack; node != 0; node = snapshot_.dictionaries.stacks[node].parent) {
    const auto& keys = location_keys(snapshot_.dictionaries.stacks[node].location, cell.stack);
    on_stack.insert(keys.begin(), keys.end());
  }
  std::set<GroupKey> whole;
  for (const GroupKey& key : on_stack) {
    whole.insert(key_of(cell, key));
  }
  return whole;
}

std::vector<TableColumn> Grouping::columns() const {
  std::vector<TableColumn> columns;
  for (const Dimension& dimension : by_) {
    columns.push_back({std::string(dimension.name), ""});
  }
  return columns;
}

void Grouping::add_texts(const GroupKey& key, std::vector<Value>& row) const {
  for (const uint32_t number : key) {
    row.emplace_back(interner_.text(number));
  }
}

bool Grouping::less(const GroupKey& a, const GroupKey& b) const {
  return std::ranges::lexicographical_compare(
      a, b, [&](uint32_t x, uint32_t y) { return interner_.text(x) < interner_.text(y); });
}

}  // namespace plimsoll::query
