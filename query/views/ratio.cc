#include "query/views/ratio.h"

#include <optional>

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

  Result<Table> run() {
    if (auto summed = rows_.sum(events_.denominator_group(), request_.limit); !summed) {
      return propagate(summed);
    }
    if (auto sampled = request_.margins ? sample() : Status(); !sampled) {
      return propagate(sampled);
    }
    return make_table();
  }

 private:
  Status sample() {
    const MachineSample sample(snapshot_, rows_.resolved().request.filter);
    const std::vector<Domain> domains = domains_of(sample, rows_.resolved().request.group[Column::kOrigin]);
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

  Table make_table() {
    const store::EventEntry& numerator_event = snapshot_.dictionaries.events[events_.numerator];
    const store::EventEntry& denominator_event = snapshot_.dictionaries.events[events_.denominator];
    Table table;
    table.event = fmt::format("{}/{}", numerator_event.name, denominator_event.name);
    table.notes = rows_.take_notes();
    table.notes.insert(table.notes.end(), events_.notes.begin(), events_.notes.end());
    table.coverage = rows_.resolved().coverage;
    table.columns = rows_.grouping().columns();
    const TableColumn ratio{"ratio", table.event};
    table.columns.push_back(ratio);
    add_estimate_columns(ratio, "margin_kind", table.columns);
    table.columns.push_back({"numerator", std::string(unit_name(numerator_event.unit))});
    table.columns.push_back({"denominator", std::string(unit_name(denominator_event.unit))});
    table.columns.push_back({"machines", "count"});
    const SummedRows& rows = rows_.rows();
    for (size_t row = 0; row < rows.size(); ++row) {
      const double over = rows.of(row, kNumerator).self;
      const double under = rows.of(row, events_.denominator_group()).self;
      auto& values = table.rows.emplace_back();
      rows_.grouping().add_texts(rows.keys[row], values);
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
  EventRows rows_;
  std::vector<statistics::Estimate> estimates_;  // by row
};

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

Result<Table> ratio_table(const RatioRequest& request, const Snapshot& snapshot) {
  const auto events = find_pair(request.ratio, snapshot);
  return events ? RatioQuery(request, *events, snapshot).run() : propagate(events);
}

}  // namespace plimsoll::query
