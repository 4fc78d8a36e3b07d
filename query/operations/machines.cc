#include "query/operations/machines.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "base/time.h"
#include "store/fleet.h"

namespace plimsoll::query {
namespace {

struct MachineRow {
  wire::Machine attributes;
  std::string rack;
  std::string owner;
  std::vector<std::string> missing_events;
  int64_t refused = 0;
  std::string refused_why;
  std::string state;
  int64_t first_seen_ns = 0;
  int64_t last_seen_ns = 0;
  const store::Census* census = nullptr;
  std::span<const store::PlacedJob> past_jobs = {};
};

Value cpus(double value) {
  return value > 0 ? Value(value) : Value();
}

// CPUs that were busy, where there is an interval to say so.
Value cpus_used(int64_t cpu_time_ns, int64_t interval_ns) {
  return interval_ns > 0 ? Value(static_cast<double>(cpu_time_ns) / static_cast<double>(interval_ns))
                         : Value();
}

Value time(int64_t wall_ns) {
  return wall_ns == 0 ? Value() : format_time(wall_ns / kNsPerSecond * kNsPerSecond);
}

wire::Machine attributes_of(const store::MachineEntry& entry) {
  wire::Machine machine;
  machine.set_id(entry.machine_id);
  machine.set_hostname(entry.hostname);
  machine.set_datacenter(entry.datacenter);
  machine.set_cluster(entry.cluster);
  machine.set_platform(entry.platform);
  machine.set_architecture(entry.architecture);
  machine.set_kernel_release(entry.kernel);
  machine.set_cores(static_cast<uint32_t>(entry.cores));
  machine.set_daemon_version(entry.daemon_version);
  return machine;
}

// Machines that only profiles tell of, with the attributes of the newest.
void add_from_profiles(const MachinesRequest& request, const Snapshot& snapshot,
                       std::map<std::string, MachineRow>& rows) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  for (size_t id = 1; id < dictionaries.origins.size(); ++id) {
    const store::OriginEntry& origin = dictionaries.origins[id];
    if (request.is_past && origin.from_ns > request.now_ns) {
      continue;
    }
    const store::MachineEntry& entry = dictionaries.machines[origin.machine];
    const auto [found, is_new] = rows.try_emplace(entry.machine_id);
    MachineRow& row = found->second;
    if (is_new) {
      row.state = "profiles";
      row.first_seen_ns = origin.from_ns;
    }
    if (row.state != "profiles") {
      continue;
    }
    row.first_seen_ns = std::min(row.first_seen_ns, origin.from_ns);
    if (origin.to_ns >= row.last_seen_ns) {
      row.last_seen_ns = origin.to_ns;
      row.attributes = attributes_of(entry);
    }
  }
}

std::string state_of(const store::LiveMachine& machine, int64_t now_ns) {
  if (machine.first_seen_ns == 0) {
    return "unheard";
  }
  return machine.is_live(now_ns) ? "live" : "gone";
}

std::vector<MachineRow> all_machines(const MachinesRequest& request, const Snapshot& snapshot,
                                     const LiveFleet& fleet) {
  std::map<std::string, MachineRow> by_id;
  for (const store::LiveMachine& machine : fleet.machines) {
    by_id[machine.attributes.id()] = {.attributes = machine.attributes,
                                      .rack = machine.rack,
                                      .owner = machine.owner,
                                      .missing_events = machine.missing_events,
                                      .refused = machine.refused,
                                      .refused_why = machine.refused_why,
                                      .state = state_of(machine, request.now_ns),
                                      .first_seen_ns = machine.first_seen_ns,
                                      .last_seen_ns = machine.last_seen_ns};
  }
  for (size_t number = 0; number < fleet.past_jobs.machines(); ++number) {
    by_id[fleet.machines[number].attributes.id()].past_jobs = fleet.past_jobs.of(number);
  }
  for (const store::Census& census : fleet.censuses) {
    if (const auto found = by_id.find(census.machine_id); found != by_id.end()) {
      found->second.census = &census;
    }
  }
  add_from_profiles(request, snapshot, by_id);
  std::vector<MachineRow> rows;
  for (auto& [id, row] : by_id) {
    rows.push_back(std::move(row));
  }
  // The map has them by ID; live ones stand first.
  std::ranges::sort(rows, [](const MachineRow& a, const MachineRow& b) {
    return std::pair(a.state != "live", a.attributes.id()) < std::pair(b.state != "live", b.attributes.id());
  });
  return rows;
}

// All that runs on a machine, together.
struct Instances {
  bool is_known = false;
  int64_t count = 0;
  double quota_cpus = 0;
  Value cpus_used;
};

Instances instances_of(const MachineRow& row) {
  Instances all{.is_known = row.census != nullptr || !row.past_jobs.empty(), .cpus_used = Value()};
  for (const store::PlacedJob& placed : row.past_jobs) {
    all.count += placed.instances;
    all.quota_cpus += placed.quota_cpus;
  }
  if (row.census != nullptr) {
    int64_t cpu_time_ns = 0;
    for (const wire::InstanceUsage& usage : row.census->instances) {
      ++all.count;
      all.quota_cpus += usage.quota_cpus();
      cpu_time_ns += usage.cpu_time_ns();
    }
    all.cpus_used = cpus_used(cpu_time_ns, row.census->interval_ns);
  }
  return all;
}

void add_machine(const MachineRow& row, Table& table) {
  const wire::Machine& machine = row.attributes;
  const Instances instances = instances_of(row);
  table.rows.push_back({machine.id(),
                        machine.hostname(),
                        row.state,
                        machine.platform(),
                        int64_t{machine.cores()},
                        machine.architecture(),
                        machine.kernel_release(),
                        machine.datacenter(),
                        machine.cluster(),
                        row.rack,
                        row.owner,
                        machine.daemon_version(),
                        time(row.first_seen_ns),
                        time(row.last_seen_ns),
                        instances.is_known ? Value(instances.count) : Value(),
                        cpus(instances.quota_cpus),
                        instances.cpus_used,
                        fmt::format("{}", fmt::join(row.missing_events, " ")),
                        row.refused > 0 ? Value(row.refused) : Value(),
                        row.refused_why});
}

void add_instances(const LiveFleet& fleet, Table& table) {
  struct Row {
    const store::Census* census;
    const wire::InstanceUsage* usage;
    double used;
  };
  std::vector<Row> rows;
  for (const store::Census& census : fleet.censuses) {
    for (const wire::InstanceUsage& usage : census.instances) {
      const auto interval_ns = static_cast<double>(std::max<int64_t>(1, census.interval_ns));
      rows.push_back({&census, &usage, static_cast<double>(usage.cpu_time_ns()) / interval_ns});
    }
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    return a.used != b.used ? a.used > b.used
                            : std::tie(a.census->machine_id, a.usage->instance(), a.usage->job()) <
                                  std::tie(b.census->machine_id, b.usage->instance(), b.usage->job());
  });
  for (const Row& row : rows) {
    const wire::InstanceUsage& usage = *row.usage;
    table.rows.push_back({row.census->machine_id, usage.job(), usage.instance(), usage.container(),
                          cpus(usage.quota_cpus()), usage.weight() > 0 ? Value(usage.weight()) : Value(),
                          cpus_used(usage.cpu_time_ns(), row.census->interval_ns),
                          time(row.census->taken_ns)});
  }
}

void add_coverage(const std::vector<MachineRow>& rows, Coverage& coverage) {
  for (const MachineRow& row : rows) {
    if (row.first_seen_ns == 0) {
      continue;
    }
    coverage.from_ns =
        coverage.to_ns == 0 ? row.first_seen_ns : std::min(coverage.from_ns, row.first_seen_ns);
    coverage.to_ns = std::max(coverage.to_ns, row.last_seen_ns);
    coverage.machines_live += row.state == "live" ? 1 : 0;
    ++coverage.machines_drawn;
  }
}

}  // namespace

Result<MachinesRequest> parse_machines(const Parameters& parameters, int64_t now_ns) {
  MachinesRequest request{.now_ns = now_ns};
  const std::array known{Parameter{"by",
                                   [&request](const std::string& text) -> Status {
                                     if (text != "machine" && text != "instance") {
                                       return invalid_parameter("by", text, "machine or instance");
                                     }
                                     request.by_instance = text == "instance";
                                     return {};
                                   }},
                         at_parameter(request.now_ns, request.is_past)};
  if (auto read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (request.by_instance && request.is_past) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid,
                        "--at cannot be combined with --by instance: past instances are not stored"),
                   "at"),
        "plimsoll jobs --at shows instances and quotas per job, plimsoll machines --at those per machine");
  }
  return request;
}

Parameter at_parameter(int64_t& now_ns, bool& is_past) {
  return {"at", [&now_ns, &is_past](const std::string& text) -> Status {
            const auto time_ns = parse_time_ns(text, now_ns);
            if (!time_ns || *time_ns > now_ns) {
              return invalid_parameter("at", text, "a time in the past: RFC 3339, or relative (1h)");
            }
            now_ns = *time_ns;
            is_past = true;
            return {};
          }};
}

std::map<std::string, double, std::less<>> LiveFleet::quotas_by_job() const {
  std::map<std::string, double, std::less<>> quotas;
  for (const store::Census& census : censuses) {
    for (const wire::InstanceUsage& usage : census.instances) {
      if (usage.quota_cpus() > 0) {
        quotas[usage.job()] += usage.quota_cpus();
      }
    }
  }
  return quotas;
}

Result<LiveFleet> LiveFleet::load(const store::Fleet& fleet) {
  auto current = fleet.current();
  return current ? Result<LiveFleet>(
                       {.machines = std::move(current->machines), .censuses = std::move(current->censuses)})
                 : propagate(current);
}

Result<LiveFleet> LiveFleet::load_past(int64_t time_ns, const store::Fleet& fleet) {
  auto kept = fleet.at(time_ns);
  if (!kept) {
    return propagate(kept);
  }
  std::optional<store::PastFleet>& past = *kept;
  return past ? LiveFleet{.machines = std::move(past->machines),
                          .censuses = {},
                          .past_jobs = std::move(past->jobs)}
              : LiveFleet();
}

Table machines(const MachinesRequest& request, const Snapshot& snapshot, const LiveFleet& fleet) {
  const std::vector<MachineRow> rows = all_machines(request, snapshot, fleet);
  Table table;
  add_coverage(rows, table.coverage);
  if (request.by_instance) {
    table.columns = {{"machine", ""},       {"job", ""},          {"instance", ""},     {"container", ""},
                     {"cpu_quota", "CPUs"}, {"weight", "weight"}, {"cpu_used", "CPUs"}, {"seen", ""}};
    add_instances(fleet, table);
    return table;
  }
  table.columns = {
      {"machine", ""},      {"hostname", ""},       {"state", ""},          {"platform", ""},
      {"cores", "CPUs"},    {"architecture", ""},   {"kernel", ""},         {"datacenter", ""},
      {"cluster", ""},      {"rack", ""},           {"owner", ""},          {"version", ""},
      {"first_seen", ""},   {"last_seen", ""},      {"instances", "count"}, {"cpu_quota", "CPUs"},
      {"cpu_used", "CPUs"}, {"missing_events", ""}, {"refused", "count"},   {"refused_why", ""}};
  int64_t implausible = 0;
  for (const MachineRow& row : rows) {
    add_machine(row, table);
    implausible += row.refused > 0 ? 1 : 0;
  }
  if (implausible > 0) {
    table.notes.push_back(fmt::format(
        "{} machines sent implausible profiles, which were refused (refused, refused_why)", implausible));
  }
  return table;
}

}  // namespace plimsoll::query
