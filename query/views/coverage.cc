#include "query/views/coverage.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/selection/machine_filter.h"
#include "query/selection/selected_events.h"
#include "query/snapshot/machine_attributes.h"
#include "store/model/wire_entries.h"

namespace plimsoll::query {
namespace {

struct FleetMachine {
  store::MachineEntry attributes;  // newest
  int64_t attributes_from_ns = INT64_MIN;
  int64_t observed_ns = 0;
  bool is_seen = false;
  std::optional<double> cpus_used = {};
};

using Group = std::vector<std::string>;

// Machines that are counted together.
struct Covered {
  int64_t machines = 0;
  int64_t machines_seen = 0;
  int64_t observed_ns = 0;
  bool has_census = false;
  double cpus_used = 0;
  double cpus_seen = 0;
  Coverage samples;  // and what is missing from them

  std::optional<double> cpus_seen_share() const {
    return cpus_used > 0 ? std::optional(cpus_seen / cpus_used) : std::nullopt;
  }
};

class CoverageQuery {
 public:
  CoverageQuery(const CoverageRequest& request, const Snapshot& snapshot, const LiveFleet& fleet)
      : request_(request),
        snapshot_(snapshot),
        fleet_(fleet),
        grouping_(request.by, hidden_frames(request.selection, snapshot), snapshot) {}

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    add_live_machines();
    add_machines_seen();
    count_machines();
    if (auto counted = count_samples(); !counted) {
      return propagate(counted);
    }
    return make_table();
  }

 private:
  void add_live_machines() {
    for (const store::LiveMachine& live : fleet_.machines) {
      const store::MachineEntry entry = store::machine_entry(live.attributes);
      if (live.is_live(request_.now_ns) && is_asked_about(entry, request_.selection.where)) {
        machines_[entry.machine_id] = {.attributes = entry, .attributes_from_ns = live.last_seen_ns};
      }
    }
    for (const store::Census& census : fleet_.censuses) {
      const auto machine = machines_.find(census.machine_id);
      if (machine == machines_.end() || census.interval_ns <= 0) {
        continue;
      }
      int64_t cpu_time_ns = 0;
      for (const wire::InstanceUsage& usage : census.instances) {
        cpu_time_ns += usage.cpu_time_ns();
      }
      machine->second.cpus_used = static_cast<double>(cpu_time_ns) / static_cast<double>(census.interval_ns);
    }
  }

  void add_machines_seen() {
    const store::Dictionaries& dictionaries = snapshot_.dictionaries;
    const store::RowFilter& filter = resolved_.request.filter;
    std::vector<bool> is_counted(dictionaries.origins.size());
    for_each_selected(snapshot_, filter, [&](const store::OriginEventEntry& entry) {
      if (is_counted[entry.origin]) {
        return;
      }
      is_counted[entry.origin] = true;
      const store::OriginEntry& origin = dictionaries.origins[entry.origin];
      const store::MachineEntry& attributes = dictionaries.machines[origin.machine];
      FleetMachine& machine = machines_[attributes.machine_id];
      machine.is_seen = true;
      machine.observed_ns += origin.to_ns - origin.from_ns;
      if (origin.to_ns > machine.attributes_from_ns) {
        machine.attributes = attributes;
        machine.attributes_from_ns = origin.to_ns;
      }
    });
  }

  void count_machines() {
    for (const auto& [id, machine] : machines_) {
      Group group;
      for (const Dimension& dimension : request_.by) {
        group.emplace_back(machine_value(machine.attributes, dimension.name).value_or(""));
      }
      for (Covered* part : {&parts_[group], &all_}) {
        ++part->machines;
        part->machines_seen += machine.is_seen ? 1 : 0;
        part->observed_ns += machine.observed_ns;
        part->has_census |= machine.cpus_used.has_value();
        part->cpus_used += machine.cpus_used.value_or(0);
        part->cpus_seen += machine.is_seen ? machine.cpus_used.value_or(0) : 0;
      }
    }
  }

  Status count_samples() {
    grouping_.add_groups(resolved_.request);
    resolved_.request.group[Column::kStack] = store::IdGrouping::each();
    const auto cells = snapshot_.rows->aggregate(resolved_.request);
    if (!cells) {
      return propagate(cells);
    }
    SymbolCoverage all(snapshot_);
    std::map<uint32_t, SymbolCoverage> by_group;
    for (size_t i = 0; i < cells->size(); ++i) {
      const store::CellKey& key = cells->keys[i];
      for (SymbolCoverage* symbols :
           {&all, &by_group.try_emplace(key[Column::kOrigin], snapshot_).first->second}) {
        symbols->add(key[Column::kStack], cells->sum(i, kValue), cells->sum(i, kSamples));
      }
    }
    all.describe(resolved_.coverage);
    for (const auto& [number, symbols] : by_group) {
      std::vector<Value> texts;
      RowKey key;
      key.group[Column::kOrigin] = number;
      grouping_.add_texts(key, texts);
      Group group;
      for (const Value& text : texts) {
        group.push_back(std::get<std::string>(text));
      }
      symbols.describe(parts_[group].samples);
    }
    return {};
  }

  void add_notes(Table& table) const {
    table.notes = resolved_.notes;
    if (resolved_.coverage.machines_drawn == 0) {
      table.notes.push_back("no results: " + why_empty(request_.selection, snapshot_));
    }
    if (const auto share = all_.cpus_seen_share()) {
      table.notes.push_back(
          fmt::format("{} of {} machines have profiles; they have {} of the CPU time in the newest censuses",
                      all_.machines_seen, all_.machines, readable(*share, "share")));
    }
  }

  void add_row(const Group& group, const Covered& part, Table& table) const {
    auto& row = table.rows.emplace_back(group.begin(), group.end());
    row.emplace_back(part.machines);
    row.emplace_back(part.machines_seen);
    row.push_back(value_or_absent(part.machines == 0 ? std::nullopt
                                                     : std::optional(static_cast<double>(part.machines_seen) /
                                                                     static_cast<double>(part.machines))));
    row.push_back(value_or_absent(part.has_census ? std::optional(part.cpus_used) : std::nullopt));
    row.push_back(value_or_absent(part.cpus_seen_share()));
    row.emplace_back(static_cast<double>(part.observed_ns));
    row.emplace_back(part.samples.samples);
    const bool has_samples = part.samples.samples > 0;
    for (const double share : {part.samples.stackless_share, part.samples.unsymbolized_share}) {
      row.push_back(value_or_absent(has_samples ? std::optional(share) : std::nullopt));
    }
  }

  Table make_table() const {
    Table table;
    table.event = snapshot_.dictionaries.events[resolved_.event].name;
    add_notes(table);
    table.coverage = resolved_.coverage;
    table.columns = grouping_.columns();
    table.columns.insert(table.columns.end(), {{"machines", "count"},
                                               {"machines_seen", "count"},
                                               {"machines_seen_share", "share"},
                                               {"cpus_used", "CPUs"},
                                               {"cpus_seen_share", "share"},
                                               {"observed", "ns"},
                                               {"samples", "count"},
                                               {"stackless_share", "share"},
                                               {"unsymbolized_share", "share"}});
    std::vector<std::pair<const Group*, const Covered*>> order;
    for (const auto& [group, part] : parts_) {
      order.emplace_back(&group, &part);
    }
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.second->machines != b.second->machines ? a.second->machines > b.second->machines
                                                      : *a.first < *b.first;
    });
    order.resize(std::min(order.size(), request_.limit));
    for (const auto& [group, part] : order) {
      add_row(*group, *part, table);
    }
    return table;
  }

  const CoverageRequest& request_;
  const Snapshot& snapshot_;
  const LiveFleet& fleet_;
  Grouping grouping_;
  ResolvedSelection resolved_;
  std::map<std::string, FleetMachine> machines_;  // by ID
  std::map<Group, Covered> parts_;
  Covered all_;
};

}  // namespace

Result<CoverageRequest> parse_coverage(const Parameters& parameters, int64_t now_ns) {
  CoverageRequest request{.selection = {}, .by = {}, .now_ns = now_ns};
  const auto read =
      read_parameters(parameters, now_ns, request.selection,
                      {by_parameter(request.by), count_parameter("limit", kMaxRows, request.limit)});
  if (!read) {
    return propagate(read);
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("platform"));
  }
  for (const Dimension& dimension : request.by) {
    if (!is_machine_attribute(dimension.name)) {
      return with_field(
          fail(ErrorCode::kInvalid,
               "{} is not an attribute of machines: by takes platform, cluster, kernel, machine and similar",
               dimension.name),
          "by");
    }
  }
  return request;
}

Result<Table> coverage(const CoverageRequest& request, const Snapshot& snapshot, const LiveFleet& fleet) {
  return CoverageQuery(request, snapshot, fleet).run();
}

}  // namespace plimsoll::query
