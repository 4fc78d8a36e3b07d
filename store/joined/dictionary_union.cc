#include "store/joined/dictionary_union.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proto/event_names.h"
#include "proto/squares.h"
#include "store/dictionaries/key_index.h"

namespace plimsoll::store {
namespace {

// Gives each entry that is new in a block its ID in the union.
template <typename Entry, typename Intern>
void add_new(const AppendOnlyList<Entry>& entries, AppendOnlyList<uint32_t>& ids, Intern intern) {
  std::vector<uint32_t> added;
  added.reserve(entries.size() - ids.size());
  for (size_t i = ids.size(); i < entries.size(); ++i) {
    added.push_back(intern(entries[i]));
  }
  ids.append(added);
}

// 0: there is none.
uint32_t event_called(std::string_view name, const Dictionaries& block) {
  for (uint32_t id = 1; id < block.events.size(); ++id) {
    if (block.events[id].name == name) {
      return id;
    }
  }
  return 0;
}

// Events of an origin are beside each other.
bool have_an_origin_in_common(uint32_t one, uint32_t other, const Dictionaries& block) {
  uint32_t of_one = 0;
  uint32_t of_other = 0;
  for (const OriginEventEntry& entry : block.origin_events) {
    of_one = entry.event == one ? entry.origin : of_one;
    of_other = entry.event == other ? entry.origin : of_other;
    if (of_one != 0 && of_one == of_other) {
      return true;
    }
  }
  return false;
}

// Rows of before a renaming count with those of after it, unless a profile has both: an origin has each event once.
std::string name_in_union(const EventEntry& event, const Dictionaries& block) {
  std::string name = wire::current_event_name(event.name, event.unit);
  if (name == event.name) {
    return name;
  }
  const std::string_view squared = wire::squared_event(event.name);
  const std::string_view plain = squared.empty() ? event.name : squared;
  const uint32_t former = event_called(plain, block);
  const uint32_t current = event_called(wire::current_event_name(plain, event.unit), block);
  const bool are_two = former != 0 && current != 0 && have_an_origin_in_common(former, current, block);
  return are_two ? event.name : name;
}

// A program may call an event of its own, in another unit or of another kind, as another one was renamed: that is no damage.
Result<uint32_t> intern_renamed(const EventEntry& event, const Dictionaries& block, DictionaryIndex& index) {
  EventEntry entry = event;
  entry.name = name_in_union(event, block);
  auto id = index.intern(entry);
  if (!id && entry.name != event.name) {
    entry.name = event.name;
    id = index.intern(entry);
  }
  const std::string_view squared = wire::squared_event(event.name);
  if (!id && !wire::other_event_name(squared.empty() ? event.name : squared).name.empty()) {
    entry.name = wire::own_event_name(event.name);
    id = index.intern(entry);
  }
  return id;
}

Status add_events(const Dictionaries& block, AppendOnlyList<uint32_t>& ids, DictionaryIndex& index) {
  for (size_t i = ids.size(); i < block.events.size(); ++i) {
    const auto id = intern_renamed(block.events[i], block, index);
    if (!id) {
      return propagate(id);
    }
    ids.push_back(*id);
  }
  return {};
}

LocationEntry translated(LocationEntry entry, const Translation& ids) {
  entry.owner = (entry.kind == wire::JIT ? ids[Column::kWorkload] : ids.binaries)[entry.owner];
  return entry;
}

void add_locations(const AppendOnlyList<LocationEntry>& entries, Translation& ids, DictionaryIndex& index) {
  std::vector<uint32_t> added;
  added.reserve(entries.size() - ids.locations.size());
  for (size_t i = ids.locations.size(); i < entries.size(); ++i) {
    if (const size_t ahead = i + kLookUpsAhead; ahead < entries.size() && entries[ahead].name.empty()) {
      __builtin_prefetch(index.place_of(translated(entries[ahead], ids)));
    }
    added.push_back(index.intern(translated(entries[i], ids)));
  }
  ids.locations.append(added);
}

// What is new among the stacks of a block, most of which other blocks have too: a look-up of each would be a wait for memory. Those of one
// depth are looked up side by side, since the key of each has its parent's ID; then the others are added in their order, so that
// a node stands beside its parent.
class NewStacks {
 public:
  NewStacks(std::span<const StackNode> stacks, Translation& ids, DictionaryIndex& index)
      : known_(ids[Column::kStack].span()),
        new_(stacks.subspan(known_.size())),
        locations_(ids.locations.span()),
        index_(index),
        ids_(new_.size()) {}

  Status check() const {
    for (size_t i = 0; i < new_.size(); ++i) {
      if (new_[i].parent >= known_.size() + i || new_[i].location >= locations_.size()) {
        return fail(ErrorCode::kCorrupt,
                    "stack {} is of stack {} and location {}, which do not come before it", known_.size() + i,
                    new_[i].parent, new_[i].location);
      }
    }
    return {};
  }

  std::vector<uint32_t> add() {
    find_known();
    expect_ids();
    for (size_t i = 0; i < new_.size(); ++i) {
      if (const size_t ahead = i + kLookUpsAhead; ahead < new_.size() && ids_[ahead] >= first_added_) {
        __builtin_prefetch(index_.place_of(node(ahead)));
      }
      if (ids_[i] < first_added_) {
        continue;
      }
      ids_[i] = index_.intern(node(i));
    }
    return std::move(ids_);
  }

 private:
  void find_known() {
    const std::vector<uint32_t> order = by_depth();
    // What has been prefetched; without a parent where that was not looked up yet.
    std::array<StackNode, kLookUpsAhead> ahead{};
    for (size_t i = 0; i < order.size() + kLookUpsAhead; ++i) {
      StackNode& slot = ahead[i % kLookUpsAhead];
      if (i >= kLookUpsAhead) {
        const uint32_t stack = order[i - kLookUpsAhead];
        const bool is_late = slot.parent == 0 && new_[stack].parent != 0;
        if (!is_late || has_key(stack)) {
          ids_[stack] = index_.find(is_late ? node(stack) : slot);
        }
      }
      if (i < order.size()) {
        slot = node(order[i]);
        __builtin_prefetch(index_.place_of(slot));
      }
    }
  }

  // The IDs that the others will get, where none comes twice: what is looked up ahead needs its parent's.
  void expect_ids() {
    first_added_ = static_cast<uint32_t>(index_.entries().stacks.size());
    uint32_t next = first_added_;
    for (uint32_t& id : ids_) {
      id = id == 0 ? next++ : id;
    }
  }

  // Stacks with fewer new ancestors first; a counting sort.
  std::vector<uint32_t> by_depth() const {
    std::vector<uint32_t> depths(new_.size());
    std::vector<uint32_t> places{0};  // by depth: how many stacks are less deep
    for (size_t i = 0; i < new_.size(); ++i) {
      const uint32_t parent = new_[i].parent;
      depths[i] = parent < known_.size() ? 0 : depths[parent - known_.size()] + 1;
      places.resize(std::max<size_t>(places.size(), depths[i] + 1));
      ++places[depths[i]];
    }
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});
    std::vector<uint32_t> order(new_.size());
    for (uint32_t i = 0; i < new_.size(); ++i) {
      order[places[depths[i]]++] = i;
    }
    return order;
  }

  StackNode node(size_t i) const { return {parent_of(i), locations_[new_[i].location]}; }
  uint32_t parent_of(size_t i) const {
    const uint32_t parent = new_[i].parent;
    return parent < known_.size() ? known_[parent] : ids_[parent - known_.size()];
  }

  // Whether its parent is in the union by now. Where the parent is new, so is it.
  bool has_key(size_t i) const { return new_[i].parent == 0 || parent_of(i) != 0; }

  const std::span<const uint32_t> known_;  // IDs in the union, of the stacks before
  const std::span<const StackNode> new_;
  const std::span<const uint32_t> locations_;
  DictionaryIndex& index_;
  std::vector<uint32_t> ids_;  // of the new ones; 0: not known yet
  uint32_t first_added_ = 0;
};

Status add_stacks(const AppendOnlyList<StackNode>& stacks, Translation& ids, DictionaryIndex& index) {
  NewStacks new_stacks(stacks.span(), ids, index);
  if (const Status checked = new_stacks.check(); !checked) {
    return checked;
  }
  ids[Column::kStack].append(new_stacks.add());
  return {};
}

// Without what made them.
IdSet ids_of(const IdSet& set, const AppendOnlyList<uint32_t>& ids) {
  const std::vector<bool>& flags = set.flags();
  std::vector<bool> translated(set.is_all() ? 0 : ids.size());
  for (size_t i = 0; i < translated.size(); ++i) {
    translated[i] = IdSet::selects(flags, ids[i]);
  }
  return IdSet::of_flags(std::move(translated));
}

// Conditions are about values, which an entry has in its block as in the union: they stay as they are.
IdSet set_of(const IdSet& set, const AppendOnlyList<uint32_t>& ids) {
  const IdSet translated = ids_of(set, ids);
  const IdSelection* const made = set.selection();
  return made == nullptr ? translated
                         : translated.made_by({.among = ids_of(made->among, ids),
                                               .conditions = made->conditions,
                                               .middle = made->middle});
}

std::vector<uint32_t> groups_of(std::span<const uint32_t> groups, const AppendOnlyList<uint32_t>& ids) {
  std::vector<uint32_t> translated(groups.empty() ? 0 : ids.size());
  for (size_t i = 0; i < translated.size(); ++i) {
    translated[i] = group_number(groups, ids[i]);
  }
  return translated;
}

// NaN, as an origin without a factor.
std::vector<double> factors_of(std::span<const double> factors, const AppendOnlyList<uint32_t>& origins) {
  std::vector<double> translated(factors.empty() ? 0 : origins.size());
  for (size_t i = 0; i < translated.size(); ++i) {
    translated[i] =
        origins[i] < factors.size() ? factors[origins[i]] : std::numeric_limits<double>::quiet_NaN();
  }
  return translated;
}

Factors factors_of(const Factors& factors, const Translation& translation) {
  Factors translated(translation[Column::kEvent].size());
  for (size_t event = 0; event < translated.size(); ++event) {
    if (const uint32_t id = translation[Column::kEvent][event]; id < factors.size()) {
      translated[event] = IdTable<double>(factors_of(factors[id].values(), translation[Column::kOrigin]));
    }
  }
  return translated;
}

StackGroups stack_groups_of(const StackGroups& groups, const AppendOnlyList<uint32_t>& stacks) {
  StackGroups translated{{}, groups.first, groups.groups};
  // A list without groups, for stacks that have none.
  translated.first.push_back(groups.first.back());
  const auto none = static_cast<uint32_t>(groups.first.size() - 1);
  translated.list_of_stack.reserve(stacks.size());
  for (const uint32_t stack : stacks) {
    translated.list_of_stack.push_back(stack < groups.list_of_stack.size() ? groups.list_of_stack[stack]
                                                                           : none);
  }
  return translated;
}

IdGrouping grouping_of(const IdGrouping& grouping, const AppendOnlyList<uint32_t>& ids) {
  if (grouping.is_each()) {
    return IdGrouping::by({ids.begin(), ids.end()});
  }
  return grouping.lists() == nullptr ? IdGrouping::by(groups_of(grouping.table(), ids))
                                     : IdGrouping::in_lists(stack_groups_of(*grouping.lists(), ids));
}

}  // namespace

RowFilter translate(const RowFilter& filter, const Translation& translation) {
  RowFilter translated;
  for (const Column column : kColumns) {
    translated[column] = set_of(filter[column], translation[column]);
  }
  return translated;
}

AggregateRequest translate(const AggregateRequest& request, const Translation& translation) {
  AggregateRequest translated;
  translated.filter = translate(request.filter, translation);
  for (const Column column : kColumns) {
    translated.group[column] = grouping_of(request.group[column], translation[column]);
  }
  translated.wanted = request.wanted;
  translated.machine_group =
      IdTable<uint32_t>(groups_of(request.machine_group.values(), translation[Column::kOrigin]));
  for (const Factors& factors : request.measures) {
    translated.measures.push_back(factors_of(factors, translation));
  }
  translated.max_sums = request.max_sums;
  return translated;
}

Row translate(const Row& row, const Translation& translation) {
  Row translated{.ids = {}, .hits = row.hits};
  for (const Column column : kColumns) {
    translated[column] = translation[column][row[column]];
  }
  return translated;
}

bool has_renamed_rows(const Dictionaries& block) {
  std::vector<bool> is_renamed(block.events.size());
  bool is_any = false;
  for (size_t id = 1; id < block.events.size(); ++id) {
    const EventEntry& event = block.events[id];
    is_renamed[id] = wire::current_event_name(event.name, event.unit) != event.name;
    is_any = is_any || is_renamed[id];
  }
  return is_any && std::ranges::any_of(block.origin_events, [&](const OriginEventEntry& entry) {
           return is_renamed[entry.event];
         });
}

Status DictionaryUnion::add(const Dictionaries& block, Member& member) {
  Translation& ids = member.translation;
  // Of the first block all is new; of the others little, for which there is no more room than it needs.
  if (entries().stacks.size() == 1) {
    index_.reserve(sizes_of(block));
  }
  if (const Status added = add_events(block, ids[Column::kEvent], index_); !added) {
    return added;
  }
  const auto intern = [&](const auto& entry) { return index_.intern(entry); };
  add_new(block.machines, ids.machines, intern);
  add_new(block.workloads, ids[Column::kWorkload], intern);
  add_new(block.threads, ids[Column::kThread],
          [&](const std::string& name) { return index_.intern_thread(name); });
  add_new(block.label_sets, ids[Column::kLabels],
          [&](const std::string& encoded) { return index_.intern_label_set(encoded); });
  add_new(block.binaries, ids.binaries, intern);
  add_locations(block.locations, ids, index_);
  if (const Status added = add_stacks(block.stacks, ids, index_); !added) {
    return added;
  }
  add_origins(block, member);
  return {};
}

void DictionaryUnion::add_origins(const Dictionaries& block, Member& member) {
  Translation& ids = member.translation;
  for (size_t i = ids[Column::kOrigin].size(); i < block.origins.size(); ++i) {
    OriginEntry entry = block.origins[i];
    entry.machine = ids.machines[entry.machine];
    ids[Column::kOrigin].push_back(index_.add(entry));
    const auto origin = static_cast<uint32_t>(i);
    add_events_of(origin, block.origin_events, member.origin_events, ids);
    add_events_of(origin, block.origin_squares, member.origin_squares, ids);
  }
}

// They are in the order of their origins.
void DictionaryUnion::add_events_of(uint32_t origin, const AppendOnlyList<OriginEventEntry>& events,
                                    size_t& next, const Translation& translation) {
  for (; next < events.size() && events[next].origin == origin; ++next) {
    OriginEventEntry entry = events[next];
    entry.origin = translation[Column::kOrigin][entry.origin];
    entry.event = translation[Column::kEvent][entry.event];
    index_.add(entry);
  }
}

}  // namespace plimsoll::store
