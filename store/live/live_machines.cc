#include "store/live/live_machines.h"

#include <algorithm>
#include <filesystem>

namespace plimsoll::store {
namespace {

constexpr int64_t kHeartbeatsUntilGone = 3;

constexpr const char* kSchema = R"sql(
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
CREATE TABLE IF NOT EXISTS machine_version (
  machine_id TEXT NOT NULL, since_ns INTEGER NOT NULL, attributes BLOB NOT NULL,
  PRIMARY KEY (machine_id, since_ns)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS missing_event (
  machine_id TEXT NOT NULL, event TEXT NOT NULL,
  PRIMARY KEY (machine_id, event)
) WITHOUT ROWID;
INSERT INTO machine_version SELECT machine_id, first_seen_ns, attributes FROM machine
  WHERE machine_id NOT IN (SELECT machine_id FROM machine_version);
CREATE INDEX IF NOT EXISTS instance_usage_machine ON instance_usage(machine_id);
)sql";

}  // namespace

bool LiveMachine::is_live(int64_t now_ns) const {
  return now_ns - last_seen_ns < kHeartbeatsUntilGone * heartbeat_ns;
}

Result<LiveMachines> LiveMachines::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  if (mode == sqlite::OpenMode::kReadWrite) {
    if (auto created = database->run(kSchema); !created) {
      return propagate(created, "creating the tables of live machines");
    }
  }
  return LiveMachines(std::move(*database));
}

Result<std::optional<LiveMachines>> LiveMachines::open_if_there(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    return std::nullopt;
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
  auto kept = database_.execute(
      "INSERT INTO machine (machine_id, boot_id, attributes, first_seen_ns, last_seen_ns, heartbeat_ns) "
      "VALUES (?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (machine_id) DO UPDATE SET boot_id = excluded.boot_id, attributes = excluded.attributes, "
      "last_seen_ns = excluded.last_seen_ns, heartbeat_ns = excluded.heartbeat_ns",
      machine.id(), machine.boot_id(), as_bytes(attributes), now_ns, now_ns, heartbeat_ns);
  if (kept) {
    kept = keep_version(machine, now_ns);
  }
  if (kept) {
    kept = keep_missing_events(machine.id(), missing_events);
  }
  return kept ? transaction->commit() : kept;
}

// A machine that was started anew, and is otherwise what it was, is no other version.
Status LiveMachines::keep_version(const wire::Machine& machine, int64_t now_ns) {
  wire::Machine lasting = machine;
  lasting.clear_boot_id();
  const std::string attributes = lasting.SerializeAsString();
  std::string before;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT attributes FROM machine_version WHERE machine_id = ? ORDER BY since_ns DESC LIMIT 1",
          machine.id()),
      [&](const sqlite::Statement& row) { before = row.blob(0); });
  if (!read || before == attributes) {
    return read;
  }
  return database_.execute("INSERT OR REPLACE INTO machine_version VALUES (?, ?, ?)", machine.id(), now_ns,
                           as_bytes(attributes));
}

Status LiveMachines::keep_missing_events(std::string_view machine_id,
                                         const std::vector<std::string>& events) {
  Status kept = database_.execute("DELETE FROM missing_event WHERE machine_id = ?", machine_id);
  for (size_t i = 0; kept && i < events.size(); ++i) {
    kept = database_.execute("INSERT OR IGNORE INTO missing_event VALUES (?, ?)", machine_id, events[i]);
  }
  return kept;
}

// Machines are by ID.
Status LiveMachines::add_missing_events(std::vector<LiveMachine>& machines) {
  const auto is_there = has_table("missing_event");
  if (!is_there || !*is_there) {
    return is_there ? Status() : propagate(is_there);
  }
  auto machine = machines.begin();
  return sqlite::for_each_row(
      database_.query("SELECT machine_id, event FROM missing_event ORDER BY machine_id, event"),
      [&](const sqlite::Statement& row) {
        machine = std::find_if(machine, machines.end(),
                               [&](const LiveMachine& m) { return m.attributes.id() >= row.text(0); });
        if (machine != machines.end() && machine->attributes.id() == row.text(0)) {
          machine->missing_events.emplace_back(row.text(1));
        }
      });
}

Result<bool> LiveMachines::machine_seen(std::string_view id, std::string_view boot_id, int64_t now_ns,
                                        int64_t heartbeat_ns) {
  bool is_known = false;
  // The statement takes effect once it has run to its end.
  const auto updated =
      sqlite::for_each_row(database_.query("UPDATE machine SET last_seen_ns = ?, heartbeat_ns = ? WHERE "
                                           "machine_id = ? AND boot_id = ? RETURNING 1",
                                           now_ns, heartbeat_ns, id, boot_id),
                           [&](const sqlite::Statement&) {
                             is_known = true;
                             return Status();
                           });
  return updated ? Result<bool>(is_known) : propagate(updated);
}

Status LiveMachines::keep_census(const Census& census) {
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction);
  }
  const auto removed =
      database_.execute("DELETE FROM instance_usage WHERE machine_id = ?", census.machine_id);
  const auto noted = database_.execute("INSERT OR REPLACE INTO census VALUES (?, ?, ?)", census.machine_id,
                                       census.taken_ns, census.interval_ns);
  if (!removed || !noted) {
    return !removed ? removed : noted;
  }
  for (const wire::InstanceUsage& usage : census.instances) {
    const auto kept = database_.execute("INSERT INTO instance_usage VALUES (?, ?, ?, ?, ?, ?, ?)",
                                        census.machine_id, usage.job(), usage.instance(), usage.container(),
                                        usage.quota_cpus(), usage.weight(), usage.cpu_time_ns());
    if (!kept) {
      return kept;
    }
  }
  return transaction->commit();
}

Result<std::vector<LiveMachine>> LiveMachines::read_machines(Result<sqlite::Statement> rows) {
  std::vector<LiveMachine> machines;
  const auto read = sqlite::for_each_row(std::move(rows), [&](const sqlite::Statement& row) -> Status {
    LiveMachine& machine = machines.emplace_back();
    machine.first_seen_ns = row.integer(1);
    machine.last_seen_ns = row.integer(2);
    machine.heartbeat_ns = row.integer(3);
    if (!machine.attributes.ParseFromString(row.blob(0))) {
      return fail(ErrorCode::kCorrupt, "the attributes of a machine in {} are damaged", database_.path());
    }
    return {};
  });
  return read ? Result<std::vector<LiveMachine>>(std::move(machines)) : propagate(read);
}

Result<std::vector<LiveMachine>> LiveMachines::registered() {
  auto machines = read_machines(database_.query(
      "SELECT attributes, first_seen_ns, last_seen_ns, heartbeat_ns FROM machine ORDER BY machine_id"));
  const Status added = machines ? add_missing_events(*machines) : propagate(machines);
  return added ? std::move(machines) : propagate(added);
}

Result<std::vector<LiveMachine>> LiveMachines::machines_at(int64_t time_ns) {
  const auto has_versions = has_table("machine_version");
  if (!has_versions || !*has_versions) {
    return !has_versions
               ? propagate(has_versions)
               : with_hint(fail(ErrorCode::kNotFound, "{} has no history of machines", database_.path()),
                           "a server of this version adds it when it opens the directory");
  }
  return read_machines(database_.query(
      "SELECT version.attributes, first_seen_ns, min(last_seen_ns, ?1), heartbeat_ns "
      "FROM machine JOIN machine_version AS version USING (machine_id) WHERE since_ns = "
      "(SELECT max(since_ns) FROM machine_version AS v WHERE v.machine_id = machine.machine_id AND "
      "v.since_ns <= ?1) ORDER BY machine_id",
      time_ns));
}

Result<int64_t> LiveMachines::forget_unheard_since(int64_t since_ns) {
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction);
  }
  const auto forgotten =
      database_.integer("SELECT count(*) FROM machine WHERE last_seen_ns < ?", 0, since_ns);
  if (!forgotten || *forgotten == 0) {
    return forgotten;
  }
  for (const char* const table :
       {"instance_usage", "census", "machine_version", "missing_event", "machine"}) {
    const auto deleted = database_.execute(
        fmt::format(
            "DELETE FROM {} WHERE machine_id IN (SELECT machine_id FROM machine WHERE last_seen_ns < ?)",
            table),
        since_ns);
    if (!deleted) {
      return propagate(deleted);
    }
  }
  const Status committed = transaction->commit();
  return committed ? forgotten : propagate(committed);
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
        wire::InstanceUsage& usage = censuses.back().instances.emplace_back();
        usage.set_job(std::string(row.text(3)));
        usage.set_instance(std::string(row.text(4)));
        usage.set_container(std::string(row.text(5)));
        usage.set_quota_cpus(row.real(6));
        usage.set_weight(row.real(7));
        usage.set_cpu_time_ns(row.integer(8));
        return Status();
      });
  return read ? Result<std::vector<Census>>(std::move(censuses)) : propagate(read);
}

Result<bool> LiveMachines::has_table(std::string_view name) {
  const auto tables = database_.integer("SELECT count(*) FROM sqlite_schema WHERE name = ?", 0, name);
  return tables ? Result<bool>(*tables > 0) : propagate(tables);
}

Result<int64_t> LiveMachines::count() {
  return database_.integer("SELECT count(*) FROM machine", 0);
}

Result<int64_t> LiveMachines::last_heard_ns() {
  return database_.integer("SELECT coalesce(max(last_seen_ns), 0) FROM machine", 0);
}

}  // namespace plimsoll::store
