#include "store/live/live_machines.h"

#include <algorithm>
#include <limits>

#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr const char* kLiveSchema = R"sql(
PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS machine (
  machine_id TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  attributes BLOB NOT NULL,
  first_seen_ns INTEGER NOT NULL,
  last_seen_ns INTEGER NOT NULL,
  heartbeat_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS census (
  machine_id TEXT PRIMARY KEY, taken_ns INTEGER NOT NULL, interval_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS instance_usage (
  machine_id TEXT NOT NULL REFERENCES census(machine_id),
  job TEXT NOT NULL, instance TEXT NOT NULL, container TEXT NOT NULL,
  quota_cpus REAL NOT NULL, weight REAL NOT NULL, cpu_time_ns INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS inventory (
  machine_id TEXT PRIMARY KEY, datacenter TEXT NOT NULL, cluster TEXT NOT NULL, rack TEXT NOT NULL,
  platform TEXT NOT NULL, owner TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inventory_instance (
  machine_id TEXT NOT NULL, job TEXT NOT NULL, instance TEXT NOT NULL,
  quota_cpus REAL NOT NULL, weight REAL NOT NULL, read_ns INTEGER NOT NULL,
  PRIMARY KEY (machine_id, job, instance)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refusal (
  machine_id TEXT PRIMARY KEY, count INTEGER NOT NULL, last_ns INTEGER NOT NULL, why TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS instance_usage_machine ON instance_usage(machine_id);
)sql";

// Of a file that an older version has written.
constexpr const char* kMissingEventsIntoHistory = R"sql(
INSERT OR IGNORE INTO missing_version SELECT machine_id, first_seen_ns, (SELECT group_concat(event, ' ') FROM
  (SELECT event FROM missing_event WHERE missing_event.machine_id = machine.machine_id ORDER BY event))
  FROM machine WHERE machine_id IN (SELECT machine_id FROM missing_event);
DROP TABLE missing_event;
)sql";

wire::InstanceUsage read_usage(const sqlite::Statement& row, int first) {
  wire::InstanceUsage usage;
  usage.set_job(std::string(row.text(first)));
  usage.set_instance(std::string(row.text(first + 1)));
  usage.set_container(std::string(row.text(first + 2)));
  usage.set_quota_cpus(row.real(first + 3));
  usage.set_weight(row.real(first + 4));
  usage.set_cpu_time_ns(row.integer(first + 5));
  return usage;
}

}  // namespace

Result<LiveMachines> LiveMachines::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  LiveMachines machines(std::move(*database));
  const Status created = mode == sqlite::OpenMode::kReadWrite ? machines.create_tables() : Status();
  return created ? Result<LiveMachines>(std::move(machines))
                 : propagate(created, "creating the tables of live machines");
}

Status LiveMachines::create_tables() {
  auto created = database_.run(kLiveSchema);
  created = created ? history().create() : created;
  const auto is_old = created ? database_.has_table("missing_event") : propagate(created);
  if (!is_old || !*is_old) {
    return is_old ? Status() : propagate(is_old);
  }
  auto transaction = sqlite::Transaction::begin(database_);
  created = transaction ? database_.run(kMissingEventsIntoHistory) : propagate(transaction);
  return created ? transaction->commit() : created;
}

Result<std::optional<LiveMachines>> LiveMachines::open_if_there(const std::string& path) {
  const auto is_there = is_database_there(path);
  if (!is_there || !*is_there) {
    return is_there ? Result<std::optional<LiveMachines>>(std::nullopt) : propagate(is_there);
  }
  auto machines = open(path, sqlite::OpenMode::kRead);
  return machines ? Result<std::optional<LiveMachines>>(std::move(*machines)) : propagate(machines);
}

Status LiveMachines::check_boot_id(const wire::Machine& machine, int64_t now_ns) {
  LiveMachine known;
  const auto read = sqlite::for_each_row(
      database_.query("SELECT boot_id, last_seen_ns, heartbeat_ns FROM machine WHERE machine_id = ?",
                      machine.id()),
      [&](const sqlite::Statement& row) {
        known.attributes.set_boot_id(std::string(row.text(0)));
        known.last_seen_ns = row.integer(1);
        known.heartbeat_ns = row.integer(2);
      });
  if (!read || known.attributes.boot_id() == machine.boot_id() || !known.is_live(now_ns)) {
    return read;
  }
  return with_hint(
      with_field(fail(ErrorCode::kConflict, "machine ID {} is in use by a machine with another boot ID",
                      machine.id()),
                 "machine.id"),
      "if the machine was rebooted just now, it will be accepted shortly; if an image was cloned, give "
      "each machine its own /etc/machine-id or machine.id");
}

Status LiveMachines::register_machine(const wire::Machine& machine, int64_t now_ns, int64_t heartbeat_ns,
                                      const std::vector<std::string>& missing_events) {
  if (auto checked = check_boot_id(machine, now_ns); !checked) {
    return checked;
  }
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction);
  }
  const std::string attributes = machine.SerializeAsString();
  auto kept = history().note_sign(machine.id(), now_ns);
  if (kept) {
    kept = history().note_machine(machine, missing_events, now_ns);
  }
  kept = kept ? database_.execute(
                    "INSERT INTO machine (machine_id, boot_id, attributes, first_seen_ns, last_seen_ns, "
                    "heartbeat_ns) "
                    "VALUES (?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (machine_id) DO UPDATE SET boot_id = excluded.boot_id, attributes = "
                    "excluded.attributes, "
                    "last_seen_ns = excluded.last_seen_ns, heartbeat_ns = excluded.heartbeat_ns",
                    machine.id(), machine.boot_id(), as_bytes(attributes), now_ns, now_ns, heartbeat_ns)
              : kept;
  return kept ? transaction->commit() : kept;
}

// Machines are by ID.
Status LiveMachines::add_missing_events(std::vector<LiveMachine>& machines) {
  const auto has_history = history().is_there();
  if (!has_history || !*has_history) {
    return has_history ? Status() : propagate(has_history);
  }
  return history().add_missing_events(std::numeric_limits<int64_t>::max(), machines);
}

Result<bool> LiveMachines::machine_seen(std::string_view id, std::string_view boot_id, int64_t now_ns,
                                        int64_t heartbeat_ns, const Census* census) {
  auto transaction = sqlite::Transaction::begin(database_);
  auto kept = transaction ? history().note_sign(id, now_ns) : propagate(transaction);
  bool is_known = false;
  // The statement takes effect once it has run to its end.
  kept = kept ? sqlite::for_each_row(
                    database_.query("UPDATE machine SET last_seen_ns = ?, heartbeat_ns = ? WHERE "
                                    "machine_id = ? AND boot_id = ? RETURNING 1",
                                    now_ns, heartbeat_ns, id, boot_id),
                    [&](const sqlite::Statement&) { is_known = true; })
              : kept;
  if (!kept || !is_known) {
    return kept ? Result<bool>(false) : propagate(kept);
  }
  kept = census != nullptr ? replace_census(*census) : kept;
  const Status committed = kept ? transaction->commit() : kept;
  return committed ? Result<bool>(true) : propagate(committed);
}

Status LiveMachines::note_refused(std::string_view id, std::string_view why, int64_t now_ns) {
  return database_.execute(
      "INSERT INTO refusal SELECT machine_id, 1, ?, ? FROM machine WHERE machine_id = ? "
      "ON CONFLICT (machine_id) DO UPDATE SET count = count + 1, last_ns = excluded.last_ns, why = "
      "excluded.why",
      now_ns, why, id);
}

// Machines are by ID.
Status LiveMachines::add_refusals(std::vector<LiveMachine>& machines) {
  const auto is_there = database_.has_table("refusal");
  if (!is_there || !*is_there) {
    return is_there ? Status() : propagate(is_there);  // an older version has written it
  }
  return sqlite::for_each_row(database_.query("SELECT machine_id, count, why FROM refusal"),
                              [&](const sqlite::Statement& row) {
                                const auto id = [](const LiveMachine& machine) -> std::string_view {
                                  return machine.attributes.id();
                                };
                                const auto found = std::ranges::lower_bound(machines, row.text(0), {}, id);
                                if (found != machines.end() && id(*found) == row.text(0)) {
                                  found->refused = row.integer(1);
                                  found->refused_why = row.text(2);
                                }
                              });
}

Status LiveMachines::keep_census(const Census& census) {
  auto transaction = sqlite::Transaction::begin(database_);
  const Status kept = transaction ? replace_census(census) : propagate(transaction);
  return kept ? transaction->commit() : kept;
}

Status LiveMachines::replace_census(const Census& census) {
  const auto removed =
      database_.execute("DELETE FROM instance_usage WHERE machine_id = ?", census.machine_id);
  auto kept = removed ? database_.execute("INSERT OR REPLACE INTO census VALUES (?, ?, ?)", census.machine_id,
                                          census.taken_ns, census.interval_ns)
                      : removed;
  for (const wire::InstanceUsage& usage : census.instances) {
    kept = kept ? database_.execute("INSERT INTO instance_usage VALUES (?, ?, ?, ?, ?, ?, ?)",
                                    census.machine_id, usage.job(), usage.instance(), usage.container(),
                                    usage.quota_cpus(), usage.weight(), usage.cpu_time_ns())
                : kept;
  }
  return kept ? note_jobs(census.machine_id, census.instances, census.taken_ns) : kept;
}

Status LiveMachines::note_jobs(std::string_view machine_id, std::vector<wire::InstanceUsage> told,
                               int64_t now_ns) {
  const auto known = inventory_instances(machine_id);
  if (!known) {
    return propagate(known);
  }
  for (const auto& [entry, read_ns] : *known) {
    merge_inventory(entry, told);
  }
  return history().note_jobs(machine_id, placements_of(told), now_ns);
}

Status LiveMachines::note_server_start(int64_t now_ns) {
  const auto last_heard_ns = database_.integer("SELECT coalesce(max(last_seen_ns), 0) FROM machine", 0);
  return last_heard_ns ? history().note_server_start(now_ns, *last_heard_ns) : propagate(last_heard_ns);
}

Result<std::vector<LiveMachine>> LiveMachines::registered() {
  std::vector<LiveMachine> machines;
  auto read = sqlite::for_each_row(
      database_.query(
          "SELECT attributes, first_seen_ns, last_seen_ns, heartbeat_ns FROM machine ORDER BY machine_id"),
      [&](const sqlite::Statement& row) { return read_machine(row, database_, machines); });
  read = read ? add_missing_events(machines) : read;
  read = read ? add_refusals(machines) : read;
  return read ? Result<std::vector<LiveMachine>>(std::move(machines)) : propagate(read);
}

Result<PastFleet> LiveMachines::fleet_at(int64_t time_ns) {
  const auto transaction = sqlite::Transaction::begin_read(database_);
  return transaction ? history().at(time_ns) : propagate(transaction);
}

Result<int64_t> LiveMachines::forget_unheard_since(int64_t since_ns) {
  auto transaction = sqlite::Transaction::begin(database_);
  const auto forgotten =
      transaction ? database_.integer("SELECT count(*) FROM machine WHERE last_seen_ns < ?", 0, since_ns)
                  : propagate(transaction);
  if (!forgotten || *forgotten == 0) {
    return forgotten;
  }
  Status done = history().forget_machines(since_ns);
  for (const char* const table : {"instance_usage", "census", "refusal", "machine"}) {
    done = done ? database_.execute(
                      fmt::format("DELETE FROM {} WHERE machine_id IN (SELECT machine_id FROM machine "
                                  "WHERE last_seen_ns < ?)",
                                  table),
                      since_ns)
                : done;
  }
  const Status committed = done ? transaction->commit() : done;
  return committed ? forgotten : propagate(committed);
}

Status LiveMachines::forget_history(int64_t before_ns, int64_t max_changes) {
  return history().forget(before_ns, max_changes);
}

Result<std::vector<Census>> LiveMachines::told_censuses() {
  std::vector<Census> censuses;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, taken_ns, interval_ns, job, instance, container, quota_cpus, weight, "
          "cpu_time_ns FROM census LEFT JOIN instance_usage USING (machine_id) ORDER BY machine_id"),
      [&](const sqlite::Statement& row) {
        if (censuses.empty() || censuses.back().machine_id != row.text(0)) {
          censuses.push_back({std::string(row.text(0)), row.integer(1), row.integer(2), {}});
        }
        if (row.text(4).empty()) {
          return Status();
        }
        censuses.back().instances.push_back(read_usage(row, 3));
        return Status();
      });
  return read ? Result<std::vector<Census>>(std::move(censuses)) : propagate(read);
}

Result<std::vector<wire::InstanceUsage>> LiveMachines::told_instances(std::string_view machine_id) {
  std::vector<wire::InstanceUsage> instances;
  const auto read = sqlite::for_each_row(
      database_.query("SELECT job, instance, container, quota_cpus, weight, cpu_time_ns FROM instance_usage "
                      "WHERE machine_id = ?",
                      machine_id),
      [&](const sqlite::Statement& row) { instances.push_back(read_usage(row, 0)); });
  return read ? Result<std::vector<wire::InstanceUsage>>(std::move(instances)) : propagate(read);
}

Result<int64_t> LiveMachines::count() {
  return database_.integer("SELECT count(*) FROM machine", 0);
}

}  // namespace plimsoll::store
