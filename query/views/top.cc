#include "query/views/top.h"

#include <algorithm>
#include <array>
#include <map>

#include "query/views/grouping.h"
#include "query/views/ratio.h"
#include "query/views/symbol_coverage.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxLimit = 1'000'000;

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
    grouping_.add_groups(resolved_.request);
    resolved_.request.by_stack = true;  // the share without symbols needs the leaves in any case
    const auto cells = snapshot_.rows->aggregate(resolved_.request);
    if (!cells) {
      return propagate(cells);
    }
    for (size_t i = 0; i < cells->size(); ++i) {
      add_cell(cells->keys[i], cells->sum(i, kValue), cells->sum(i, kSamples));
    }
    return make_table();
  }

 private:
  void add_cell(const store::CellKey& cell, double value, double samples) {
    sum_ += value;
    symbols_.add(cell.stack, value, samples);
    sums_[grouping_.self_key(cell)].self += value;
    for (const GroupKey& key : grouping_.total_keys(cell)) {
      sums_[key].total += value;
    }
  }

  Table make_table() {
    Table table;
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    table.event = event.name;
    table.notes = std::move(resolved_.notes);
    table.coverage = resolved_.coverage;
    symbols_.describe(table.coverage);
    table.columns = grouping_.columns();
    const std::string unit(unit_name(event.unit));
    for (const char* name : {"self", "total"}) {
      table.columns.push_back({name, unit});
      table.columns.push_back({fmt::format("{}_share", name), "share"});
      table.columns.push_back({fmt::format("{}_share_margin", name), "share"});
    }
    for (const auto& [key, sums] : ranked()) {
      auto& row = table.rows.emplace_back();
      grouping_.add_texts(key, row);
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
    std::ranges::sort(groups, [&](const auto& a, const auto& b) {
      if (a.second.self != b.second.self) {
        return a.second.self > b.second.self;
      }
      return a.second.total != b.second.total ? a.second.total > b.second.total
                                              : grouping_.less(a.first, b.first);
    });
    groups.resize(std::min(groups.size(), request_.limit));
    return groups;
  }

  const TopRequest& request_;
  const Snapshot& snapshot_;
  Grouping grouping_{request_.by, snapshot_};
  SymbolCoverage symbols_{snapshot_};
  ResolvedSelection resolved_;
  std::map<GroupKey, Sums> sums_;
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
  if (name == "ratio") {
    const auto ratio = parse_ratio(text);
    request.ratio = ratio.value_or(std::string());
    return ratio ? Status() : propagate(ratio);
  }
  constexpr std::array<std::string_view, 7> kKnown{"event", "ratio", "where", "by",
                                                   "since", "until", "limit"};
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
  if (!request.ratio.empty() && !request.selection.event.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "a ratio names its events: leave event out"), "event");
  }
  if (auto checked = check_selection(request.selection); !checked) {
    return propagate(checked);
  }
  return request;
}

Result<Table> top(const TopRequest& request, const Snapshot& snapshot) {
  return request.ratio.empty()
             ? TopQuery(request, snapshot).run()
             : ratio_table({request.selection, request.ratio, request.by, request.limit}, snapshot);
}

}  // namespace plimsoll::query
