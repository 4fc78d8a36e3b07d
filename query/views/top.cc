#include "query/views/top.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "query/views/symbol_coverage.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxLimit = 1'000'000;

// A row's dimensions as numbers; their texts stand in Interner.
using GroupKey = std::vector<uint32_t>;

class Interner {
 public:
  uint32_t number(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(text);
    }
    return entry->second;
  }
  const std::string& text(uint32_t number) const { return texts_[number]; }

 private:
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<std::string> texts_;
};

struct Sums {
  double self = 0;
  double total = 0;
};

class TopQuery {
 public:
  TopQuery(const TopRequest& request, const Snapshot& snapshot) : request_(request), snapshot_(snapshot) {}

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    add_groups();
    const auto cells = snapshot_.rows->aggregate(resolved_.request);
    if (!cells) {
      return propagate(cells);
    }
    for (const store::Cell& cell : *cells) {
      add_cell(cell);
    }
    return make_table();
  }

 private:
  bool groups_by(DimensionSource source) const {
    return std::ranges::any_of(request_.by,
                               [&](const Dimension& dimension) { return dimension.source == source; });
  }

  // Numbers the entries of a dictionary by their values in the dimensions of one source.
  template <typename ValueOf>
  void number_entries(DimensionSource source, size_t entries, std::vector<uint32_t>& group,
                      std::vector<GroupKey>& keys, ValueOf value_of) {
    keys.assign(1, GroupKey());
    if (!groups_by(source)) {
      return;
    }
    std::map<GroupKey, uint32_t> numbers;
    group.assign(entries, 0);
    for (uint32_t id = 1; id < entries; ++id) {
      GroupKey key;
      for (const Dimension& dimension : request_.by) {
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

  void add_groups() {
    store::AggregateRequest& request = resolved_.request;
    const store::Dictionaries& dictionaries = snapshot_.dictionaries;
    number_entries(DimensionSource::kOrigin, dictionaries.origins.size(), request.origin_group, origin_keys_,
                   [&](std::string_view name, uint32_t id) { return origin_value(snapshot_, name, id); });
    number_entries(DimensionSource::kWorkload, dictionaries.workloads.size(), request.workload_group,
                   workload_keys_,
                   [&](std::string_view name, uint32_t id) { return workload_value(snapshot_, name, id); });
    number_entries(DimensionSource::kThread, dictionaries.threads.size(), request.thread_group, thread_keys_,
                   [&](std::string_view, uint32_t id) { return dictionaries.threads[id]; });
    request.by_stack = true;  // the share without symbols needs the leaves in any case
  }

  // The group of a cell in one frame, in the order of request_.by.
  GroupKey key_of(const store::Cell& cell, const GroupKey& frame_key) const {
    const auto* origin = origin_keys_[cell.origin_group].data();
    const auto* workload = workload_keys_[cell.workload_group].data();
    const auto* thread = thread_keys_[cell.thread_group].data();
    const auto* frame = frame_key.data();
    GroupKey key;
    for (const Dimension& dimension : request_.by) {
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

  uint32_t stack_number(uint32_t stack) {
    const auto [entry, is_new] = stack_numbers_.try_emplace(stack, 0);
    if (is_new) {
      entry->second = interner_.number(stack_value(snapshot_, stack));
    }
    return entry->second;
  }

  // The part of a key that frames and stacks decide.
  GroupKey frame_key(FramePlace place, uint32_t stack) {
    GroupKey key;
    for (const Dimension& dimension : request_.by) {
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
  const std::vector<GroupKey>& location_keys(uint32_t location, uint32_t stack) {
    auto& keys = location_keys_[{location, groups_by(DimensionSource::kStack) ? stack : 0}];
    for (uint32_t depth = 0; keys.size() < frames_of(snapshot_, location); ++depth) {
      keys.push_back(frame_key({location, depth}, stack));
    }
    return keys;
  }

  void add_cell(const store::Cell& cell) {
    samples_ += cell.hits;
    sum_ += cell.value;
    const uint32_t leaf = cell.stack == 0 ? 0 : snapshot_.dictionaries.stacks[cell.stack].location;
    symbols_.add(cell);
    if (!groups_by(DimensionSource::kFrame)) {
      Sums& sums = sums_[key_of(cell, frame_key({leaf, 0}, cell.stack))];
      sums.self += cell.value;
      sums.total += cell.value;
      return;
    }
    std::set<GroupKey> on_stack;
    if (cell.stack == 0) {
      on_stack.insert(location_keys(0, 0).front());
    }
    for (uint32_t node = cell.stack; node != 0; node = snapshot_.dictionaries.stacks[node].parent) {
      const auto& keys = location_keys(snapshot_.dictionaries.stacks[node].location, cell.stack);
      on_stack.insert(keys.begin(), keys.end());
    }
    sums_[key_of(cell, location_keys(leaf, cell.stack).front())].self += cell.value;
    for (const GroupKey& key : on_stack) {
      sums_[key_of(cell, key)].total += cell.value;
    }
  }

  Table make_table() {
    Table table;
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    table.event = event.name;
    table.notes = std::move(resolved_.notes);
    table.coverage = resolved_.coverage;
    table.coverage.samples = static_cast<int64_t>(samples_);
    symbols_.describe(table.coverage);
    for (const Dimension& dimension : request_.by) {
      table.columns.push_back({std::string(dimension.name), ""});
    }
    const std::string unit(unit_name(event.unit));
    for (const char* name : {"self", "total"}) {
      table.columns.push_back({name, unit});
      table.columns.push_back({fmt::format("{}_share", name), "share"});
      table.columns.push_back({fmt::format("{}_share_margin", name), "share"});
    }
    for (const auto& [key, sums] : ranked()) {
      auto& row = table.rows.emplace_back();
      for (const uint32_t number : key) {
        row.emplace_back(interner_.text(number));
      }
      for (const double value : {sums.self, sums.total}) {
        row.emplace_back(value);
        row.emplace_back(sum_ == 0 ? 0 : value / sum_);
        row.emplace_back(std::monostate());
      }
    }
    return table;
  }

  std::vector<std::pair<GroupKey, Sums>> ranked() const {
    std::vector<std::pair<GroupKey, Sums>> groups(sums_.begin(), sums_.end());
    const auto texts_less = [&](const GroupKey& a, const GroupKey& b) {
      return std::ranges::lexicographical_compare(
          a, b, [&](uint32_t x, uint32_t y) { return interner_.text(x) < interner_.text(y); });
    };
    std::ranges::sort(groups, [&](const auto& a, const auto& b) {
      if (a.second.self != b.second.self) {
        return a.second.self > b.second.self;
      }
      return a.second.total != b.second.total ? a.second.total > b.second.total
                                              : texts_less(a.first, b.first);
    });
    groups.resize(std::min(groups.size(), request_.limit));
    return groups;
  }

  const TopRequest& request_;
  const Snapshot& snapshot_;
  SymbolCoverage symbols_{snapshot_};
  ResolvedSelection resolved_;
  Interner interner_;
  std::vector<GroupKey> origin_keys_, workload_keys_, thread_keys_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<GroupKey>> location_keys_;  // by location and stack
  std::map<uint32_t, uint32_t> stack_numbers_;
  std::map<GroupKey, Sums> sums_;
  uint64_t samples_ = 0;
  double sum_ = 0;
};

Status add_dimensions(std::string_view list, std::vector<Dimension>& by) {
  while (true) {
    const size_t comma = list.find(',');
    const auto dimension = find_dimension(list.substr(0, comma));
    if (!dimension) {
      return with_field(propagate(dimension), "by");
    }
    by.push_back(*dimension);
    if (comma == std::string_view::npos) {
      return {};
    }
    list.remove_prefix(comma + 1);
  }
}

Status add_parameter(const std::string& name, const std::string& text, int64_t now_ns, TopRequest& request) {
  const auto taken = add_to_selection(name, text, now_ns, request.selection);
  if (!taken) {
    return propagate(taken);
  }
  if (*taken) {
    return {};
  }
  if (name == "by") {
    return add_dimensions(text, request.by);
  }
  if (name == "limit") {
    const auto limit = parse_count(name, text, kMaxLimit);
    request.limit = limit.value_or(request.limit);
    return limit ? Status() : propagate(limit);
  }
  constexpr std::array<std::string_view, 6> kKnown{"event", "where", "by", "since", "until", "limit"};
  return unknown_parameter(name, kKnown);
}

}  // namespace

Result<TopRequest> parse_top(const Parameters& parameters, int64_t now_ns) {
  TopRequest request;
  for (const auto& [name, text] : parameters) {
    if (auto added = add_parameter(name, text, now_ns, request); !added) {
      return propagate(added);
    }
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  if (auto checked = check_selection(request.selection); !checked) {
    return propagate(checked);
  }
  return request;
}

Result<Table> top(const TopRequest& request, const Snapshot& snapshot) {
  return TopQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
