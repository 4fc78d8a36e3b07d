// What the fleet was like: the tables of live.db that tell of the past.
//
// Each fact is kept from when it became known until another took its place, and only changes are written: what each
// machine was, what the inventory said of it, which events it lacked, how much of which job was on it, and for how long
// nobody heard of it. So a draw can be made again from the fleet of then, and a question about last week be asked of
// last week's quotas.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/live/inventory.h"
#include "store/live/live_machine.h"
#include "store/live/past_fleet.h"

namespace plimsoll::store {

// Borrows the database of LiveMachines, which alone makes these. What is noted belongs in a transaction of the
// caller's, together with the present that it tells of; times of one machine do not decrease.
class FleetHistory {
 public:
  explicit FleetHistory(sqlite::Database& database) : database_(database) {}

  // Creates the tables, and begins the history where an older version has ended.
  Status create();
  // False in a file that an older version has written last.
  Result<bool> is_there();

  // One that was restarted, and is otherwise what it was, is no other version.
  Status note_machine(const wire::Machine& machine, const std::vector<std::string>& missing_events,
                      int64_t now_ns);
  // What the inventory says of it.
  Status note_inventory(const InventoryMachine& entry, int64_t now_ns);
  // That it says nothing of it any more.
  Status note_out_of_inventory(std::string_view machine_id, int64_t now_ns);
  // All that the machine has, by job, of which each is there once.
  Status note_jobs(std::string_view machine_id, const std::vector<JobPlacement>& jobs, int64_t now_ns);
  // A heartbeat arrived, before last_seen_ns is updated.
  Status note_sign(std::string_view machine_id, int64_t now_ns);
  // A server starts; `last_heard_ns`: time of the last heartbeat of any machine before.
  Status note_server_start(int64_t now_ns, int64_t last_heard_ns);

  // Which events machines lacked then, to machines by ID.
  Status add_missing_events(int64_t time_ns, std::vector<LiveMachine>& machines);
  // kNotFound where there is no history, or none any more. Belongs in a transaction for reading, while others write.
  // Costs some microseconds a machine.
  Result<PastFleet> at(int64_t time_ns);

  // Machines that are offline since then: their history, but for what ran on them, ends with them.
  Status forget_machines(int64_t unheard_since_ns);
  // What was over before then, or before a later time where more than so many changes of a kind have come since: what
  // ran where, silences, versions. In transactions of its own.
  Status forget(int64_t before_ns, int64_t max_changes);

 private:
  Result<std::vector<LiveMachine>> registered_at(int64_t time_ns);
  Result<std::vector<InventoryMachine>> inventory_at(int64_t time_ns);
  Status add_jobs(PastFleet& fleet);
  Status add_server(PastFleet& fleet);
  Status forget_before(int64_t before_ns);
  Status note_placement(std::string_view machine_id, const JobPlacement& placement, int64_t now_ns);
  // What the machine has of the job, until now.
  Status end_placement(std::string_view machine_id, std::string_view job, int64_t now_ns);

  sqlite::Database& database_;
};

// From a row of attributes, first_seen_ns, last_seen_ns and heartbeat_ns. kCorrupt where the attributes are damaged.
Status read_machine(const sqlite::Statement& row, const sqlite::Database& database,
                    std::vector<LiveMachine>& machines);
// From a row of machine_id, datacenter, cluster, rack, platform and owner.
InventoryMachine read_inventory_machine(const sqlite::Statement& row);

}  // namespace plimsoll::store
