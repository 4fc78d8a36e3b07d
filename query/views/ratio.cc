#include "query/views/ratio.h"

#include <optional>
#include <utility>

#include "query/rows/estimate_columns.h"
#include "query/rows/event_rows.h"
#include "query/rows/row_estimates.h"
#include "query/snapshot/event_pair.h"

namespace plimsoll::query {
namespace {

constexpr uint32_t kNumerator = EventPair::kNumeratorGroup;

class RatioQuery {
 public:
  RatioQuery(const RatioRequest& request, const EventPair& events, const Snapshot& snapshot)
      : request_(request),
        events_(events),
        snapshot_(snapshot),
        rows_(request.selection, events.distinct(), request.by, snapshot) {}

  Result<RatioRows> run() {
    if (auto summed = rows_.sum(events_.denominator_group(), request_.limit); !summed) {
      return propagate(summed);
    }
    if (auto sampled = request_.margins ? sample() : Status(); !sampled) {
      return propagate(sampled);
    }
    return make_rows();
  }

 private:
  Status sample() {
    const MachineSample sample(snapshot_, rows_.resolved().request.filter);
    const std::vector<Domain> domains =
        domains_of(sample, rows_.resolved().request.group[Column::kOrigin].table());
    const auto sampled = rows_.sample(sample);
    if (!sampled) {
      return propagate(sampled);
    }
    for (size_t row = 0; row < rows_.rows().size(); ++row) {
      estimates_.push_back(estimate_ratio(*sampled, row, kNumerator, events_.denominator_group(),
                                          domains[rows_.rows().keys[row].group[Column::kOrigin]]));
    }
    return {};
  }

  RatioRows make_rows() {
    const store::EventEntry& numerator_event = snapshot_.dictionaries.events[events_.numerator];
    const store::EventEntry& denominator_event = snapshot_.dictionaries.events[events_.denominator];
    RatioRows made{.event = fmt::format("{}/{}", numerator_event.name, denominator_event.name),
                   .ratio_unit = ratio_unit(numerator_event, denominator_event),
                   .numerator_unit = std::string(unit_name(numerator_event.unit)),
                   .denominator_unit = std::string(unit_name(denominator_event.unit)),
                   .dimensions = rows_.grouping().columns(),
                   .rows = {},
                   .notes = rows_.take_notes(),
                   .coverage = rows_.resolved().coverage};
    made.notes.insert(made.notes.end(), events_.notes.begin(), events_.notes.end());
    const SummedRows& rows = rows_.rows();
    for (size_t row = 0; row < rows.size(); ++row) {
      const double over = rows.of(row, kNumerator).self;
      const double under = rows.of(row, events_.denominator_group()).self;
      made.rows.push_back({.key = rows_.grouping().texts(rows.keys[row]),
                           .ratio = over > 0 && under > 0 ? std::optional(over / under) : std::nullopt,
                           .estimate = estimates_.empty() ? std::nullopt : std::optional(estimates_[row]),
                           .numerator = over,
                           .denominator = under});
    }
    return made;
  }

  const RatioRequest& request_;
  const EventPair events_;
  const Snapshot& snapshot_;
  EventRows rows_;
  std::vector<statistics::Estimate> estimates_;  // by row
};

Table table_of(RatioRows ratios) {
  Table table;
  table.event = std::move(ratios.event);
  table.notes = std::move(ratios.notes);
  table.coverage = std::move(ratios.coverage);
  table.columns = std::move(ratios.dimensions);
  const TableColumn ratio{"ratio", ratios.ratio_unit};
  table.columns.push_back(ratio);
  add_estimate_columns(ratio, "margin_kind", table.columns);
  table.columns.push_back({"numerator", ratios.numerator_unit});
  table.columns.push_back({"denominator", ratios.denominator_unit});
  table.columns.push_back({"machines", "count"});
  for (RatioRow& row : ratios.rows) {
    std::vector<Value>& values = table.rows.emplace_back();
    for (std::string& text : row.key) {
      values.emplace_back(std::move(text));
    }
    values.push_back(value_or_absent(row.ratio));
    add_estimate(row.estimate ? &*row.estimate : nullptr, values);
    values.emplace_back(row.numerator);
    values.emplace_back(row.denominator);
    values.push_back(count_or_absent(row.estimate ? std::optional(row.estimate->machines) : std::nullopt));
  }
  return table;
}

}  // namespace

Parameter ratio_parameter(std::string& ratio) {
  return {"ratio", [&ratio](const std::string& text) -> Status {
            const auto parsed = parse_ratio(text);
            if (!parsed) {
              return propagate(parsed);
            }
            ratio = *parsed;
            return {};
          }};
}

Result<RatioRows> ratio_rows(const RatioRequest& request, const Snapshot& snapshot) {
  const auto events = find_pair(request.ratio, snapshot);
  return events ? RatioQuery(request, *events, snapshot).run() : propagate(events);
}

Result<Table> ratio_table(const RatioRequest& request, const Snapshot& snapshot) {
  auto ratios = ratio_rows(request, snapshot);
  return ratios ? Result<Table>(table_of(*std::move(ratios))) : propagate(ratios);
}

}  // namespace plimsoll::query
