#include "query/views/ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "query/statistics/ratio.h"
#include "query/views/event_lookup.h"
#include "query/views/grouping.h"
#include "query/views/symbol_coverage.h"

namespace plimsoll::query {
namespace {

struct EventPair {
  uint32_t numerator = 0;
  uint32_t denominator = 0;
};

// Names of events may have slashes of their own ("cpu/event=0x3c/"): every one is tried.
Result<EventPair> find_pair(std::string_view ratio, const Snapshot& snapshot) {
  std::optional<Error> failure;
  for (size_t slash = ratio.find('/'); slash != std::string_view::npos; slash = ratio.find('/', slash + 1)) {
    if (slash == 0 || slash + 1 == ratio.size()) {
      continue;
    }
    const auto numerator = find_event(std::string(ratio.substr(0, slash)), snapshot);
    const auto denominator = find_event(std::string(ratio.substr(slash + 1)), snapshot);
    if (numerator && denominator) {
      return EventPair{*numerator, *denominator};
    }
    if (!failure || numerator) {
      failure = !numerator ? numerator.error() : denominator.error();
    }
  }
  if (!failure) {
    return fail(ErrorCode::kInvalid, "\"{}\" is no ratio: two events with a slash between them are", ratio);
  }
  Error error = *std::move(failure);
  error.field = "ratio";
  error.hint +=
      "; where a machine lets nobody count an event (\"plimsolld probe\" says so: no PMU, as in many virtual "
      "machines), the ratio is absent, not zero";
  return std::unexpected(std::move(error));
}

// The machines behind origins, numbered by ID: versions of a machine's attributes are one machine.
class Machines {
 public:
  Machines(const Snapshot& snapshot, const std::vector<bool>& origins) {
    const store::Dictionaries& dictionaries = snapshot.dictionaries;
    group_.assign(dictionaries.origins.size(), 0);
    std::map<std::string_view, uint32_t> numbers;
    for (uint32_t id = 1; id < group_.size(); ++id) {
      if (!origins[id]) {
        continue;
      }
      const store::OriginEntry& origin = dictionaries.origins[id];
      const auto [entry, is_new] = numbers.try_emplace(dictionaries.machines[origin.machine].machine_id,
                                                       static_cast<uint32_t>(probabilities_.size()));
      group_[id] = entry->second;
      const auto probability =
          origin.draw.empty() ? std::nullopt : std::optional(origin.inclusion_probability);
      if (is_new) {
        probabilities_.push_back(probability);
      } else if (probabilities_[entry->second] != probability) {
        probabilities_[entry->second].reset();
      }
    }
  }

  const std::vector<uint32_t>& group_of_origins() const { return group_; }
  // Nothing where it was not drawn, or not always with the same probability.
  std::optional<double> inclusion_probability(uint32_t machine) const { return probabilities_[machine]; }

 private:
  std::vector<uint32_t> group_;
  std::vector<std::optional<double>> probabilities_;
};

// Groups of events.
constexpr uint32_t kNumerator = 0;
constexpr uint32_t kDenominator = 1;
constexpr uint32_t kBoth = 2;

// What a group of origins stands for: one of the view's groups, on one machine.
struct OriginPart {
  uint32_t group = 0;
  uint32_t machine = 0;
};

// Splits the groups of origins by machine.
std::vector<OriginPart> split_by_machine(const Machines& machines, std::vector<uint32_t>& origin_group) {
  const std::vector<uint32_t>& machine_of = machines.group_of_origins();
  origin_group.resize(machine_of.size());
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  std::vector<OriginPart> parts;
  for (size_t origin = 0; origin < machine_of.size(); ++origin) {
    const auto [entry, is_new] =
        numbers.try_emplace({origin_group[origin], machine_of[origin]}, static_cast<uint32_t>(parts.size()));
    if (is_new) {
      parts.push_back({origin_group[origin], machine_of[origin]});
    }
    origin_group[origin] = entry->second;
  }
  return parts;
}

struct RatioRow {
  GroupKey key;
  double numerator = 0;
  double denominator = 0;
  statistics::Estimate estimate;
};

class RatioQuery {
 public:
  RatioQuery(const RatioRequest& request, EventPair events, const Snapshot& snapshot)
      : request_(request),
        events_(events),
        snapshot_(snapshot),
        resolved_(resolve_together(request.selection, {events.numerator, events.denominator}, snapshot)) {}

  Result<Table> run() {
    if (auto described = describe_symbols(); !described) {
      return propagate(described);
    }
    const Machines machines(snapshot_, resolved_.request.filter.origins);
    grouping_.add_groups(resolved_.request);
    const std::vector<OriginPart> parts = split_by_machine(machines, resolved_.request.origin_group);
    resolved_.request.event_group = event_groups();
    resolved_.request.by_stack = grouping_.needs_stacks();
    const auto cells = snapshot_.rows->aggregate(resolved_.request);
    if (!cells) {
      return propagate(cells);
    }
    for (size_t i = 0; i < cells->size(); ++i) {
      store::CellKey cell = cells->keys[i];
      const OriginPart& part = parts[cell.origin];
      cell.origin = part.group;
      MachineSums& sums = sums_[grouping_.self_key(cell)][part.machine];
      sums.inclusion_probability = machines.inclusion_probability(part.machine);
      add_sums(cell.event, cells->sum(i, kValue), cells->sum(i, kSamples), sums);
    }
    return make_table();
  }

 private:
  using MachineSums = statistics::MachineSums;

  // An event over itself is both.
  std::vector<uint32_t> event_groups() const {
    std::vector<uint32_t> groups(snapshot_.dictionaries.events.size());
    groups[events_.numerator] = kNumerator;
    groups[events_.denominator] = events_.numerator == events_.denominator ? kBoth : kDenominator;
    return groups;
  }

  static bool is_numerator(uint32_t event_group) { return event_group != kDenominator; }
  static bool is_denominator(uint32_t event_group) { return event_group != kNumerator; }

  Status describe_symbols() {
    store::AggregateRequest request = resolved_.request;
    request.event_group = event_groups();
    request.by_stack = true;
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    SymbolCoverage symbols(snapshot_);
    double samples = 0;
    for (size_t i = 0; i < cells->size(); ++i) {
      samples += cells->sum(i, kSamples);
      if (is_denominator(cells->keys[i].event)) {
        symbols.add(cells->keys[i].stack, cells->sum(i, kValue), cells->sum(i, kSamples));
      }
    }
    symbols.describe(resolved_.coverage);
    resolved_.coverage.samples = std::llround(samples);
    return {};
  }

  static void add_sums(uint32_t event_group, double value, double samples, MachineSums& sums) {
    if (is_numerator(event_group)) {
      sums.numerator += value;
      sums.numerator_samples += samples;
    }
    if (is_denominator(event_group)) {
      sums.denominator += value;
      sums.denominator_samples += samples;
    }
  }

  std::vector<RatioRow> ranked() const {
    std::vector<RatioRow> rows;
    for (const auto& [key, by_machine] : sums_) {
      RatioRow& row = rows.emplace_back();
      row.key = key;
      std::vector<statistics::MachineSums> machines;
      for (const auto& [machine, sums] : by_machine) {
        machines.push_back(sums);
        row.numerator += sums.numerator;
        row.denominator += sums.denominator;
      }
      row.estimate = statistics::ratio(machines);
    }
    std::ranges::sort(rows, [&](const RatioRow& a, const RatioRow& b) {
      return a.denominator != b.denominator ? a.denominator > b.denominator : grouping_.less(a.key, b.key);
    });
    rows.resize(std::min(rows.size(), request_.limit));
    return rows;
  }

  Table make_table() {
    const store::EventEntry& numerator = snapshot_.dictionaries.events[events_.numerator];
    const store::EventEntry& denominator = snapshot_.dictionaries.events[events_.denominator];
    Table table;
    table.event = fmt::format("{}/{}", numerator.name, denominator.name);
    table.notes = std::move(resolved_.notes);
    table.coverage = resolved_.coverage;
    table.columns = grouping_.columns();
    for (const TableColumn& column : {TableColumn{"ratio", table.event},
                                      {"ratio_margin", table.event},
                                      {"margin_kind", ""},
                                      {"numerator", std::string(unit_name(numerator.unit))},
                                      {"denominator", std::string(unit_name(denominator.unit))},
                                      {"machines", "count"}}) {
      table.columns.push_back(column);
    }
    const auto or_absent = [](std::optional<double> value) { return value ? Value(*value) : Value(); };
    for (const RatioRow& ranked_row : ranked()) {
      const statistics::Estimate& estimate = ranked_row.estimate;
      auto& row = table.rows.emplace_back();
      grouping_.add_texts(ranked_row.key, row);
      row.insert(row.end(),
                 {or_absent(estimate.value), or_absent(estimate.margin),
                  std::string(statistics::margin_kind_name(estimate.margin_kind)), ranked_row.numerator,
                  ranked_row.denominator, static_cast<int64_t>(estimate.machines)});
    }
    return table;
  }

  const RatioRequest& request_;
  const EventPair events_;
  const Snapshot& snapshot_;
  ResolvedSelection resolved_;
  Grouping grouping_{request_.by, snapshot_};
  std::map<GroupKey, std::map<uint32_t, statistics::MachineSums>> sums_;  // by machine
};

}  // namespace

Result<std::string> parse_ratio(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kAliases{
      {{"ipc", "instructions/cycles"},
       {"cpi", "cycles/instructions"},
       {"exact-ipc", "exact-instructions/exact-cycles"},
       {"exact-cpi", "exact-cycles/exact-instructions"}}};
  for (const auto& [alias, ratio] : kAliases) {
    if (text == alias) {
      return ratio;
    }
  }
  const size_t slash = text.find('/', 1);
  if (text.empty() || slash == std::string_view::npos || slash + 1 == text.size()) {
    return with_field(
        fail(ErrorCode::kInvalid,
             "ratio is \"{}\", not two events (instructions/cycles), ipc, cpi, exact-ipc or exact-cpi", text),
        "ratio");
  }
  return std::string(text);
}

Result<Table> ratio_table(const RatioRequest& request, const Snapshot& snapshot) {
  const auto events = find_pair(request.ratio, snapshot);
  return events ? RatioQuery(request, *events, snapshot).run() : propagate(events);
}

}  // namespace plimsoll::query
