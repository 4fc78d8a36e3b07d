#include "store/contents/dictionary_union.h"

#include <limits>

namespace plimsoll::store {
namespace {

// Nothing else is done with a new entry.
constexpr auto kKeep = [](uint32_t /*id*/) { return Status(); };

// Gives each entry that is new in a block its ID in the union.
template <typename Entry, typename Intern>
Status add_new(const AppendOnlyList<Entry>& entries, AppendOnlyList<uint32_t>& ids, Intern intern) {
  ids.reserve(entries.size());
  for (size_t i = ids.size(); i < entries.size(); ++i) {
    const Result<uint32_t> id = intern(entries[i]);
    if (!id) {
      return propagate(id);
    }
    ids.push_back(*id);
  }
  return {};
}

std::vector<bool> flags_of(const std::vector<bool>& flags, const AppendOnlyList<uint32_t>& ids) {
  std::vector<bool> translated(flags.empty() ? 0 : ids.size());
  for (size_t i = 0; i < translated.size(); ++i) {
    translated[i] = RowFilter::selects(flags, ids[i]);
  }
  return translated;
}

std::vector<uint32_t> groups_of(const std::vector<uint32_t>& groups, const AppendOnlyList<uint32_t>& ids) {
  std::vector<uint32_t> translated(groups.empty() ? 0 : ids.size());
  for (size_t i = 0; i < translated.size(); ++i) {
    translated[i] = group_number(groups, ids[i]);
  }
  return translated;
}

// NaN, as an origin without a factor.
std::vector<double> factors_of(const std::vector<double>& factors, const AppendOnlyList<uint32_t>& origins) {
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
      translated[event] = factors_of(factors[id], translation[Column::kOrigin]);
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

}  // namespace

RowFilter translate(const RowFilter& filter, const Translation& translation) {
  RowFilter translated;
  for (const Column column : kColumns) {
    translated[column] = flags_of(filter[column], translation[column]);
  }
  return translated;
}

AggregateRequest translate(const AggregateRequest& request, const Translation& translation) {
  AggregateRequest translated;
  translated.filter = translate(request.filter, translation);
  for (const Column column : kColumns) {
    translated.group[column] = groups_of(request.group[column], translation[column]);
  }
  if (request.by_stack) {
    const AppendOnlyList<uint32_t>& stacks = translation[Column::kStack];
    translated.group[Column::kStack].assign(stacks.begin(), stacks.end());
  }
  if (!request.stack_groups.empty()) {
    translated.stack_groups = stack_groups_of(request.stack_groups, translation[Column::kStack]);
  }
  translated.wanted = request.wanted;
  translated.machine_group = groups_of(request.machine_group, translation[Column::kOrigin]);
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

Status DictionaryUnion::add(const Dictionaries& block, Member& member) {
  Translation& ids = member.translation;
  Status added = add_new(block.machines, ids.machines,
                         [&](const MachineEntry& entry) { return index_.intern(entry, kKeep); });
  added = added ? add_new(block.events, ids[Column::kEvent],
                          [&](const EventEntry& entry) { return index_.intern(entry, kKeep); })
                : added;
  added = added ? add_new(block.workloads, ids[Column::kWorkload],
                          [&](const WorkloadEntry& entry) { return index_.intern(entry, kKeep); })
                : added;
  added = added ? add_new(block.threads, ids[Column::kThread],
                          [&](const std::string& entry) { return index_.intern_thread(entry, kKeep); })
                : added;
  added = added ? add_new(block.label_sets, ids[Column::kLabels],
                          [&](const std::string& entry) { return index_.intern_label_set(entry, kKeep); })
                : added;
  added = added ? add_new(block.binaries, ids.binaries,
                          [&](const BinaryEntry& entry) { return index_.intern(entry, kKeep); })
                : added;
  added = added ? add_new(block.locations, ids.locations,
                          [&](LocationEntry entry) {
                            entry.owner = (entry.kind == wire::JIT ? ids[Column::kWorkload]
                                                                   : ids.binaries)[entry.owner];
                            return index_.intern(entry, kKeep);
                          })
                : added;
  // A node's parent comes before it.
  added =
      added ? add_new(block.stacks, ids[Column::kStack],
                      [&](const StackNode& node) {
                        return index_.intern(
                            StackNode{ids[Column::kStack][node.parent], ids.locations[node.location]}, kKeep);
                      })
            : added;
  return added ? add_origins(block, member) : added;
}

Status DictionaryUnion::add_origins(const Dictionaries& block, Member& member) {
  Translation& ids = member.translation;
  for (size_t i = ids[Column::kOrigin].size(); i < block.origins.size(); ++i) {
    OriginEntry entry = block.origins[i];
    entry.machine = ids.machines[entry.machine];
    const auto id = index_.add(entry, kKeep);
    if (!id) {
      return propagate(id);
    }
    ids[Column::kOrigin].push_back(*id);
    const auto origin = static_cast<uint32_t>(i);
    add_events_of(origin, block.origin_events, member.origin_events, ids);
    add_events_of(origin, block.origin_squares, member.origin_squares, ids);
  }
  return {};
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
