#include "query/views/stability.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/machine_windows.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "statistics/jackknife.h"
#include "statistics/stability/comparison.h"
#include "statistics/stability/entropy.h"
#include "statistics/stability/sampling_noise.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxTop = 1000;
constexpr size_t kMaxPermutations = 100'000;
// Any: the same question is to have the same answer.
constexpr uint64_t kSeed = 1;

// Two halves of the selection, beside each other.
struct Halved {
  const char* name;
  std::array<size_t, 2> machines;
  std::optional<statistics::Comparison> comparison;  // absent: one of them is empty
};

class StabilityQuery {
 public:
  StabilityQuery(const StabilityRequest& request, const Snapshot& snapshot)
      : request_(request),
        snapshot_(snapshot),
        grouping_(request.by, hidden_frames(request.selection, snapshot), snapshot) {}

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    grouping_.add_groups(resolved_.request);
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    const MachineSample sample(snapshot_, resolved_.request.filter);
    const auto comparisons = compare_halves(sample);
    if (!comparisons) {
      return propagate(comparisons);
    }
    const Domain all = whole_domain(sample);
    const auto noise = noise_of(all, sample);
    const auto entropy = entropy_of(all, sample);
    if (!noise || !entropy) {
      return !noise ? propagate(noise) : propagate(entropy);
    }
    return make_table(*comparisons, *noise, *entropy);
  }

 private:
  // Leaves the largest rows.
  Status sum() {
    const auto rows = sum_event(request_.selection, resolved_, grouping_, snapshot_, symbols_);
    if (!rows) {
      return propagate(rows);
    }
    std::vector<uint32_t> places(rows->size());
    std::iota(places.begin(), places.end(), 0);
    std::erase_if(places, [&](uint32_t place) { return rows->of(place).self == 0; });
    rows_with_samples_ = places.size();
    rows_ = first_rows(*rows, std::move(places), kLargestRows, [&](uint32_t a, uint32_t b) {
      const double x = rows->of(a).self;
      const double y = rows->of(b).self;
      return x != y ? x > y : grouping_.less(rows->keys[a], rows->keys[b]);
    });
    return {};
  }

  // By machine: the halves of the time, of which the halves of the machines are made too.
  Result<std::array<Halved, 2>> compare_halves(const MachineSample& sample) {
    const OriginUnits machines = sample.machines_of_origins();
    const RowSplitter splitter(rows_.keys, 1, grouping_, snapshot_, {.totals = false, .squares = false});
    std::array<UnitTable, 2> halves;
    const std::array<store::AggregateRequest, 2> requests = halves_of_time();
    for (size_t half = 0; half < halves.size(); ++half) {
      auto split = splitter.tabulate(requests[half], machines);
      if (!split) {
        return too_large(split);
      }
      halves[half] = std::move(*split);
    }
    UnitTable both = sum_of(halves[0], halves[1]);
    Halved by_time = this->by_time(std::move(halves), sample);
    return std::array<Halved, 2>{by_machine(std::move(both), sample), std::move(by_time)};
  }

  template <typename Failure>
  static std::unexpected<Error> too_large(const Failure& failure) {
    return with_hint(propagate(failure), "select less: fewer dimensions, or a shorter time");
  }

  std::array<store::AggregateRequest, 2> halves_of_time() {
    const Coverage& coverage = resolved_.coverage;
    middle_ns_ = std::midpoint(coverage.from_ns, coverage.to_ns);
    std::array<std::vector<uint32_t>, 2> origins;
    for (uint32_t id = 1; id < snapshot_.dictionaries.origins.size(); ++id) {
      const store::OriginEntry& origin = snapshot_.dictionaries.origins[id];
      const bool is_first = std::midpoint(origin.from_ns, origin.to_ns) < middle_ns_;
      origins[is_first ? 0 : 1].push_back(id);
    }
    std::array<store::AggregateRequest, 2> halves{resolved_.request, resolved_.request};
    for (size_t half = 0; half < halves.size(); ++half) {
      store::IdSet& selected = halves[half].filter[Column::kOrigin];
      selected = store::intersection_of(selected, store::IdSet::of(origins[half]));
    }
    return halves;
  }

  Halved by_machine(UnitTable rows, const MachineSample& sample) const {
    const MachineWindow all = machine_window({std::move(rows), {}}, sample);
    const statistics::Halves halves(all.window(), all.columns, kSeed);
    return compared("halves of the machines", halves.first(), halves.second(), all.columns);
  }

  Halved by_time(std::array<UnitTable, 2> halves, const MachineSample& sample) const {
    const std::array<MachineWindow, 2> windows =
        machine_windows({{{std::move(halves[0]), {}}, {std::move(halves[1]), {}}}}, sample);
    return compared("halves of the time", windows[0].window(), windows[1].window(), windows[0].columns);
  }

  Halved compared(const char* name, const statistics::Window& first, const statistics::Window& second,
                  size_t columns) const {
    Halved halved{name, {first.machines.size(), second.machines.size()}, std::nullopt};
    if (!first.machines.empty() && !second.machines.empty()) {
      halved.comparison = statistics::compare(
          first, second,
          {.rows = columns, .top = request_.top, .permutations = request_.permutations, .seed = kSeed});
    }
    return halved;
  }

  // Of the rows that distances are of.
  Result<statistics::SamplingNoise> noise_of(const Domain& all, const MachineSample& sample) {
    const std::span<const RowKey> shown =
        std::span(rows_.keys).first(std::min(request_.top, rows_.keys.size()));
    const auto rows = RowSplitter(shown, 1, grouping_, snapshot_, {.totals = false})
                          .split(resolved_.request, sample.sampling_units_of_origins());
    if (!rows) {
      return too_large(rows);
    }
    std::vector<UnitColumn> columns(shown.size());
    UnitColumn whole;
    fill_whole(*rows, 0, all, whole);
    std::vector<statistics::RowSums> sums;
    for (size_t row = 0; row < shown.size(); ++row) {
      fill(*rows, row, 0, &RowValues::self, all, columns[row]);
      sums.push_back(row_sums_of(columns[row], whole));
    }
    return statistics::SamplingNoise(all.design, sums);
  }

  Result<statistics::Estimate> entropy_of(const Domain& all, const MachineSample& sample) {
    const statistics::Jackknife jackknife(all.design, kSeed);
    OriginUnits cells{sample.unit_of_origin(), jackknife.cells()};
    for (uint32_t& unit : cells.of_origin) {
      unit = unit == OriginUnits::kNone ? unit : jackknife.cell_of(unit);
    }
    const auto rows = RowSplitter(rows_.keys, 1, grouping_, snapshot_, {.totals = false, .squares = false})
                          .tabulate(resolved_.request, cells);
    if (!rows) {
      return too_large(rows);
    }
    // By row, then what they leave.
    std::vector<double> sums(rows->columns * jackknife.cells());
    for (size_t cell = 0; cell < jackknife.cells(); ++cell) {
      double rest = rows->whole[cell];
      for (size_t row = 0; row < rows_.size(); ++row) {
        const double self = rows->values[cell * rows->columns + row];
        sums[row * jackknife.cells() + cell] = self;
        rest -= self;
      }
      // What sums in another order leave of nothing is not negative.
      sums[rows_.size() * jackknife.cells() + cell] = std::max(0.0, rest);
    }
    return statistics::entropy(jackknife, sums, rows_.size() + 1);
  }

  Table make_table(const std::array<Halved, 2>& comparisons, const statistics::SamplingNoise& noise,
                   const statistics::Estimate& entropy) const {
    Table table;
    table.event = snapshot_.dictionaries.events[resolved_.event].name;
    table.coverage = resolved_.coverage;
    add_notes(table);
    add_columns(table);
    for (const Halved& halved : comparisons) {
      add_row(halved, noise, entropy, table);
    }
    return table;
  }

  void add_notes(Table& table) const {
    table.notes = resolved_.notes;
    table.notes.push_back(
        fmt::format("definition of 'stable': two random draws of this size would differ by at most {}, in "
                    "Manhattan distance over the {} largest rows (half of it is the share of time spent in "
                    "other code); the time range is split at {}",
                    request_.tolerance.distance, request_.top, format_time(middle_ns_)));
    if (rows_with_samples_ > rows_.size()) {
      table.notes.push_back(fmt::format("uses the largest {} of {} rows; all others count as one",
                                        rows_.size(), rows_with_samples_));
    }
  }

  static void add_columns(Table& table) {
    table.columns = {{"comparison", ""},           {"verdict", ""},
                     {"distance", "distance"},     {"distance_by_chance", "distance"},
                     {"distance_p", "p"},          {"noise", "distance"},
                     {"machines_needed", "count"}, {"times_longer", "times"},
                     {"entropy_change", "bits"},   {"entropy_change_by_chance", "bits"},
                     {"entropy_change_p", "p"},    {"first_machines", "count"},
                     {"second_machines", "count"}};
    const TableColumn entropy{"entropy", "bits"};
    table.columns.push_back(entropy);
    add_estimate_columns(entropy, "entropy_margin_kind", table.columns);
  }

  void add_row(const Halved& halved, const statistics::SamplingNoise& noise,
               const statistics::Estimate& entropy, Table& table) const {
    auto& row = table.rows.emplace_back();
    row.emplace_back(halved.name);
    if (halved.comparison) {
      add_comparison(*halved.comparison, noise, row);
    } else {
      row.emplace_back("one half is empty");
      row.resize(row.size() + 9);
    }
    for (const size_t machines : halved.machines) {
      row.emplace_back(static_cast<int64_t>(machines));
    }
    row.push_back(value_or_absent(entropy.value));
    add_estimate(&entropy, row);
  }

  void add_comparison(const statistics::Comparison& comparison, const statistics::SamplingNoise& noise,
                      std::vector<Value>& row) const {
    const statistics::Verdict verdict = statistics::judge(comparison, noise, request_.tolerance);
    const bool can_tell = verdict.stability != statistics::Stability::kTooFewMachines;
    const auto where = [](bool is_known, double value) {
      return value_or_absent(is_known ? std::optional(value) : std::nullopt);
    };
    row.emplace_back(std::string(statistics::stability_name(verdict.stability)));
    row.emplace_back(comparison.distance.observed);
    row.push_back(where(can_tell, comparison.distance.expected));
    row.push_back(where(can_tell, comparison.distance.p_value));
    row.push_back(where(can_tell, verdict.noise));
    row.push_back(count_or_absent(verdict.machines_needed));
    row.push_back(value_or_absent(verdict.times_longer));
    row.emplace_back(comparison.entropy_change.observed);
    row.push_back(where(can_tell, comparison.entropy_change.expected));
    row.push_back(where(can_tell, comparison.entropy_change.p_value));
  }

  const StabilityRequest& request_;
  const Snapshot& snapshot_;
  Grouping grouping_;
  SymbolCoverage symbols_{snapshot_};
  ResolvedSelection resolved_;
  SummedRows rows_;
  size_t rows_with_samples_ = 0;
  int64_t middle_ns_ = 0;
};

}  // namespace

Result<StabilityRequest> parse_stability(const Parameters& parameters, int64_t now_ns) {
  StabilityRequest request;
  const auto read =
      read_parameters(parameters, now_ns, request.selection,
                      {by_parameter(request.by), count_parameter("top", kMaxTop, request.top),
                       number_parameter("tolerance", 0, 2, request.tolerance.distance),
                       count_parameter("permutations", kMaxPermutations, request.permutations)});
  if (!read) {
    return propagate(read);
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  return request;
}

Result<Table> stability(const StabilityRequest& request, const Snapshot& snapshot) {
  return StabilityQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
