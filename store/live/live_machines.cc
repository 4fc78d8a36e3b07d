#include "store/live/live_machines.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

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
CREATE INDEX IF NOT EXISTS instance_usage_machine ON instance_usage(machine_id);
)sql";

void put_in_place(const InventoryMachine& entry, LiveMachine& machine) {
  machine.attributes.set_id(entry.id);
  if (!entry.datacenter.empty()) {
    machine.attributes.set_datacenter(entry.datacenter);
  }
  if (!entry.cluster.empty()) {
    machine.attributes.set_cluster(entry.cluster);
  }
  if (!entry.platform.empty()) {
    machine.attributes.set_platform(entry.platform);
  }
  machine.rack = entry.rack;
  machine.owner = entry.owner;
}

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

Status LiveMachines::register_machine(const wire::Machine& machine, int64_t now_ns, int64_t heartbeat_ns) {
  LiveMachine known;
  const auto read = sqlite::for_each_row(
      database_.query("SELECT boot_id, last_seen_ns, heartbeat_ns FROM machine WHERE machine_id = ?",
                      machine.id()),
      [&](const sqlite::Statement& row) {
        known.attributes.set_boot_id(std::string(row.text(0)));
        known.last_seen_ns = row.integer(1);
        known.heartbeat_ns = row.integer(2);
        return Status();
      });
  if (!read) {
    return read;
  }
  if (known.attributes.boot_id() != machine.boot_id() && known.is_live(now_ns)) {
    return with_hint(
        with_field(fail(ErrorCode::kConflict, "machine ID {} is in use by a machine with another boot ID",
                        machine.id()),
                   "machine.id"),
        "if the machine was rebooted just now, it will be accepted shortly; if an image was cloned, give "
        "each machine its own /etc/machine-id or machine.id");
  }
  const std::string attributes = machine.SerializeAsString();
  return database_.execute(
      "INSERT INTO machine (machine_id, boot_id, attributes, first_seen_ns, last_seen_ns, heartbeat_ns) "
      "VALUES (?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (machine_id) DO UPDATE SET boot_id = excluded.boot_id, attributes = excluded.attributes, "
      "last_seen_ns = excluded.last_seen_ns, heartbeat_ns = excluded.heartbeat_ns",
      machine.id(), machine.boot_id(), as_bytes(attributes), now_ns, now_ns, heartbeat_ns);
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

Status LiveMachines::keep_inventory(const std::vector<InventoryMachine>& inventory) {
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction);
  }
  if (auto removed = database_.execute("DELETE FROM inventory"); !removed) {
    return removed;
  }
  for (const InventoryMachine& machine : inventory) {
    const auto kept =
        database_.execute("INSERT INTO inventory VALUES (?, ?, ?, ?, ?, ?)", machine.id, machine.datacenter,
                          machine.cluster, machine.rack, machine.platform, machine.owner);
    if (!kept) {
      return kept;
    }
  }
  return transaction->commit();
}

Result<std::vector<InventoryMachine>> LiveMachines::inventory() {
  // Before its writer has opened it, a file of an older version has no such table.
  const auto tables = database_.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'inventory'", 0);
  if (!tables || *tables == 0) {
    return tables ? Result<std::vector<InventoryMachine>>() : propagate(tables);
  }
  std::vector<InventoryMachine> inventory;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, datacenter, cluster, rack, platform, owner FROM inventory ORDER BY machine_id"),
      [&](const sqlite::Statement& row) {
        inventory.push_back({std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2)),
                             std::string(row.text(3)), std::string(row.text(4)), std::string(row.text(5))});
      });
  return read ? Result<std::vector<InventoryMachine>>(std::move(inventory)) : propagate(read);
}

Result<std::vector<LiveMachine>> LiveMachines::registered() {
  std::vector<LiveMachine> machines;
  const auto read = sqlite::for_each_row(
      database_.query(
          "SELECT attributes, first_seen_ns, last_seen_ns, heartbeat_ns FROM machine ORDER BY machine_id"),
      [&](const sqlite::Statement& row) -> Status {
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

Result<std::vector<LiveMachine>> LiveMachines::machines() {
  auto machines = registered();
  const auto known = machines ? inventory() : propagate(machines);
  if (!known) {
    return propagate(known);
  }
  std::vector<LiveMachine> unheard;
  auto machine = machines->begin();
  for (const InventoryMachine& entry : *known) {  // both are by ID
    while (machine != machines->end() && machine->attributes.id() < entry.id) {
      ++machine;
    }
    const bool is_registered = machine != machines->end() && machine->attributes.id() == entry.id;
    put_in_place(entry, is_registered ? *machine : unheard.emplace_back());
  }
  if (!unheard.empty()) {
    const auto middle = static_cast<ptrdiff_t>(machines->size());
    std::ranges::move(unheard, std::back_inserter(*machines));
    std::ranges::inplace_merge(*machines, machines->begin() + middle, {},
                               [](const LiveMachine& m) -> const std::string& { return m.attributes.id(); });
  }
  return machines;
}

Result<std::vector<Census>> LiveMachines::censuses() {
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

Result<int64_t> LiveMachines::count() {
  return database_.integer("SELECT count(*) FROM machine", 0);
}

Result<int64_t> LiveMachines::last_heard_ns() {
  return database_.integer("SELECT coalesce(max(last_seen_ns), 0) FROM machine", 0);
}

}  // namespace plimsoll::store
