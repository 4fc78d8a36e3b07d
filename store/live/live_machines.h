// live.db: the machines that have registered, their last heartbeats, what ran on them then, and what the fleet
// was like before.
//
// A database of its own, since every heartbeat writes it: the catalogue's readers load their snapshot again whenever the
// catalogue changes, and building rows must not make a heartbeat wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/live/fleet_history.h"
#include "store/live/inventory.h"
#include "store/live/live_machine.h"

namespace plimsoll::store {

// One connection: one thread at a time. What a power failure takes away, the next heartbeats bring back: commits do not
// wait for the disk.
class LiveMachines {
 public:
  static Result<LiveMachines> open(const std::string& path, sqlite::OpenMode mode);
  // For reading; nothing where there is no file: its directory has had no writer that knows of it.
  static Result<std::optional<LiveMachines>> open_if_there(const std::string& path);

  // kConflict where another live machine (another boot ID) has the same ID: a cloned image.
  Status check_boot_id(const wire::Machine& machine, int64_t now_ns);
  // Adds the machine or brings its attributes up to date; what they were before is kept. Checks its boot ID.
  Status register_machine(const wire::Machine& machine, int64_t now_ns, int64_t heartbeat_ns,
                          const std::vector<std::string>& missing_events = {});

  // Notes that the machine is alive, and how often it is told to say so; false where it has not registered under this
  // boot ID. A census that it sends along (null: none), which must be checked already, takes the place of the one before.
  Result<bool> machine_seen(std::string_view id, std::string_view boot_id, int64_t now_ns,
                            int64_t heartbeat_ns, const Census* census = nullptr);
  // A profile that the machine sent was refused, since what it says cannot be. Of machines that have registered; of others nothing is kept.
  Status note_refused(std::string_view id, std::string_view why, int64_t now_ns);
  // The census alone.
  Status keep_census(const Census& census);

  // A server begins to answer machines.
  Status note_server_start(int64_t now_ns);

  // Replaces what was known from an inventory, which must be checked already. Writes what differs, a thousand entries
  // at a time, so that heartbeats come between; where it fails, a part may be written.
  Status keep_inventory(const std::vector<InventoryMachine>& inventory, int64_t now_ns);
  // The same of what runs on machines, as it was read at `now_ns`.
  Status keep_inventory_instances(const std::vector<InventoryInstance>& instances, int64_t now_ns);

  // Removes the machines that are offline since then, with all that is known of them but for the inventory's part;
  // returns how many.
  Result<int64_t> forget_unheard_since(int64_t since_ns);
  // Forgets what the fleet was like before then; or before a later time, where more than so many changes of a kind (some
  // 100 bytes of what runs where, some 300 of attributes) have come since. Looks at all of it, and lets others write
  // between.
  Status forget_history(int64_t before_ns, int64_t max_changes = 20'000'000);

  Result<std::vector<LiveMachine>> machines();  // by ID
  // The fleet as it was then, with the inventory of then. kNotFound in a file that an older version has written last.
  Result<PastFleet> fleet_at(int64_t time_ns);
  // By machine ID, with what the inventory says of instances.
  Result<std::vector<Census>> censuses();
  Result<int64_t> count();  // that have registered

 private:
  FleetHistory history() { return FleetHistory(database_); }
  Status create_tables();
  Status replace_census(const Census& census);
  // What is on the machine by now, for the history.
  Status note_jobs(std::string_view machine_id, std::vector<wire::InstanceUsage> told, int64_t now_ns);
  Status add_missing_events(std::vector<LiveMachine>& machines);
  Status add_refusals(std::vector<LiveMachine>& machines);
  Result<std::vector<LiveMachine>> registered();  // by ID, without the inventory
  Result<std::vector<Census>> told_censuses();    // by machine ID, likewise
  // Of one machine.
  Result<std::vector<wire::InstanceUsage>> told_instances(std::string_view machine_id);
  Result<std::vector<InventoryMachine>> inventory();  // by ID
  // By machine ID, then job, those without an instance's name first; with when it was read. Of one machine, or of all (empty).
  Result<std::vector<std::pair<InventoryInstance, int64_t>>> inventory_instances(
      std::string_view machine_id = {});

  explicit LiveMachines(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Database database_;
};

}  // namespace plimsoll::store
