#include "query/views/ratio.h"

#include <cmath>
#include <optional>

#include "query/rows/grouping.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/snapshot/event_pair.h"
#include "query/views/estimate_columns.h"

namespace plimsoll::query {
namespace {

class RatioQuery {
 public:
  RatioQuery(const RatioRequest& request, EventPair events, const Snapshot& snapshot)
      : request_(request),
        events_(events),
        snapshot_(snapshot),
        resolved_(resolve_together(request.selection, {events.numerator, events.denominator}, snapshot)) {}

  Result<Table> run() {
    grouping_.add_groups(resolved_.request);
    resolved_.request.event_group = events_.groups_of(snapshot_.dictionaries.events.size());
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    rank();
    if (auto sampled = request_.margins ? sample() : Status(); !sampled) {
      return propagate(sampled);
    }
    return make_table();
  }

 private:
  Status sample() {
    const MachineSample sample(snapshot_, resolved_.request.filter);
    const std::vector<Domain> domains = domains_of(sample, resolved_.request.origin_group);
    const auto sampled =
        sample_rows(resolved_.request, rows_.keys, rows_.events, sample, grouping_, snapshot_);
    if (!sampled) {
      return with_hint(propagate(sampled),
                       "ask for fewer rows (limit), or for none of their margins (margins=no)");
    }
    RowEstimates estimates(*sampled);
    for (size_t row = 0; row < rows_.size(); ++row) {
      estimates_.push_back(estimates.ratio(row, kNumerator, denominator(), domains[rows_.keys[row].origin]));
    }
    return {};
  }

  static constexpr uint32_t kNumerator = EventPair::kNumeratorGroup;
  uint32_t denominator() const { return events_.denominator_group(); }

  Status sum() {
    store::AggregateRequest request = resolved_.request;
    request.by_stack = true;  // the share without symbols needs the leaves in any case
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    SymbolCoverage symbols(snapshot_);
    double samples = 0;
    for (size_t i = 0; i < cells->size(); ++i) {
      samples += cells->sum(i, kSamples);
      if (cells->keys[i].event == denominator()) {
        symbols.add(cells->keys[i].stack, cells->sum(i, kValue), cells->sum(i, kSamples));
      }
    }
    symbols.describe(resolved_.coverage);
    resolved_.coverage.samples = std::llround(samples);
    rows_ = sum_rows(*cells, events_.groups(), grouping_, snapshot_);
    if (rows_.size() == 0) {
      resolved_.notes.push_back("nothing: " + why_empty(request_.selection, snapshot_));
    }
    return {};
  }

  // Leaves the rows to show, in their order: those of callers alone are none.
  void rank() {
    std::vector<uint32_t> places;
    for (uint32_t row = 0; row < rows_.size(); ++row) {
      if (rows_.of(row, kNumerator).self != 0 || rows_.of(row, denominator()).self != 0) {
        places.push_back(row);
      }
    }
    rows_ = first_rows(rows_, std::move(places), request_.limit, [&](uint32_t a, uint32_t b) {
      const double x = rows_.of(a, denominator()).self;
      const double y = rows_.of(b, denominator()).self;
      return x != y ? x > y : grouping_.less(rows_.keys[a], rows_.keys[b]);
    });
  }

  Table make_table() {
    const store::EventEntry& numerator_event = snapshot_.dictionaries.events[events_.numerator];
    const store::EventEntry& denominator_event = snapshot_.dictionaries.events[events_.denominator];
    Table table;
    table.event = fmt::format("{}/{}", numerator_event.name, denominator_event.name);
    table.notes = std::move(resolved_.notes);
    table.coverage = resolved_.coverage;
    table.columns = grouping_.columns();
    const TableColumn ratio{"ratio", table.event};
    table.columns.push_back(ratio);
    add_estimate_columns(ratio, "margin_kind", table.columns);
    table.columns.push_back({"numerator", std::string(unit_name(numerator_event.unit))});
    table.columns.push_back({"denominator", std::string(unit_name(denominator_event.unit))});
    table.columns.push_back({"machines", "count"});
    for (size_t row = 0; row < rows_.size(); ++row) {
      const double over = rows_.of(row, kNumerator).self;
      const double under = rows_.of(row, denominator()).self;
      auto& values = table.rows.emplace_back();
      grouping_.add_texts(rows_.keys[row], values);
      values.push_back(value_or_absent(over > 0 && under > 0 ? std::optional(over / under) : std::nullopt));
      const statistics::Estimate* const estimate = estimates_.empty() ? nullptr : &estimates_[row];
      add_estimate(estimate, values);
      values.emplace_back(over);
      values.emplace_back(under);
      values.push_back(
          count_or_absent(estimate == nullptr ? std::nullopt : std::optional(estimate->machines)));
    }
    return table;
  }

  const RatioRequest& request_;
  const EventPair events_;
  const Snapshot& snapshot_;
  ResolvedSelection resolved_;
  Grouping grouping_{request_.by, snapshot_};
  SummedRows rows_;
  std::vector<statistics::Estimate> estimates_;  // by row
};

}  // namespace

Result<Table> ratio_table(const RatioRequest& request, const Snapshot& snapshot) {
  const auto events = find_pair(request.ratio, snapshot);
  return events ? RatioQuery(request, *events, snapshot).run() : propagate(events);
}

}  // namespace plimsoll::query
