#include "query/views/diff.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "base/run_both.h"
#include "base/time.h"
#include "query/rows/grouping.h"
#include "query/rows/machine_windows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/sampled_rows.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/statistics/difference.h"
#include "query/statistics/stability/row_changes.h"
#include "query/statistics/student_t.h"
#include "query/views/estimate_columns.h"

namespace plimsoll::query {
namespace {

// A row's part that is compared.
struct Part {
  const char* name;
  double RowValues::* values;
};
constexpr std::array<Part, 2> kParts{{{"self", &RowValues::self}, {"total", &RowValues::total}}};

// One of the two selections.
struct Half {
  const Selection* selection = nullptr;
  ResolvedSelection resolved;
  double samples = 0;
  double whole = 0;  // what values are divided by
  // By unit of the joint sample, of the rows that margins are asked for.
  SampledRows sampled;
  UnitColumn whole_by_unit;
  size_t machines = 0;
};

struct DiffRow {
  RowKey key;
  std::array<RowValues, 2> values;  // of base and other
};

class DiffQuery {
 public:
  DiffQuery(const DiffRequest& request, const Snapshot& snapshot) : request_(request), snapshot_(snapshot) {
    halves_[kBase].selection = &request.base;
    halves_[kOther].selection = &request.other;
  }

  Result<Table> run() {
    for (Half& half : halves_) {
      auto resolved = resolve(*half.selection, snapshot_);
      if (!resolved) {
        return propagate(resolved);
      }
      half.resolved = std::move(*resolved);
      grouping_.add_groups(half.resolved.request);
    }
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    const size_t rows = rows_.size();
    if (request_.margins) {
      keep_largest();
      if (auto judged = judge(); !judged) {
        return propagate(judged);
      }
    }
    rank();
    if (request_.margins) {
      if (auto estimated = estimate(shown_); !estimated) {
        return propagate(estimated);
      }
    }
    return make_table(rows);
  }

 private:
  static constexpr size_t kBase = 0;
  static constexpr size_t kOther = 1;
  static constexpr std::array<const char*, 2> kNames{"base", "new"};

  uint32_t event() const { return halves_[kOther].resolved.event; }

  // What `of_half` gives, or an error, of both halves, worked out at once.
  template <typename OfHalf>
  static auto of_both(const OfHalf& of_half) {
    std::array<decltype(of_half(kBase)), 2> results;
    run_both([&] { results[kBase] = of_half(kBase); }, [&] { results[kOther] = of_half(kOther); });
    return results;
  }

  Status sum() {
    std::array<SymbolCoverage, 2> symbols{SymbolCoverage(snapshot_), SymbolCoverage(snapshot_)};
    auto summed = of_both([&](size_t half) {
      return sum_selection(halves_[half].resolved.request, 1, 0, grouping_, snapshot_, symbols[half]);
    });
    for (const size_t half : {kBase, kOther}) {
      symbols_.add(symbols[half]);
      if (!summed[half]) {
        return propagate(summed[half], "summing up the {} side", kNames[half]);
      }
      if (auto taken = take(half, *summed[half]); !taken) {
        return taken;
      }
    }
    return {};
  }

  Status take(size_t number, const SummedSelection& summed) {
    Half& half = halves_[number];
    half.whole = summed.value;
    half.samples = summed.samples;
    if (half.whole <= 0) {
      return with_hint(with_field(fail(ErrorCode::kNotFound, "the {} side has no samples: {}", kNames[number],
                                       description(number)),
                                  fmt::format("{}_where", kNames[number])),
                       why_empty(*half.selection, snapshot_));
    }
    if (request_.measure == Measure::kRate) {
      const std::vector<double> by_origin = rate_exposures(half.resolved, snapshot_);
      half.whole = std::accumulate(by_origin.begin(), by_origin.end(), 0.0);
    }
    const SummedRows& rows = summed.rows;
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto [entry, is_new] = row_of_.try_emplace(rows.keys[row], rows_.size());
      if (is_new) {
        rows_.push_back({rows.keys[row], {}});
      }
      rows_[entry->second].values[number] = rows.of(row);
    }
    return {};
  }

  double measured(const DiffRow& row, size_t half, double RowValues::* part) const {
    return row.values[half].*part / halves_[half].whole;
  }
  double change(const DiffRow& row, double RowValues::* part) const {
    return measured(row, kOther, part) - measured(row, kBase, part);
  }

  // By what both sides have together, which says nothing of how they differ.
  void keep_largest() {
    std::vector<bool> is_kept(rows_.size());
    for (const Part& part : kParts) {
      std::vector<uint32_t> places(rows_.size());
      std::iota(places.begin(), places.end(), 0);
      const auto size = [&](uint32_t place) {
        return measured(rows_[place], kBase, part.values) + measured(rows_[place], kOther, part.values);
      };
      const auto last = places.begin() + static_cast<ptrdiff_t>(std::min(places.size(), request_.among));
      std::ranges::partial_sort(places, last, [&](uint32_t a, uint32_t b) {
        return size(a) != size(b) ? size(a) > size(b) : grouping_.less(rows_[a].key, rows_[b].key);
      });
      std::for_each(places.begin(), last, [&](uint32_t place) { is_kept[place] = true; });
    }
    std::vector<DiffRow> kept;
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (is_kept[row]) {
        kept.push_back(rows_[row]);
      }
    }
    rows_ = std::move(kept);
  }

  // Of which rows more than chance is seen; and where the machines are too few for that, margins of all rows.
  Status judge() {
    store::RowFilter either = halves_[kBase].resolved.request.filter;
    const store::RowFilter& other = halves_[kOther].resolved.request.filter;
    for (size_t origin = 0; origin < either.origins.size(); ++origin) {
      either.origins[origin] = either.origins[origin] || other.origins[origin];
    }
    sample_ = std::make_unique<const MachineSample>(snapshot_, either);
    all_ = std::make_unique<const Domain>(whole_domain(*sample_));
    std::vector<size_t> all(rows_.size());
    std::iota(all.begin(), all.end(), 0);
    const auto windows = windows_of_machines(all);
    if (!windows) {
      return propagate(windows);
    }
    const size_t tests = rows_.size() * kParts.size();
    const statistics::ChangesByChance by_chance = statistics::change_by_chance(
        (*windows)[kBase].window(), (*windows)[kOther].window(), {.rows = tests});
    if (by_chance.units >= kLeastUnits) {
      p_values_.assign(by_chance.p_values.begin(), by_chance.p_values.end());
      return {};
    }
    if (auto estimated = estimate(all); !estimated) {
      return propagate(estimated);
    }
    for (size_t test = 0; test < tests; ++test) {
      p_values_.push_back(p_value_by_counts(estimates_[test / kParts.size()][test % kParts.size()], tests));
    }
    return {};
  }

  std::vector<RowKey> keys_of(std::span<const size_t> rows) const {
    std::vector<RowKey> keys;
    for (const size_t row : rows) {
      keys.push_back(rows_[row].key);
    }
    return keys;
  }

  // By how much the halves' machines differ in these rows.
  Result<std::array<MachineWindow, 2>> windows_of_machines(std::span<const size_t> rows) {
    const OriginUnits machines = sample_->machines_of_origins();
    const RowSplitter splitter(keys_of(rows), 1, grouping_, snapshot_, {.samples = false});
    const auto tables =
        of_both([&](size_t half) { return splitter.tabulate(halves_[half].resolved.request, machines); });
    std::array<std::vector<double>, 2> whole;
    for (const size_t half : {kBase, kOther}) {
      if (!tables[half]) {
        return with_hint(propagate(tables[half]),
                         "look at fewer rows (among), or at no margins (margins=no)");
      }
      whole[half] = request_.measure == Measure::kRate
                        ? machines.sums(rate_exposures(halves_[half].resolved, snapshot_))
                        : tables[half]->whole;
    }
    return machine_windows({{{*tables[kBase], whole[kBase]}, {*tables[kOther], whole[kOther]}}}, *sample_);
  }

  // Fills estimates_ of `rows`, where that has not been done.
  Status estimate(std::span<const size_t> rows) {
    if (!estimates_.empty()) {
      return {};
    }
    const RowSplitter splitter(keys_of(rows), 1, grouping_, snapshot_);
    auto sampled = of_both([&](size_t half) {
      return splitter.split(halves_[half].resolved.request, sample_->units_of_origins());
    });
    for (const size_t number : {kBase, kOther}) {
      Half& half = halves_[number];
      if (!sampled[number]) {
        return with_hint(propagate(sampled[number]),
                         "ask for fewer rows (limit), or for no margins (margins=no)");
      }
      half.sampled = std::move(*sampled[number]);
      half.machines = MachineSample(snapshot_, half.resolved.request.filter).units();
      fill_whole(half.sampled, 0, *all_, half.whole_by_unit);
      if (request_.measure == Measure::kRate) {
        half.whole_by_unit.values =
            sample_->units_of_origins().sums(rate_exposures(half.resolved, snapshot_));
      }
    }
    estimates_.resize(rows_.size());
    const auto estimate_part = [&](size_t part) {
      for (size_t place = 0; place < rows.size(); ++place) {
        estimates_[rows[place]][part] = estimate(place, kParts[part]);
      }
    };
    run_both([&] { estimate_part(0); }, [&] { estimate_part(1); });
    return {};
  }

  statistics::Estimate estimate(size_t place, const Part& part) const {
    std::array<UnitColumn, 2> columns;
    const auto side = [&](size_t half) {
      fill(halves_[half].sampled, place, 0, part.values, *all_, columns[half]);
      return statistics::Side{row_sums_of(columns[half], halves_[half].whole_by_unit),
                              halves_[half].machines};
    };
    return statistics::difference(statistic_of(request_.measure), all_->design, side(kBase), side(kOther));
  }

  // Of one machine, all that is known is the noise of its counts. By Bonferroni.
  static std::optional<double> p_value_by_counts(const statistics::Estimate& estimate, size_t tests) {
    if (estimate.margin_kind != statistics::MarginKind::kWithinOneMachine) {
      return std::nullopt;
    }
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    const double standard_error =
        estimate.margin.value_or(0) / statistics::student_t_quantile(0.975, kEndless);
    if (standard_error <= 0) {
      return 1;
    }
    const double deviations = std::abs(estimate.value.value_or(0)) / standard_error;
    return std::min(1.0, 2 * statistics::student_t_cdf(-deviations, kEndless) * static_cast<double>(tests));
  }

  bool has_changed(size_t row, size_t part) const {
    return !p_values_.empty() && p_values_[row * kParts.size() + part].value_or(1) < kChangeLevel;
  }

  // Leaves in shown_ the rows to show, in their order.
  void rank() {
    shown_.resize(rows_.size());
    std::iota(shown_.begin(), shown_.end(), 0);
    struct Key {
      int tier;
      double first;
      double second;
    };
    std::vector<Key> keys;
    for (size_t row = 0; row < rows_.size(); ++row) {
      const double self = std::abs(change(rows_[row], &RowValues::self));
      const double total = std::abs(change(rows_[row], &RowValues::total));
      keys.push_back(has_changed(row, 0)   ? Key{0, self, total}
                     : has_changed(row, 1) ? Key{1, total, self}
                                           : Key{2, self, total});
    }
    const auto last = shown_.begin() + static_cast<ptrdiff_t>(std::min(shown_.size(), request_.limit));
    std::ranges::partial_sort(shown_, last, [&](size_t a, size_t b) {
      const Key& x = keys[a];
      const Key& y = keys[b];
      if (x.tier != y.tier) {
        return x.tier < y.tier;
      }
      if (x.first != y.first) {
        return x.first > y.first;
      }
      return x.second != y.second ? x.second > y.second : grouping_.less(rows_[a].key, rows_[b].key);
    });
    shown_.erase(last, shown_.end());
  }

  Table make_table(size_t rows) {
    Table table;
    const store::EventEntry& event = snapshot_.dictionaries.events[this->event()];
    table.event = event.name;
    add_notes(rows, table);
    add_coverage(table.coverage);
    table.columns = grouping_.columns();
    add_columns(event, table);
    for (const size_t row : shown_) {
      auto& values = table.rows.emplace_back();
      grouping_.add_texts(rows_[row].key, values);
      for (size_t part = 0; part < kParts.size(); ++part) {
        add_values(row, part, values);
      }
    }
    return table;
  }

  void add_columns(const store::EventEntry& event, Table& table) const {
    const TableColumn measure = measure_column(request_.measure, event);
    for (const Part& part : kParts) {
      for (const char* name : kNames) {
        table.columns.push_back({fmt::format("{}_{}_{}", name, part.name, measure.name), measure.unit});
      }
      const TableColumn change{fmt::format("{}_{}_change", part.name, measure.name), measure.unit};
      table.columns.push_back(change);
      add_estimate_columns(change, change.name + "_margin_kind", table.columns);
      table.columns.push_back({fmt::format("{}_p", part.name), "p"});
      table.columns.push_back({fmt::format("{}_verdict", part.name), ""});
    }
  }

  void add_values(size_t row, size_t part, std::vector<Value>& values) const {
    const double difference = change(rows_[row], kParts[part].values);
    values.emplace_back(measured(rows_[row], kBase, kParts[part].values));
    values.emplace_back(measured(rows_[row], kOther, kParts[part].values));
    values.emplace_back(difference);
    if (!request_.margins) {
      values.resize(values.size() + 6);
      return;
    }
    add_estimate(&estimates_[row][part], values);
    const std::optional<double>& p_value = p_values_[row * kParts.size() + part];
    values.push_back(value_or_absent(p_value));
    values.emplace_back(!p_value                   ? "cannot tell"
                        : *p_value >= kChangeLevel ? "may be chance"
                        : difference > 0           ? "more"
                                                   : "less");
  }

  std::string description(size_t number) const {
    const Half& half = halves_[number];
    std::vector<std::string> filters;
    for (const Predicate& predicate : half.selection->where) {
      filters.push_back(predicate.text());
    }
    const Coverage& coverage = half.resolved.coverage;
    return fmt::format("{}{}{} machine{}, {} to {}", fmt::join(filters, ", "), filters.empty() ? "" : "; ",
                       coverage.machines_drawn, coverage.machines_drawn == 1 ? "" : "s",
                       format_time(coverage.from_ns / kNsPerSecond * kNsPerSecond),
                       format_time(coverage.to_ns / kNsPerSecond * kNsPerSecond));
  }

  void add_notes(size_t rows, Table& table) const {
    table.notes = halves_[kOther].resolved.notes;
    for (const size_t half : {kBase, kOther}) {
      table.notes.push_back(
          fmt::format("{}: {:.0f} samples; {}", kNames[half], halves_[half].samples, description(half)));
    }
    if (request_.margins) {
      table.notes.push_back(
          fmt::format("p is the chance of any of the {} largest of {} rows changing so much without a cause; "
                      "under {} they are said "
                      "to have changed",
                      rows_.size(), rows, kChangeLevel));
    }
  }

  // Of both sides together; what is in both counts twice, but for machines.
  void add_coverage(Coverage& coverage) const {
    const Coverage& base = halves_[kBase].resolved.coverage;
    coverage = halves_[kOther].resolved.coverage;
    coverage.from_ns = std::min(coverage.from_ns, base.from_ns);
    coverage.to_ns = std::max(coverage.to_ns, base.to_ns);
    coverage.lost += base.lost;
    coverage.machines_drawn = static_cast<int64_t>(machines_of_either());
    coverage.machines_live = std::max(snapshot_.machines_registered, coverage.machines_drawn);
    symbols_.describe(coverage);
  }

  size_t machines_of_either() const {
    std::vector<bool> is_there(snapshot_.origins.machines);
    for (const store::OriginEventEntry& entry : snapshot_.dictionaries.origin_events) {
      if (entry.event == event() && (halves_[kBase].resolved.request.filter.origins[entry.origin] ||
                                     halves_[kOther].resolved.request.filter.origins[entry.origin])) {
        is_there[snapshot_.origins.machine_of(entry.origin)] = true;
      }
    }
    return static_cast<size_t>(std::ranges::count(is_there, true));
  }

  // Below, too few to tell chance by: of 7 pairs no permutation is rarer than 1 in 64.
  static constexpr size_t kLeastUnits = 8;

  const DiffRequest& request_;
  const Snapshot& snapshot_;
  Grouping grouping_{request_.by, hidden_frames(request_.base.hide, snapshot_), snapshot_};
  SymbolCoverage symbols_{snapshot_};
  std::array<Half, 2> halves_;
  boost::unordered_flat_map<RowKey, size_t, boost::hash<RowKey>> row_of_;
  std::vector<DiffRow> rows_;
  // The machines of either; absent: no margins are asked for.
  std::unique_ptr<const MachineSample> sample_;
  std::unique_ptr<const Domain> all_;
  std::vector<std::optional<double>> p_values_;                             // row-major, by part; likewise
  std::vector<std::array<statistics::Estimate, kParts.size()>> estimates_;  // by row, of those that are shown
  std::vector<size_t> shown_;
};

}  // namespace

Result<Table> diff(const DiffRequest& request, const Snapshot& snapshot) {
  return DiffQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
