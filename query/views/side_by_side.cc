#include "query/views/side_by_side.h"

#include <algorithm>
#include <optional>

#include "query/rows/estimate_columns.h"
#include "query/rows/event_rows.h"
#include "query/rows/row_estimates.h"
#include "query/snapshot/event_lookup.h"
#include "query/snapshot/event_pair.h"

namespace plimsoll::query {
namespace {

// The one that the others are over, and rows stand by.
constexpr size_t kFirst = 0;

class SideBySideQuery {
 public:
  SideBySideQuery(const SideBySideRequest& request, const std::vector<uint32_t>& events,
                  const Snapshot& snapshot)
      : request_(request), snapshot_(snapshot), rows_(request.selection, events, request.by, snapshot) {
    for (const uint32_t event : events) {
      events_.push_back(&snapshot.dictionaries.events[event]);
    }
  }

  Result<Table> run() {
    if (auto summed = rows_.sum(kFirst, request_.limit); !summed) {
      return propagate(summed);
    }
    if (auto sampled = request_.margins ? sample() : Status(); !sampled) {
      return propagate(sampled);
    }
    return make_table();
  }

 private:
  // Of a row its share of the first event, then each other event over that.
  Status sample() {
    const MachineSample sample(snapshot_, rows_.resolved().request.filter);
    const std::vector<Domain> domains =
        domains_of(sample, rows_.resolved().request.group[Column::kOrigin].table());
    const auto sampled = rows_.sample(sample);
    if (!sampled) {
      return propagate(sampled);
    }
    constexpr std::array<double RowValues::*, 1> kParts{&RowValues::self};
    const std::vector<statistics::Estimate> shares = estimate_shares(*sampled, kParts, whole_domain(sample));
    for (size_t row = 0; row < rows_.rows().size(); ++row) {
      estimates_.push_back(shares[row]);
      for (size_t event = 1; event < rows_.events(); ++event) {
        estimates_.push_back(estimate_ratio(*sampled, row, event, kFirst,
                                            domains[rows_.rows().keys[row].group[Column::kOrigin]]));
      }
    }
    return {};
  }

  const statistics::Estimate* estimate(size_t row, size_t event) const {
    return estimates_.empty() ? nullptr : &estimates_[row * rows_.events() + event];
  }

  std::string ratio_name(size_t event) const {
    return fmt::format("{}/{}", events_[event]->name, events_[kFirst]->name);
  }

  void add_columns(Table& table) const {
    table.columns = rows_.grouping().columns();
    for (size_t event = 0; event < rows_.events(); ++event) {
      const std::string& name = events_[event]->name;
      table.columns.push_back({name, std::string(unit_name(events_[event]->unit))});
      const TableColumn share{name + "_share", "share"};
      table.columns.push_back(share);
      if (event == kFirst) {
        add_estimate_columns(share, name + "_margin_kind", table.columns);
        continue;
      }
      const TableColumn ratio{ratio_name(event), ratio_unit(*events_[event], *events_[kFirst])};
      table.columns.push_back(ratio);
      add_estimate_columns(ratio, ratio.name + "_margin_kind", table.columns);
    }
  }

  void add_row(size_t row, Table& table) const {
    const SummedRows& rows = rows_.rows();
    auto& values = table.rows.emplace_back();
    rows_.grouping().add_texts(rows.keys[row], values);
    const double first = rows.of(row, kFirst).self;
    for (size_t event = 0; event < rows_.events(); ++event) {
      const double value = rows.of(row, event).self;
      const double whole = rows_.whole(event);
      values.emplace_back(value);
      values.emplace_back(whole == 0 ? 0 : value / whole);
      if (event != kFirst) {
        values.push_back(
            value_or_absent(value > 0 && first > 0 ? std::optional(value / first) : std::nullopt));
      }
      add_estimate(estimate(row, event), values);
    }
  }

  Table make_table() {
    Table table;
    table.event = events_[kFirst]->name;
    for (size_t event = 1; event < rows_.events(); ++event) {
      table.event += ", " + events_[event]->name;
    }
    table.notes = rows_.take_notes();
    table.coverage = rows_.resolved().coverage;
    add_columns(table);
    for (size_t row = 0; row < rows_.rows().size(); ++row) {
      add_row(row, table);
    }
    return table;
  }

  const SideBySideRequest& request_;
  const Snapshot& snapshot_;
  std::vector<const store::EventEntry*> events_;
  EventRows rows_;
  std::vector<statistics::Estimate> estimates_;  // row-major, by event; empty: not asked for
};

Result<std::vector<uint32_t>> find_events(const SideBySideRequest& request, const Snapshot& snapshot) {
  std::vector<std::string> names{request.selection.event};
  names.insert(names.end(), request.beside.begin(), request.beside.end());
  std::vector<uint32_t> events;
  for (const std::string& name : names) {
    const auto event = find_event(name, snapshot);
    if (!event) {
      return events.empty() ? propagate(event) : with_field(propagate(event), "compare_event");
    }
    if (std::ranges::find(events, event->id) != events.end()) {
      return with_field(
          fail(ErrorCode::kInvalid, "event {} is listed twice", snapshot.dictionaries.events[event->id].name),
          "compare_event");
    }
    events.push_back(event->id);
  }
  return events;
}

}  // namespace

Result<Table> side_by_side(const SideBySideRequest& request, const Snapshot& snapshot) {
  const auto events = find_events(request, snapshot);
  return events ? SideBySideQuery(request, *events, snapshot).run() : propagate(events);
}

}  // namespace plimsoll::query
