#include "query/rows/change_judgement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/run_both.h"
#include "query/rows/machine_windows.h"
#include "query/rows/per_machine_rows.h"
#include "query/selection/selection.h"
#include "statistics/difference.h"
#include "statistics/stability/row_changes.h"
#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

// Below, too few to tell chance by: of 7 pairs no permutation is rarer than 1 in 64.
constexpr size_t kMinUnits = 8;

// Of one machine, all that is known is the noise of its counts. By Bonferroni.
std::optional<double> p_value_by_counts(const statistics::Estimate& estimate, size_t tests) {
  if (estimate.margin_kind != statistics::MarginKind::kWithinOneMachine) {
    return std::nullopt;
  }
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const double standard_error = estimate.margin.value_or(0) / statistics::student_t_quantile(0.975, kEndless);
  if (standard_error <= 0) {
    return 1;
  }
  const double deviations = std::abs(estimate.value.value_or(0)) / standard_error;
  return std::min(1.0, 2 * statistics::student_t_cdf(-deviations, kEndless) * static_cast<double>(tests));
}

}  // namespace

ChangeJudgement::ChangeJudgement(statistics::Statistic statistic, std::array<JudgedSide, 2> sides,
                                 const Grouping& grouping, const Snapshot& snapshot)
    : statistic_(statistic),
      sides_(std::move(sides)),
      grouping_(grouping),
      snapshot_(snapshot),
      sample_(snapshot, of_origins_of_either(sides_[0].request.filter, sides_[1].request.filter)),
      all_(whole_domain(sample_)) {}

Result<std::vector<std::optional<double>>> ChangeJudgement::p_values(std::span<const RowKey> rows) const {
  const OriginUnits machines = sample_.machines_of_origins();
  const RowSplitter splitter(rows, 1, grouping_, snapshot_, {.squares = false});
  auto tables = both_of([&](size_t side) { return splitter.tabulate(sides_[side].request, machines); });
  std::array<std::vector<double>, 2> exposures;
  for (size_t side = 0; side < sides_.size(); ++side) {
    if (!tables[side]) {
      return with_hint(propagate(tables[side]), "test fewer rows (among), or give margins=no");
    }
    if (!sides_[side].exposures.empty()) {
      exposures[side] = machines.sums(sides_[side].exposures);
    }
  }
  const std::array<MachineWindow, 2> windows = machine_windows(
      {{{*std::move(tables[0]), exposures[0]}, {*std::move(tables[1]), exposures[1]}}}, sample_);
  const statistics::ChangesByChance by_chance = statistics::change_by_chance(
      windows[0].window(), windows[1].window(), {.rows = rows.size() * kRowParts.size()});
  if (by_chance.units < kMinUnits) {
    return p_values_by_counts(rows);
  }
  return std::vector<std::optional<double>>(by_chance.p_values.begin(), by_chance.p_values.end());
}

Result<std::vector<std::optional<double>>> ChangeJudgement::p_values_by_counts(
    std::span<const RowKey> rows) const {
  const auto estimates = differences(rows);
  if (!estimates) {
    return propagate(estimates);
  }
  std::vector<std::optional<double>> p_values;
  for (const statistics::Estimate& estimate : *estimates) {
    p_values.push_back(p_value_by_counts(estimate, estimates->size()));
  }
  return p_values;
}

Result<std::vector<statistics::Estimate>> ChangeJudgement::differences(std::span<const RowKey> rows) const {
  const RowSplitter splitter(rows, 1, grouping_, snapshot_);
  const OriginUnits& sampling_units = sample_.sampling_units_of_origins();
  const auto sampled =
      both_of([&](size_t side) { return splitter.split(sides_[side].request, sampling_units); });
  std::array<UnitColumn, 2> whole;
  std::array<size_t, 2> machines{};
  for (size_t side = 0; side < sides_.size(); ++side) {
    if (!sampled[side]) {
      return with_hint(propagate(sampled[side]), "select fewer rows (limit), or give margins=no");
    }
    machines[side] = MachineSample(snapshot_, sides_[side].request.filter).sampling_units();
    fill_whole(*sampled[side], 0, all_, whole[side]);
    if (!sides_[side].exposures.empty()) {
      whole[side].values = sampling_units.sums(sides_[side].exposures);
    }
  }
  std::vector<statistics::Estimate> estimates(rows.size() * kRowParts.size());
  const auto estimate_part = [&](size_t part) {
    std::array<UnitColumn, 2> columns;
    const auto side_of = [&](size_t row, size_t side) {
      fill(*sampled[side], row, 0, kRowParts[part].values, all_, columns[side]);
      return statistics::Side{row_sums_of(columns[side], whole[side]), machines[side]};
    };
    for (size_t row = 0; row < rows.size(); ++row) {
      estimates[row * kRowParts.size() + part] =
          statistics::difference(statistic_, all_.design, side_of(row, 0), side_of(row, 1));
    }
  };
  run_both([&] { estimate_part(0); }, [&] { estimate_part(1); });
  return estimates;
}

}  // namespace plimsoll::query
