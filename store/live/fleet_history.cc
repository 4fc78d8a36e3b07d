#include "store/live/fleet_history.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "base/time.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kReturnNs = 300 * kNsPerSecond;

constexpr const char* kHistorySchema = R"sql(
CREATE TABLE IF NOT EXISTS machine_version (
  machine_id TEXT NOT NULL, since_ns INTEGER NOT NULL, attributes BLOB NOT NULL,
  PRIMARY KEY (machine_id, since_ns)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS missing_version (
  machine_id TEXT NOT NULL, since_ns INTEGER NOT NULL, events TEXT NOT NULL,  -- with spaces between
  PRIMARY KEY (machine_id, since_ns)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inventory_version (
  machine_id TEXT NOT NULL, since_ns INTEGER NOT NULL, is_there INTEGER NOT NULL,
  datacenter TEXT NOT NULL, cluster TEXT NOT NULL, rack TEXT NOT NULL, platform TEXT NOT NULL, owner TEXT NOT NULL,
  PRIMARY KEY (machine_id, since_ns)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS placement (
  machine_id TEXT NOT NULL, job TEXT NOT NULL, since_ns INTEGER NOT NULL,
  instances INTEGER NOT NULL, unlimited INTEGER NOT NULL, quota_cpus REAL NOT NULL,
  PRIMARY KEY (machine_id, job)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS past_placement (
  machine_id TEXT NOT NULL, job TEXT NOT NULL, since_ns INTEGER NOT NULL, until_ns INTEGER NOT NULL,
  instances INTEGER NOT NULL, unlimited INTEGER NOT NULL, quota_cpus REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS past_placement_until ON past_placement(until_ns);
CREATE TABLE IF NOT EXISTS silence (
  machine_id TEXT NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, heartbeat_ns INTEGER NOT NULL,
  PRIMARY KEY (machine_id, from_ns)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history_start (one INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS server_start (started_ns INTEGER PRIMARY KEY, last_heard_ns INTEGER NOT NULL);
INSERT INTO machine_version SELECT machine_id, first_seen_ns, attributes FROM machine
  WHERE machine_id NOT IN (SELECT machine_id FROM machine_version);
INSERT INTO inventory_version SELECT machine_id, 0, 1, datacenter, cluster, rack, platform, owner FROM inventory
  WHERE machine_id NOT IN (SELECT machine_id FROM inventory_version);
)sql";

// What an older version has written tells of no other time than its last.
constexpr const char* kStartAfterOlderVersion = R"sql(
INSERT OR IGNORE INTO history_start SELECT 1, max(last_seen_ns) FROM machine HAVING max(last_seen_ns) > 0;
)sql";

constexpr std::array<std::string_view, 3> kVersionTables{"machine_version", "missing_version",
                                                         "inventory_version"};

// A row for each change, with the time up to which it may matter.
struct ChangeTable {
  std::string_view name;
  std::string_view time_ns;
};
constexpr std::array<ChangeTable, 5> kChangeTables{{{"past_placement", "until_ns"},
                                                    {"silence", "to_ns"},
                                                    {"machine_version", "since_ns"},
                                                    {"missing_version", "since_ns"},
                                                    {"inventory_version", "since_ns"}}};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool is_before(const JobPlacement& a, const JobPlacement& b) {
  return std::tie(a.job, a.instances, a.unlimited, a.quota_cpus) <
         std::tie(b.job, b.instances, b.unlimited, b.quota_cpus);
}

// Those that are in `these` and not in `others`, both by job.
std::vector<JobPlacement> difference(const std::vector<JobPlacement>& these,
                                     const std::vector<JobPlacement>& others) {
  std::vector<JobPlacement> difference;
  std::ranges::set_difference(these, others, std::back_inserter(difference), is_before);
  return difference;
}

// Heartbeats come between the batches.
Status delete_in_batches(std::string_view sql, int64_t before_ns, sqlite::Database& database) {
  constexpr int64_t kBatch = 10'000;
  while (true) {
    const auto deleted = database.execute(sql, before_ns, kBatch);
    const auto count = deleted ? database.integer("SELECT changes()", 0) : propagate(deleted);
    if (!count || *count < kBatch) {
      return count ? Status() : propagate(count);
    }
  }
}

// All that were over by then. Looking for them does not keep anybody from writing, as deleting does.
Status forget_versions(std::string_view table, int64_t before_ns, sqlite::Database& database) {
  const std::string over = fmt::format(
      "SELECT machine_id, since_ns FROM {0} JOIN (SELECT machine_id, max(since_ns) AS newest_ns FROM {0} "
      "WHERE since_ns <= ?1 GROUP BY machine_id HAVING count(*) > 1) USING (machine_id) WHERE since_ns < "
      "newest_ns",
      table);
  const auto is_any = database.integer(fmt::format("SELECT 1 FROM ({} LIMIT 1)", over), 0, before_ns);
  if (!is_any || *is_any == 0) {
    return is_any ? Status() : propagate(is_any);
  }
  return delete_in_batches(
      fmt::format("DELETE FROM {} WHERE (machine_id, since_ns) IN ({} LIMIT ?2)", table, over), before_ns,
      database);
}

}  // namespace

Status read_machine(const sqlite::Statement& row, const sqlite::Database& database,
                    std::vector<LiveMachine>& machines) {
  LiveMachine& machine = machines.emplace_back();
  machine.first_seen_ns = row.integer(1);
  machine.last_seen_ns = row.integer(2);
  machine.heartbeat_ns = row.integer(3);
  return machine.attributes.ParseFromString(row.blob(0))
             ? Status()
             : fail(ErrorCode::kCorrupt, "the attributes of a machine in {} are damaged", database.path());
}

InventoryMachine read_inventory_machine(const sqlite::Statement& row) {
  return {std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2)),
          std::string(row.text(3)), std::string(row.text(4)), std::string(row.text(5))};
}

bool PastFleet::is_there(const LiveMachine& machine) const {
  const bool was_live_before =
      machine.last_seen_ns < server_started_ns && machine.is_live(last_heard_before_ns);
  return machine.is_live(at_ns) || (was_live_before && at_ns - server_started_ns < kReturnNs);
}

Status FleetHistory::create() {
  const auto is_there = this->is_there();
  auto created = is_there ? database_.run(kHistorySchema) : propagate(is_there);
  return created && !*is_there ? database_.run(kStartAfterOlderVersion) : created;
}

Result<bool> FleetHistory::is_there() {
  return database_.has_table("server_start");
}

Status FleetHistory::note_machine(const wire::Machine& machine,
                                  const std::vector<std::string>& missing_events, int64_t now_ns) {
  wire::Machine lasting = machine;
  lasting.clear_boot_id();
  const std::string attributes = lasting.SerializeAsString();
  const auto noted = database_.execute(
      "INSERT OR REPLACE INTO machine_version SELECT ?1, ?2, ?3 WHERE ?3 IS NOT (SELECT attributes FROM "
      "machine_version WHERE machine_id = ?1 ORDER BY since_ns DESC LIMIT 1)",
      machine.id(), now_ns, as_bytes(attributes));
  if (!noted) {
    return noted;
  }
  std::vector<std::string> events = missing_events;
  std::ranges::sort(events);
  events.erase(std::ranges::unique(events).begin(), events.end());
  return database_.execute(
      "INSERT OR REPLACE INTO missing_version SELECT ?1, ?2, ?3 WHERE ?3 IS NOT (SELECT "
      "coalesce(max(events), '') "
      "FROM (SELECT events FROM missing_version WHERE machine_id = ?1 ORDER BY since_ns DESC LIMIT 1))",
      machine.id(), now_ns, fmt::format("{}", fmt::join(events, " ")));
}

Status FleetHistory::note_inventory(const InventoryMachine& entry, int64_t now_ns) {
  return database_.execute("INSERT OR REPLACE INTO inventory_version VALUES (?, ?, 1, ?, ?, ?, ?, ?)",
                           entry.id, now_ns, entry.datacenter, entry.cluster, entry.rack, entry.platform,
                           entry.owner);
}

Status FleetHistory::note_out_of_inventory(std::string_view machine_id, int64_t now_ns) {
  return database_.execute("INSERT OR REPLACE INTO inventory_version VALUES (?, ?, 0, '', '', '', '', '')",
                           machine_id, now_ns);
}

Status FleetHistory::note_jobs(std::string_view machine_id, const std::vector<JobPlacement>& jobs,
                               int64_t now_ns) {
  std::vector<JobPlacement> before;
  auto noted = sqlite::for_each_row(
      database_.query(
          "SELECT job, instances, unlimited, quota_cpus FROM placement WHERE machine_id = ? ORDER BY job",
          machine_id),
      [&](const sqlite::Statement& row) {
        before.push_back({std::string(row.text(0)), row.integer(1), row.integer(2), row.real(3)});
      });
  for (const JobPlacement& placement : difference(before, jobs)) {
    noted = noted ? end_placement(machine_id, placement.job, now_ns) : noted;
  }
  for (const JobPlacement& placement : difference(jobs, before)) {
    noted = noted ? note_placement(machine_id, placement, now_ns) : noted;
  }
  return noted;
}

Status FleetHistory::note_placement(std::string_view machine_id, const JobPlacement& placement,
                                    int64_t now_ns) {
  return database_.execute("INSERT OR REPLACE INTO placement VALUES (?, ?, ?, ?, ?, ?)", machine_id,
                           placement.job, now_ns, placement.instances, placement.unlimited,
                           placement.quota_cpus);
}

Status FleetHistory::end_placement(std::string_view machine_id, std::string_view job, int64_t now_ns) {
  const auto kept = database_.execute(
      "INSERT INTO past_placement SELECT machine_id, job, since_ns, ?3, instances, unlimited, quota_cpus "
      "FROM placement WHERE machine_id = ?1 AND job = ?2 AND since_ns < ?3",
      machine_id, job, now_ns);
  return kept ? database_.execute("DELETE FROM placement WHERE machine_id = ? AND job = ?", machine_id, job)
              : kept;
}

Status FleetHistory::note_sign(std::string_view machine_id, int64_t now_ns) {
  return database_.execute(
      "INSERT OR REPLACE INTO silence SELECT machine_id, last_seen_ns, ?2, heartbeat_ns FROM machine "
      "WHERE machine_id = ?1 AND ?2 - last_seen_ns >= 3 * heartbeat_ns AND ?2 > last_seen_ns",
      machine_id, now_ns);
}

Status FleetHistory::note_server_start(int64_t now_ns, int64_t last_heard_ns) {
  return database_.execute("INSERT OR REPLACE INTO server_start VALUES (?, ?)", now_ns, last_heard_ns);
}

Status FleetHistory::add_missing_events(int64_t time_ns, std::vector<LiveMachine>& machines) {
  auto machine = machines.begin();
  return sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, events FROM missing_version AS version WHERE since_ns = "
          "(SELECT max(since_ns) FROM missing_version AS v WHERE v.machine_id = version.machine_id "
          "AND v.since_ns <= ?) ORDER BY machine_id",
          time_ns),
      [&](const sqlite::Statement& row) {
        machine = std::find_if(machine, machines.end(),
                               [&](const LiveMachine& m) { return m.attributes.id() >= row.text(0); });
        if (machine != machines.end() && machine->attributes.id() == row.text(0)) {
          machine->missing_events = words(row.text(1));
        }
      });
}

// A silence that lasted then tells when the machine was last heard of, and how often it had been told to be.
Result<std::vector<LiveMachine>> FleetHistory::registered_at(int64_t time_ns) {
  std::vector<LiveMachine> machines;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT version.attributes, first_seen_ns, coalesce(silence.from_ns, min(last_seen_ns, ?1)), "
          "coalesce(silence.heartbeat_ns, machine.heartbeat_ns) "
          "FROM machine JOIN machine_version AS version USING (machine_id) "
          "LEFT JOIN silence ON silence.machine_id = machine.machine_id AND silence.from_ns <= ?1 "
          "AND silence.to_ns > ?1 WHERE since_ns = "
          "(SELECT max(since_ns) FROM machine_version AS v WHERE v.machine_id = machine.machine_id AND "
          "v.since_ns <= ?1) ORDER BY machine.machine_id",
          time_ns),
      [&](const sqlite::Statement& row) { return read_machine(row, database_, machines); });
  return read ? Result<std::vector<LiveMachine>>(std::move(machines)) : propagate(read);
}

Result<std::vector<InventoryMachine>> FleetHistory::inventory_at(int64_t time_ns) {
  std::vector<InventoryMachine> inventory;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, datacenter, cluster, rack, platform, owner FROM inventory_version AS version "
          "WHERE is_there AND since_ns = (SELECT max(since_ns) FROM inventory_version AS v WHERE "
          "v.machine_id = version.machine_id AND v.since_ns <= ?) ORDER BY machine_id",
          time_ns),
      [&](const sqlite::Statement& row) { inventory.push_back(read_inventory_machine(row)); });
  return read ? Result<std::vector<InventoryMachine>>(std::move(inventory)) : propagate(read);
}

// Where a clock was set back, two rows may tell of the same time: the one from later on holds.
Status FleetHistory::add_jobs(PastFleet& fleet) {
  PlacedJobs& jobs = fleet.jobs;
  const auto id_of = [&fleet](size_t machine) -> std::string_view {
    return fleet.machines[machine].attributes.id();
  };
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, job, instances, unlimited, quota_cpus, since_ns FROM placement "
          "WHERE since_ns <= ?1 "
          "UNION ALL SELECT machine_id, job, instances, unlimited, quota_cpus, since_ns FROM past_placement "
          "WHERE until_ns > ?1 AND since_ns <= ?1 ORDER BY machine_id, job, since_ns",
          fleet.at_ns),
      [&](const sqlite::Statement& row) {
        const std::string_view machine_id = row.text(0);
        while (jobs.machines() < fleet.machines.size() && id_of(jobs.machines()) <= machine_id) {
          jobs.add_machine();
        }
        if (jobs.machines() > 0 && id_of(jobs.machines() - 1) == machine_id) {
          jobs.add({std::string(row.text(1)), row.integer(2), row.integer(3), row.real(4)});
        }
      });
  while (jobs.machines() < fleet.machines.size()) {
    jobs.add_machine();
  }
  return read;
}

Status FleetHistory::add_server(PastFleet& fleet) {
  return sqlite::for_each_row(
      database_.query("SELECT started_ns, last_heard_ns FROM server_start WHERE started_ns <= ? "
                      "ORDER BY started_ns DESC LIMIT 1",
                      fleet.at_ns),
      [&](const sqlite::Statement& row) {
        fleet.server_started_ns = row.integer(0);
        fleet.last_heard_before_ns = row.integer(1);
      });
}

Result<PastFleet> FleetHistory::at(int64_t time_ns) {
  const auto has_history = is_there();
  if (!has_history || !*has_history) {
    return !has_history
               ? propagate(has_history)
               : with_hint(fail(ErrorCode::kNotFound, "{} has no history of machines", database_.path()),
                           "start a server of this version on it: it adds the history");
  }
  const auto from_ns = database_.integer("SELECT from_ns FROM history_start", 0);
  if (!from_ns || time_ns < *from_ns) {
    return !from_ns ? propagate(from_ns)
                    : with_hint(fail(ErrorCode::kNotFound, "the history of the fleet begins at {}",
                                     format_time(*from_ns)),
                                "its retention is fleet.machine_ttl");
  }
  auto machines = registered_at(time_ns);
  auto inventory = machines ? inventory_at(time_ns) : propagate(machines);
  if (!inventory) {
    return propagate(inventory);
  }
  PastFleet fleet{.at_ns = time_ns, .machines = std::move(*machines), .jobs = {}};
  merge_inventory(*inventory, fleet.machines);
  auto added = add_missing_events(time_ns, fleet.machines);
  added = added ? add_jobs(fleet) : added;
  added = added ? add_server(fleet) : added;
  return added ? Result<PastFleet>(std::move(fleet)) : propagate(added);
}

Status FleetHistory::forget_machines(int64_t unheard_since_ns) {
  constexpr std::string_view kForgotten =
      "machine_id IN (SELECT machine_id FROM machine WHERE last_seen_ns < ?)";
  auto forgotten = database_.execute(
      "INSERT INTO past_placement SELECT machine_id, job, since_ns, last_seen_ns, instances, unlimited, "
      "quota_cpus "
      "FROM placement JOIN machine USING (machine_id) WHERE last_seen_ns < ? AND since_ns < last_seen_ns",
      unheard_since_ns);
  for (const std::string_view table : {"placement", "machine_version", "missing_version", "silence"}) {
    forgotten = forgotten ? database_.execute(fmt::format("DELETE FROM {} WHERE {}", table, kForgotten),
                                              unheard_since_ns)
                          : forgotten;
  }
  return forgotten;
}

Status FleetHistory::forget(int64_t before_ns, int64_t max_changes) {
  for (const auto& [table, time] : kChangeTables) {
    const auto rows = database_.integer(fmt::format("SELECT count(*) FROM {}", table), 0);
    const int64_t too_many = rows ? *rows - max_changes : 0;
    const auto newest_of_them_ns =
        too_many > 0
            ? database_.integer(fmt::format("SELECT {1} FROM {0} ORDER BY {1} LIMIT 1 OFFSET ?", table, time),
                                0, too_many - 1)
            : rows;
    if (!newest_of_them_ns) {
      return propagate(newest_of_them_ns);
    }
    before_ns = too_many > 0 ? std::max(before_ns, *newest_of_them_ns) : before_ns;
  }
  return forget_before(before_ns);
}

Status FleetHistory::forget_before(int64_t before_ns) {
  // First, so that nobody takes what is left for all.
  auto forgotten = database_.execute(
      "INSERT INTO history_start VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET from_ns = max(from_ns, "
      "excluded.from_ns)",
      before_ns);
  for (const std::string_view table : kVersionTables) {
    forgotten = forgotten ? forget_versions(table, before_ns, database_) : forgotten;
  }
  for (const std::string_view over :
       {"DELETE FROM past_placement WHERE rowid IN "
        "(SELECT rowid FROM past_placement WHERE until_ns <= ?1 LIMIT ?2)",
        "DELETE FROM inventory_version WHERE (machine_id, since_ns) IN "
        "(SELECT machine_id, since_ns FROM inventory_version WHERE NOT is_there AND since_ns <= ?1 LIMIT ?2)",
        "DELETE FROM silence WHERE (machine_id, from_ns) IN "
        "(SELECT machine_id, from_ns FROM silence WHERE to_ns <= ?1 LIMIT ?2)"}) {
    forgotten = forgotten ? delete_in_batches(over, before_ns, database_) : forgotten;
  }
  return forgotten ? database_.execute(
                         "DELETE FROM server_start WHERE started_ns < "
                         "(SELECT max(started_ns) FROM server_start WHERE started_ns <= ?)",
                         before_ns)
                   : forgotten;
}

}  // namespace plimsoll::store
