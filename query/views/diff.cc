#include "query/views/diff.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "base/run_both.h"
#include "base/time.h"
#include "query/rows/change_judgement.h"
#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/selection/joint_coverage.h"

namespace plimsoll::query {
namespace {

// One of the two selections.
struct DiffSide {
  const Selection* selection = nullptr;
  ResolvedSelection resolved;
  double samples = 0;
  double whole = 0;               // what values are divided by
  std::vector<double> exposures;  // of rates: by origin, what that is made of
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
    for (DiffSide& half : halves_) {
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
    if (auto judged = request_.margins ? judge() : Status(); !judged) {
      return propagate(judged);
    }
    rank();
    if (auto estimated = request_.margins ? estimate() : Status(); !estimated) {
      return propagate(estimated);
    }
    return make_table(rows);
  }

 private:
  static constexpr size_t kBase = 0;
  static constexpr size_t kOther = 1;
  static constexpr std::array<const char*, 2> kNames{"base", "new"};

  uint32_t event() const { return halves_[kOther].resolved.event; }

  Status sum() {
    std::array<SymbolCoverage, 2> symbols{SymbolCoverage(snapshot_), SymbolCoverage(snapshot_)};
    auto summed = both_of([&](size_t half) {
      return sum_selection(halves_[half].resolved.request, 1, 0, grouping_, snapshot_, symbols[half]);
    });
    for (const size_t half : {kBase, kOther}) {
      symbols_.add(symbols[half]);
      if (!summed[half]) {
        return propagate(summed[half], "summing the {} side", kNames[half]);
      }
      if (auto taken = take(half, *summed[half]); !taken) {
        return taken;
      }
    }
    return {};
  }

  Status take(size_t number, const SummedSelection& summed) {
    DiffSide& half = halves_[number];
    half.whole = summed.value;
    half.samples = summed.samples;
    if (half.whole <= 0) {
      return with_hint(
          with_field(fail(ErrorCode::kNotFound, "the {} side has no samples of {}: {}", kNames[number],
                          snapshot_.dictionaries.events[half.resolved.event].name, description(number)),
                     fmt::format("{}_where", kNames[number])),
          why_empty(*half.selection, snapshot_));
    }
    if (request_.measure == Measure::kRate) {
      half.exposures = rate_exposures(half.resolved, snapshot_);
      half.whole = std::accumulate(half.exposures.begin(), half.exposures.end(), 0.0);
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
    for (const RowPart& part : kRowParts) {
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

  // Of which of the largest rows more than chance is seen.
  Status judge() {
    keep_largest();
    const auto side = [&](size_t half) {
      return JudgedSide{halves_[half].resolved.request, halves_[half].exposures};
    };
    judgement_ = std::make_unique<const ChangeJudgement>(
        statistic_of(request_.measure), std::array{side(kBase), side(kOther)}, grouping_, snapshot_);
    std::vector<RowKey> keys;
    for (const DiffRow& row : rows_) {
      keys.push_back(row.key);
    }
    auto p_values = judgement_->p_values(keys);
    if (!p_values) {
      return propagate(p_values);
    }
    p_values_ = std::move(*p_values);
    return {};
  }

  Status estimate() {
    std::vector<RowKey> keys;
    for (const size_t row : shown_) {
      keys.push_back(rows_[row].key);
    }
    auto estimates = judgement_->differences(keys);
    if (!estimates) {
      return propagate(estimates);
    }
    estimates_ = std::move(*estimates);
    return {};
  }

  bool has_changed(size_t row, size_t part) const {
    return !p_values_.empty() && p_values_[row * kRowParts.size() + part].value_or(1) < kChangeLevel;
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
    table.coverage = joint_coverage(halves_[kBase].resolved, halves_[kOther].resolved, snapshot_);
    symbols_.describe(table.coverage);
    table.columns = grouping_.columns();
    add_columns(event, table);
    for (size_t place = 0; place < shown_.size(); ++place) {
      auto& values = table.rows.emplace_back();
      grouping_.add_texts(rows_[shown_[place]].key, values);
      for (size_t part = 0; part < kRowParts.size(); ++part) {
        add_values(place, part, values);
      }
    }
    return table;
  }

  void add_columns(const store::EventEntry& event, Table& table) const {
    const TableColumn measure = measure_column(request_.measure, event);
    for (const RowPart& part : kRowParts) {
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

  void add_values(size_t place, size_t part, std::vector<Value>& values) const {
    const size_t row = shown_[place];
    const double difference = change(rows_[row], kRowParts[part].values);
    values.emplace_back(measured(rows_[row], kBase, kRowParts[part].values));
    values.emplace_back(measured(rows_[row], kOther, kRowParts[part].values));
    values.emplace_back(difference);
    if (!request_.margins) {
      values.resize(values.size() + 6);
      return;
    }
    add_estimate(&estimates_[place * kRowParts.size() + part], values);
    const std::optional<double>& p_value = p_values_[row * kRowParts.size() + part];
    values.push_back(value_or_absent(p_value));
    values.emplace_back(!p_value                   ? "cannot tell"
                        : *p_value >= kChangeLevel ? "may be chance"
                        : difference > 0           ? "more"
                                                   : "less");
  }

  std::string description(size_t number) const {
    const DiffSide& half = halves_[number];
    std::vector<std::string> filters;
    for (const Predicate& predicate : half.selection->where) {
      filters.push_back(predicate.text());
    }
    const Coverage& coverage = half.resolved.coverage;
    if (coverage.machines_drawn == 0) {
      return fmt::format("{}{}no machine", fmt::join(filters, ", "), filters.empty() ? "" : "; ");
    }
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
          fmt::format("p: probability that at least one of the {} largest of {} rows would change this much "
                      "by chance. Rows with p < {} are marked 'more' or 'less'",
                      rows_.size(), rows, kChangeLevel));
    }
  }

  const DiffRequest& request_;
  const Snapshot& snapshot_;
  Grouping grouping_{request_.by, hidden_frames(request_.base, snapshot_), snapshot_};
  SymbolCoverage symbols_{snapshot_};
  std::array<DiffSide, 2> halves_;
  boost::unordered_flat_map<RowKey, size_t, boost::hash<RowKey>> row_of_;
  std::vector<DiffRow> rows_;
  std::unique_ptr<const ChangeJudgement> judgement_;  // absent: no margins are asked for; likewise empty:
  std::vector<std::optional<double>> p_values_;       // row-major, by part
  std::vector<statistics::Estimate> estimates_;       // likewise, of the rows that are shown
  std::vector<size_t> shown_;
};

}  // namespace

Result<Table> diff(const DiffRequest& request, const Snapshot& snapshot) {
  return DiffQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
