// live.db: the machines that have registered, when they were last heard of, and what ran on them then.
//
// A database of its own, since every heartbeat writes it: the catalogue's readers load their snapshot anew whenever the
// catalogue changes, and building rows must not make a heartbeat wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  std::string rack = {};      // by the inventory
  std::string owner = {};     // likewise
  int64_t first_seen_ns = 0;  // wall clock of the server; 0: it has never registered
  int64_t last_seen_ns = 0;   // likewise
  int64_t heartbeat_ns = 0;   // how often it was told to let itself be heard

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

  // Adds the machine or brings its attributes up to date. kConflict where another live machine (another boot ID) has the
  // same ID: a cloned image.
  Status register_machine(const wire::Machine& machine, int64_t now_ns, int64_t heartbeat_ns);

  // Notes that the machine is alive, and how often it is told to say so; false where it has not registered under this
  // boot ID.
  Result<bool> machine_seen(std::string_view id, std::string_view boot_id, int64_t now_ns,
                            int64_t heartbeat_ns);

  // Replaces the machine's census. `census` must be checked already.
  Status keep_census(const Census& census);

  // Replaces what was known from an inventory. `inventory` must be checked already. All of it or nothing.
  Status keep_inventory(const std::vector<InventoryMachine>& inventory);

  Result<std::vector<LiveMachine>> machines();  // by ID
  Result<std::vector<Census>> censuses();       // by machine ID
  Result<int64_t> count();                      // that have registered
  // When the newest sign of any machine came; 0: none ever did.
  Result<int64_t> last_heard_ns();

 private:
  Result<std::vector<LiveMachine>> registered();      // by ID, without the inventory
  Result<std::vector<InventoryMachine>> inventory();  // by ID

  explicit LiveMachines(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Database database_;
};

}  // namespace plimsoll::store
