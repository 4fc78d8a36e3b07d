// draws.db: the draws that were made, who was drawn, and what became of each; what is stopped; and the experiments that users have defined.
//
// A database of its own, as live.db is, and for the same reasons: heartbeats and uploads write it, and must neither wait for rows that
// are being built nor make readers of the catalogue load it again. A draw itself is on disk before any machine receives it; what became
// of it is written without waiting for the disk.
//
// All that changes it is a transaction that fails with kConflict, and changes nothing, once a newer process writes the directory
// (store/draws/draw_writer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/draws/draw.h"
#include "store/draws/draw_writer.h"
#include "store/draws/experiment.h"
#include "store/draws/stop.h"

namespace plimsoll::store {

// One connection: one thread at a time.
class DrawStore {
 public:
  static Result<DrawStore> open(const std::string& path, sqlite::OpenMode mode);
  // For the process that writes its directory, for each of its connections: the first of them makes `writer` the newest, on disk when it
  // returns; one that is no longer the newest stays what it is.
  static Result<DrawStore> open_for(const std::string& path, const DrawWriter& writer);
  // For reading; nothing where there is no file: its directory has had no writer that draws.
  static Result<std::optional<DrawStore>> open_if_there(const std::string& path);

  // Fails as all that writes does, with kConflict that names the newer writer, once there is one. Reads a row.
  Status expect_newest_writer();

  // That all draws of this directory follow from: made up when first asked for, then always the same.
  Result<uint64_t> seed();

  // All of it or nothing. kConflict where there is a draw of that ID.
  Status add(const DrawWithMachines& draw);

  // What became of a drawn machine: window_start_ns and all below it are kept. Machines that were not drawn are left alone.
  Status update(std::string_view draw, const DrawnMachine& machine);
  // What it had of kinds of application profiles, in place of what was kept of them; update() leaves that as it is.
  Status update_kinds(std::string_view draw, const DrawnMachine& machine);

  // With its method, which all others leave out.
  Result<std::optional<DrawWithMachines>> draw(std::string_view id);
  // Without kinds.
  Result<std::optional<DrawnMachine>> machine(std::string_view draw, std::string_view machine_id);
  // What a profile of that machine says of the draw; nothing: it was not drawn.
  Result<std::optional<wire::Draw>> draw_of(std::string_view draw, std::string_view machine_id);
  // Those that were made after `since_ns`, in that order.
  Result<std::vector<DrawWithMachines>> made_after(int64_t since_ns);
  // Those that are due after `now_ns`.
  Result<std::vector<DrawWithMachines>> open_draws(int64_t now_ns);
  // By when they were made, the newest first; `limit` at most.
  Result<std::vector<DrawWithMachines>> newest(size_t limit);
  Result<int64_t> count();
  // The end of the latest interval that a draw of the policy speaks for; 0: there is none.
  Result<int64_t> drawn_until_ns();

  // Of a draw's strata, in their order; none where there is no such draw.
  Result<std::vector<DrawnWeight>> drawn_weights(std::string_view draw);

  Result<std::vector<Stop>> stops();
  // In place of all that there were; on disk when it returns. `log` is kept, with its time: who did what.
  Status replace_stops(const std::vector<Stop>& stops, int64_t now_ns, std::string_view log);

  // By name. None where an older version has written the file.
  Result<std::vector<ExperimentDefinition>> experiments();
  // In place of the one of that name; on disk when it returns. Fails as check_experiment_texts() does, and kTooLarge where there are
  // kMaxExperiments others.
  Status keep_experiment(const ExperimentDefinition& definition);
  // Whether there was one; on disk when it returns.
  Result<bool> withdraw_experiment(std::string_view name);

  // Machines of draws that were due before are forgotten; draws and strata are kept.
  Status forget_machines(int64_t due_before_ns);

 private:
  explicit DrawStore(sqlite::Database database) : database_(std::move(database)) {}
  // All that `change` does is there when it returns, or none of it. Of the newest writer alone.
  template <typename Change>
  Status write(const Change& change);
  // The same, and it is on disk.
  template <typename Change>
  Status write_durably(const Change& change);
  Status become(const DrawWriter& writer);

  sqlite::Database database_;
  int64_t writer_ = 0;  // the number that it writes as; 0: nothing is compared
};

}  // namespace plimsoll::store
