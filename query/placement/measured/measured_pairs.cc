#include "query/placement/measured/measured_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "query/selection/machine_filter.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/event_pair.h"
#include "query/table/values.h"
#include "query/views/ratio.h"
#include "statistics/estimate.h"
#include "store/model/wire_entries.h"

namespace plimsoll::query {
namespace {

constexpr const char* kCpi = "cycles/instructions";
constexpr size_t kAll = 100'000'000;

// All machines of a platform, and the part of their time that the samples stand for.
struct PlatformTime {
  std::set<std::string> seen;  // machines
  int64_t live = 0;
  double observed_ns = 0;  // of all of them together

  double machines() const { return static_cast<double>(live > 0 ? live : static_cast<int64_t>(seen.size())); }
};

std::map<std::string, PlatformTime> times_of(const MeasuredPairsRequest& request, const EventPair& events,
                                             const Snapshot& snapshot, const LiveFleet& fleet) {
  std::map<std::string, PlatformTime> platforms;
  const auto resolved = resolve_together(request.selection, events.distinct(), snapshot);
  const std::vector<double> by_origin = exposures(resolved, snapshot);
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  for (size_t origin = 0; origin < by_origin.size(); ++origin) {
    if (by_origin[origin] > 0) {
      const store::MachineEntry& machine = dictionaries.machines[dictionaries.origins[origin].machine];
      PlatformTime& platform = platforms[machine.platform];
      platform.seen.insert(machine.machine_id);
      platform.observed_ns += by_origin[origin];
    }
  }
  for (const store::LiveMachine& machine : fleet.machines) {
    if (machine.is_live(request.now_ns) &&
        is_asked_about(store::machine_entry(machine.attributes), request.selection.where)) {
      ++platforms[machine.attributes.platform()].live;
    }
  }
  return platforms;
}

// Of a CSV text, whose first line has the names of its columns.
uint64_t line_of(size_t row) {
  return row + 2;
}

struct PairColumns {
  size_t job, platform, cpi, margin, margin_kind, load, machines;
};

Result<PairColumns> pair_columns(const Table& table) {
  PairColumns columns{};
  for (const auto& [name, place] :
       {std::pair("job", &columns.job), std::pair("platform", &columns.platform),
        std::pair("cpi", &columns.cpi), std::pair("margin", &columns.margin),
        std::pair("margin_kind", &columns.margin_kind), std::pair("load", &columns.load),
        std::pair("machines", &columns.machines)}) {
    const auto found = find_column(table, name);
    if (!found) {
      return propagate(found);
    }
    *place = *found;
  }
  return columns;
}

Result<MeasuredPair> pair_in(const PairColumns& columns, const std::vector<Value>& row) {
  MeasuredPair pair{.job = text_in(row[columns.job]), .platform = text_in(row[columns.platform])};
  const auto load = number_in(row[columns.load]);
  if (!load || !std::isfinite(*load) || *load < 0) {
    return fail(ErrorCode::kCorrupt, "the measured load of {} is not a number", pair.job);
  }
  const auto cpi = number_in(row[columns.cpi]);
  if (!cpi || !std::isfinite(*cpi) || *cpi <= 0) {
    return fail(ErrorCode::kCorrupt, "the measured cpi of {} is not a number above 0", pair.job);
  }
  pair.cpi = *cpi;
  pair.margin = number_in(row[columns.margin]);
  pair.margin_kind = text_in(row[columns.margin_kind]);
  pair.load = *load;
  pair.machines = static_cast<int64_t>(number_in(row[columns.machines]).value_or(0));
  return pair;
}

}  // namespace

Result<MeasuredPairsRequest> parse_measured_pairs(const Parameters& parameters, int64_t now_ns) {
  MeasuredPairsRequest request{.now_ns = now_ns};
  const auto read = read_parameters(parameters, filter_parameters(now_ns, request.selection));
  const auto checked = read ? check_selection(request.selection) : read;
  return checked ? Result<MeasuredPairsRequest>(std::move(request)) : propagate(checked);
}

Result<MeasuredPairs> measure_pairs(const MeasuredPairsRequest& request, const Snapshot& snapshot,
                                    const LiveFleet& fleet) {
  const auto events = find_pair(kCpi, snapshot);
  if (!events) {
    return propagate(events);
  }
  const RatioRequest ratio{
      request.selection, kCpi, {*find_dimension("job"), *find_dimension("platform")}, kAll, true};
  auto ratios = ratio_rows(ratio, snapshot);
  if (!ratios) {
    return propagate(ratios);
  }
  const auto platforms = times_of(request, *events, snapshot, fleet);
  MeasuredPairs measured{.event = std::move(ratios->event),
                         .pairs = {},
                         .notes = std::move(ratios->notes),
                         .coverage = std::move(ratios->coverage)};
  size_t left_out = 0;
  for (RatioRow& row : ratios->rows) {
    const auto platform = platforms.find(row.key[1]);
    if (!row.ratio || platform == platforms.end() || platform->second.observed_ns <= 0) {
      ++left_out;
      continue;
    }
    const PlatformTime& time = platform->second;
    MeasuredPair& pair = measured.pairs.emplace_back(
        MeasuredPair{.job = std::move(row.key[0]), .platform = std::move(row.key[1]), .cpi = *row.ratio});
    if (row.estimate) {
      pair.margin = row.estimate->margin;
      pair.margin_kind = statistics::margin_kind_name(row.estimate->margin_kind);
    }
    pair.load = row.denominator / time.observed_ns * kNsPerSecond * time.machines();
    pair.machines = static_cast<int64_t>(time.machines());
  }
  std::ranges::sort(measured.pairs, {},
                    [](const MeasuredPair& pair) { return std::tie(pair.job, pair.platform); });
  if (left_out > 0) {
    measured.notes.push_back(fmt::format(
        "{} pairs of job and platform have no samples of cycles or instructions and are not listed",
        left_out));
  }
  return measured;
}

Table table_of(const MeasuredPairs& measured) {
  Table table{.event = measured.event,
              .notes = measured.notes,
              .columns = {{"job", ""},
                          {"platform", ""},
                          {"cpi", kCpi},
                          {"margin", kCpi},
                          {"margin_kind", ""},
                          {"load", "count/s"},
                          {"machines", "count"}},
              .rows = {},
              .coverage = measured.coverage};
  for (const MeasuredPair& pair : measured.pairs) {
    table.rows.push_back({pair.job, pair.platform, pair.cpi, pair.margin ? Value(*pair.margin) : Value(),
                          pair.margin_kind, pair.load, pair.machines});
  }
  return table;
}

Result<MeasuredPairs> measured_pairs_in(const Table& table) {
  const auto columns = pair_columns(table);
  if (!columns) {
    return propagate(columns);
  }
  MeasuredPairs measured{.event = table.event, .pairs = {}, .notes = table.notes, .coverage = table.coverage};
  for (const std::vector<Value>& row : table.rows) {
    auto pair = pair_in(*columns, row);
    if (!pair) {
      return propagate(pair);
    }
    measured.pairs.push_back(*std::move(pair));
  }
  return measured;
}

Result<Table> measured_pairs(const MeasuredPairsRequest& request, const Snapshot& snapshot,
                             const LiveFleet& fleet) {
  const auto measured = measure_pairs(request, snapshot, fleet);
  return measured ? Result<Table>(table_of(*measured)) : propagate(measured);
}

CostTable costs_of(const MeasuredPairs& measured, const std::string& name) {
  CostTable table{.name = name, .unit = CostUnit::kCycles};
  for (const MeasuredPair& pair : measured.pairs) {
    table.rows.push_back({.job = pair.job,
                          .platform = pair.platform,
                          .cost = pair.cpi,
                          .margin = pair.margin,
                          .line = line_of(table.rows.size())});
  }
  return table;
}

LoadTable loads_of(const MeasuredPairs& measured, const std::string& name) {
  std::map<std::string_view, double> loads;
  for (const MeasuredPair& pair : measured.pairs) {
    loads[pair.job] += pair.load;
  }
  LoadTable table{.name = name};
  for (const auto& [job, load] : loads) {
    table.rows.push_back({.job = std::string(job), .load = load, .line = line_of(table.rows.size())});
  }
  return table;
}

TodayTable today_of(const MeasuredPairs& measured, const std::string& name) {
  TodayTable table{.name = name};
  for (const MeasuredPair& pair : measured.pairs) {
    table.rows.push_back(
        {.job = pair.job, .platform = pair.platform, .load = pair.load, .line = line_of(table.rows.size())});
  }
  return table;
}

}  // namespace plimsoll::query
