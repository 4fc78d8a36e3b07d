#include "query/views/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "base/time.h"
#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/selected_events.h"
#include "statistics/false_discovery.h"
#include "statistics/growth.h"
#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

constexpr const char* kUsualSnapshots = "heap-inuse-bytes";
constexpr int64_t kDayLengthNs = int64_t{24} * 3600 * kNsPerSecond;
constexpr size_t kMaxCandidates = 10'000;

enum class LeakVerdict { kGrows, kLevelsOff, kMayBeChance, kTooShort };

const char* name_of(LeakVerdict verdict) {
  switch (verdict) {
    case LeakVerdict::kGrows:
      return "grows";
    case LeakVerdict::kLevelsOff:
      return "levels off";
    case LeakVerdict::kMayBeChance:
      return "may be chance";
    default:
      return "too short";
  }
}

struct Candidate {
  uint32_t row = 0;  // among those that were summed
  statistics::Growth growth = {};
  double p = 1;  // of all candidates together
  LeakVerdict verdict = LeakVerdict::kTooShort;
};

class LeaksQuery {
 public:
  LeaksQuery(const LeaksRequest& request, const Snapshot& snapshot)
      : request_(request),
        snapshot_(snapshot),
        grouping_(request.by, hidden_frames(request.selection, snapshot), snapshot) {}

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    if (event.kind != wire::SNAPSHOT) {
      return with_hint(
          with_field(
              fail(ErrorCode::kInvalid,
                   "event {} adds up over time: it says what happened, not what is in use", event.name),
              "event"),
          "ask for an event of snapshots: heap-inuse-bytes or heap-inuse-objects");
    }
    grouping_.add_groups(resolved_.request);
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    list_snapshots();
    if (auto tested = test(); !tested) {
      return propagate(tested);
    }
    return make_table();
  }

 private:
  // Leaves the candidates.
  Status sum() {
    SymbolCoverage symbols(snapshot_);
    const auto rows = sum_event(request_.selection, resolved_, grouping_, snapshot_, symbols);
    if (!rows) {
      return propagate(rows);
    }
    std::vector<uint32_t> places(rows->size());
    std::iota(places.begin(), places.end(), 0);
    std::erase_if(places, [&](uint32_t place) { return rows->of(place).self == 0; });
    rows_with_samples_ = places.size();
    rows_ = first_rows(*rows, std::move(places), request_.candidates, [&](uint32_t a, uint32_t b) {
      const double x = rows->of(a).self;
      const double y = rows->of(b).self;
      return x != y ? x > y : grouping_.less(rows->keys[a], rows->keys[b]);
    });
    return {};
  }

  // Views show the mean of snapshots, by weights of draws too: each has a part of its value. `factors_` turns that back.
  void list_snapshots() {
    const std::span<const double> value_of_hit = resolved_.request.measures[kValue][resolved_.event].values();
    const auto for_each = [this](const auto& use) {
      for_each_selected(snapshot_, resolved_.request.filter, [&](const store::OriginEventEntry& entry) {
        if (entry.event == resolved_.event && entry.ran) {
          use(entry, snapshot_.origins.series_of_origin[entry.origin],
              static_cast<double>(std::max<uint32_t>(1, entry.profiles)));
        }
      });
    };
    units_.of_origin.assign(snapshot_.dictionaries.origins.size(), OriginUnits::kNone);
    for_each([&](const store::OriginEventEntry& entry, uint32_t series, double profiles) {
      units_.of_origin[entry.origin] = static_cast<uint32_t>(units_.count++);
      snapshots_.push_back({series, snapshot_.origins.middle_ns[entry.origin],
                            static_cast<double>(entry.hits) * entry.scale / profiles});
      const double weighted = value_of_hit[entry.origin] * profiles;
      factors_.push_back(weighted > 0 ? entry.scale / weighted : 0);
    });
  }

  Status test() {
    const auto split =
        RowSplitter(rows_.keys, 1, grouping_, snapshot_, {.totals = false}).split(resolved_.request, units_);
    if (!split) {
      return with_hint(propagate(split), "select less: fewer candidates, or a shorter time");
    }
    const statistics::GrowthSteps steps(snapshots_, request_.period_ns);
    steps_ = steps.steps();
    processes_ = steps.processes();
    std::vector<double> chances;
    for (uint32_t row = 0; row < rows_.size(); ++row) {
      candidates_.push_back({.row = row, .growth = growth_of(split->of(row), steps)});
      chances.push_back(candidates_.back().growth.p);
    }
    const std::vector<double> adjusted = statistics::holm(chances);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      candidates_[i].p = adjusted[i];
      candidates_[i].verdict = verdict_of(candidates_[i]);
    }
    return {};
  }

  statistics::Growth growth_of(std::span<const UnitValues> of_row,
                               const statistics::GrowthSteps& steps) const {
    std::vector<double> values(snapshots_.size());
    double sum = 0;
    double squares = 0;
    for (const UnitValues& unit : of_row) {
      const double factor = factors_[unit.unit];
      values[unit.unit] = unit.value.self * factor;
      sum += values[unit.unit];
      squares += unit.squares.self * factor * factor;
    }
    return steps.growth(values, sum > 0 ? squares / sum : 0);
  }

  static LeakVerdict verdict_of(const Candidate& candidate) {
    if (candidate.growth.steps < statistics::kMinGrowthSteps) {
      return LeakVerdict::kTooShort;
    }
    if (candidate.p >= kLeakLevel) {
      return LeakVerdict::kMayBeChance;
    }
    return candidate.growth.late_share.value_or(0) < statistics::kLevelsOff ? LeakVerdict::kLevelsOff
                                                                            : LeakVerdict::kGrows;
  }

  Table make_table() {
    std::ranges::sort(candidates_, [&](const Candidate& a, const Candidate& b) {
      const bool a_grows = a.verdict == LeakVerdict::kGrows;
      const bool b_grows = b.verdict == LeakVerdict::kGrows;
      return a_grows != b_grows                           ? a_grows
             : a.growth.per_period != b.growth.per_period ? a.growth.per_period > b.growth.per_period
                                                          : a.row < b.row;
    });
    if (!request_.all) {
      std::erase_if(candidates_,
                    [](const Candidate& candidate) { return candidate.verdict != LeakVerdict::kGrows; });
    }
    Table table;
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    table.event = event.name;
    table.coverage = resolved_.coverage;
    table.notes = resolved_.notes;
    add_notes(table);
    table.columns = grouping_.columns();
    const std::string unit(unit_name(event.unit));
    for (const TableColumn& column : std::initializer_list<TableColumn>{{"verdict", ""},
                                                                        {"growth_per_day", unit},
                                                                        {"growth_per_day_margin", unit},
                                                                        {"in_use", unit},
                                                                        {"p", "p"},
                                                                        {"late_share", "share"},
                                                                        {"steps", "count"},
                                                                        {"processes", "count"}}) {
      table.columns.push_back(column);
    }
    for (const Candidate& candidate : candidates_) {
      if (table.rows.size() < request_.limit) {
        add_row(candidate, table);
      }
    }
    return table;
  }

  void add_row(const Candidate& candidate, Table& table) const {
    const statistics::Growth& growth = candidate.growth;
    const bool is_known = candidate.verdict != LeakVerdict::kTooShort;
    const double days = static_cast<double>(kDayLengthNs) / static_cast<double>(request_.period_ns);
    auto& row = table.rows.emplace_back();
    grouping_.add_texts(rows_.keys[candidate.row], row);
    row.emplace_back(name_of(candidate.verdict));
    const auto where_known = [&](double value) {
      return value_or_absent(is_known ? std::optional(value) : std::nullopt);
    };
    row.push_back(where_known(growth.per_period * days));
    row.push_back(where_known(
        is_known ? growth.standard_error * days *
                       statistics::student_t_quantile(0.975, static_cast<double>(growth.steps) - 1)
                 : 0));
    row.push_back(where_known(growth.in_use));
    row.push_back(where_known(candidate.p));
    row.push_back(value_or_absent(is_known ? growth.late_share : std::nullopt));
    row.emplace_back(static_cast<int64_t>(growth.steps));
    row.emplace_back(static_cast<int64_t>(processes_));
  }

  void add_notes(Table& table) const {
    const std::string period = format_duration(request_.period_ns);
    if (steps_ < statistics::kMinGrowthSteps) {
      table.notes.push_back(
          fmt::format("too short to tell: {} steps from one whole period of {} to the next, and {} are "
                      "needed; select a longer "
                      "time, or a shorter --period where load has no wave as long",
                      steps_, period, statistics::kMinGrowthSteps));
      return;
    }
    table.notes.push_back(
        fmt::format("tested: the {} largest of {} rows, over {} steps of {}, {} processes; p: probability "
                    "that at least one of "
                    "them grows as steadily by chance; rows with p < {} that do not level off grow",
                    rows_.size(), rows_with_samples_, steps_, period, processes_, kLeakLevel));
    if (std::ranges::none_of(candidates_, [](const Candidate& candidate) {
          return candidate.verdict == LeakVerdict::kGrows;
        })) {
      table.notes.emplace_back("no row grows by more than chance (--all lists all rows)");
    }
  }

  const LeaksRequest& request_;
  const Snapshot& snapshot_;
  Grouping grouping_;
  ResolvedSelection resolved_;
  SummedRows rows_;
  size_t rows_with_samples_ = 0;
  OriginUnits units_;  // each snapshot is one
  std::vector<statistics::GrowthSnapshot> snapshots_;
  std::vector<double> factors_;  // by snapshot
  std::vector<Candidate> candidates_;
  size_t steps_ = 0;
  size_t processes_ = 0;
};

}  // namespace

Result<LeaksRequest> parse_leaks(const Parameters& parameters, int64_t now_ns) {
  LeaksRequest request;
  request.period_ns = kDayLengthNs;
  const auto read = read_parameters(
      parameters, now_ns, request.selection,
      {by_parameter(request.by), duration_parameter("period", request.period_ns),
       count_parameter("candidates", kMaxCandidates, request.candidates), flag_parameter("all", request.all),
       count_parameter("limit", kMaxCandidates, request.limit)});
  if (!read) {
    return propagate(read);
  }
  if (request.selection.event.empty()) {
    request.selection.event = kUsualSnapshots;
  }
  if (request.by.empty()) {
    request.by = {*find_dimension("function"), *find_dimension("line")};
  }
  return request;
}

Result<Table> leaks(const LeaksRequest& request, const Snapshot& snapshot) {
  return LeaksQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
