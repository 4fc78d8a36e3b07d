// live.db: the machines that have registered, when they were last heard of, and what ran on them then.
//
// A database of its own, since every heartbeat writes it: the catalogue's readers load their snapshot anew whenever the
// catalogue changes, and building rows must not make a heartbeat wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "proto/fleet.pb.h"
#include "proto/machine.pb.h"
#include "store/live/inventory.h"
#include "store/sqlite/database.h"

namespace plimsoll::store {

// A machine that has registered, or that the inventory names.
struct LiveMachine {
  // The newest, with what the inventory says of place and platform in the place of what the machine says.
  wire::Machine attributes;
  std::vector<std::string> missing_events = {};  // known by name, and not to be had there
  std::string rack = {};                         // by the inventory
  std::string owner = {};                        // likewise
  int64_t first_seen_ns = 0;                     // wall clock of the server; 0: it has never registered
  int64_t last_seen_ns = 0;                      // likewise
  int64_t heartbeat_ns = 0;                      // how often it was told to let itself be heard

  // Whether it was heard of within its last three heartbeats.
  bool is_live(int64_t now_ns) const;
};

// The newest census of a machine.
struct Census {
  std::string machine_id;
  int64_t taken_ns = 0;     // wall clock of the server
  int64_t interval_ns = 0;  // that CPU times are of; 0: there are none yet
  std::vector<wire::InstanceUsage> instances;
};

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
  // boot ID.
  Result<bool> machine_seen(std::string_view id, std::string_view boot_id, int64_t now_ns,
                            int64_t heartbeat_ns);

  // Replaces the machine's census. `census` must be checked already.
  Status keep_census(const Census& census);

  // Replaces what was known from an inventory, which must be checked already. Writes what differs, a thousand entries at a time, so that
  // heartbeats come between; where it fails, a part may be written.
  Status keep_inventory(const std::vector<InventoryMachine>& inventory);
  // The same of what runs on machines, as it was read at `now_ns`.
  Status keep_inventory_instances(const std::vector<InventoryInstance>& instances, int64_t now_ns);

  // Forgets the machines that were not heard of since, with all that is known of them but for the inventory's part; returns how many.
  Result<int64_t> forget_unheard_since(int64_t since_ns);

  Result<std::vector<LiveMachine>> machines();  // by ID
  // As they were then: those that had registered by then and are not forgotten, with their attributes of then and without the inventory, which
  // knows of today alone. One that was heard of later counts as heard of then. kNotFound in a file that an older version has written last.
  Result<std::vector<LiveMachine>> machines_at(int64_t time_ns);
  // By machine ID. What the inventory says of an instance holds: its quota and weight are put in the place of those of the instance of that name, or
  // shared out among those of the job; instances that machines do not tell of are added, without CPU time.
  Result<std::vector<Census>> censuses();
  Result<int64_t> count();  // that have registered
  // When the newest sign of any machine came; 0: none ever did.
  Result<int64_t> last_heard_ns();

 private:
  Status keep_version(const wire::Machine& machine, int64_t now_ns);
  Status keep_missing_events(std::string_view machine_id, const std::vector<std::string>& events);
  Status add_missing_events(std::vector<LiveMachine>& machines);
  Result<std::vector<LiveMachine>> read_machines(Result<sqlite::Statement> rows);
  Result<std::vector<LiveMachine>> registered();      // by ID, without the inventory
  Result<std::vector<Census>> told_censuses();        // by machine ID, likewise
  Result<std::vector<InventoryMachine>> inventory();  // by ID
  // By machine ID, then job, those without an instance's name first; with when it was read.
  Result<std::vector<std::pair<InventoryInstance, int64_t>>> inventory_instances();
  Status add_inventory_instances(std::vector<Census>& censuses);
  // Before its writer has opened it, a file of an older version lacks the newer tables.
  Result<bool> has_table(std::string_view name);

  explicit LiveMachines(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Database database_;
};

}  // namespace plimsoll::store
