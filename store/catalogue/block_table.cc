#include "store/catalogue/block_table.h"

#include <algorithm>

namespace plimsoll::store {

Result<BlockState> read_block_state(sqlite::Database& catalogue) {
  BlockState state;
  const Status read = sqlite::for_each_row(
      catalogue.query("SELECT is_sealed, first_built_ns, from_ns, to_ns, max_interval_ns FROM block"),
      [&](const sqlite::Statement& row) {
        state = {.is_sealed = row.integer(0) != 0,
                 .first_built_ns = row.integer(1),
                 .from_ns = row.integer(2),
                 .to_ns = row.integer(3),
                 .max_interval_ns = row.integer(4)};
      });
  return read ? Result<BlockState>(state) : propagate(read, "reading what a block covers");
}

Status write_block_state(sqlite::Database& catalogue, const BlockState& state) {
  return catalogue.execute(
      "INSERT OR REPLACE INTO block (id, is_sealed, first_built_ns, from_ns, to_ns, max_interval_ns) "
      "VALUES (1, ?, ?, ?, ?, ?)",
      state.is_sealed, state.first_built_ns, state.from_ns, state.to_ns, state.max_interval_ns);
}

Result<int64_t> last_built_sequence(sqlite::Database& catalogue) {
  const auto own = catalogue.integer(
      "SELECT max((SELECT coalesce(max(archive_sequence), 0) FROM origin), "
      "(SELECT coalesce(max(archive_sequence), 0) FROM unbuildable))",
      0);
  const auto before = own ? accepted_before(catalogue) : propagate(own);
  return before ? Result<int64_t>(std::max(*own, *before))
                : propagate(before, "reading which profiles have become rows");
}

Result<int64_t> accepted_before(sqlite::Database& catalogue) {
  const auto is_noted = catalogue.has_table("accepted_before");
  if (!is_noted || !*is_noted) {
    return is_noted ? Result<int64_t>(0) : propagate(is_noted);
  }
  return catalogue.integer("SELECT archive_sequence FROM accepted_before", 0);
}

Status write_accepted_before(sqlite::Database& catalogue, int64_t archive_sequence) {
  return catalogue.execute("INSERT OR REPLACE INTO accepted_before (id, archive_sequence) VALUES (1, ?)",
                           archive_sequence);
}

Result<bool> is_rolled_up(sqlite::Database& catalogue) {
  const auto has_table = catalogue.has_table("roll_up");
  if (!has_table || !*has_table) {
    return has_table;
  }
  const auto rows = catalogue.integer("SELECT count(*) FROM roll_up", 0);
  return rows ? Result<bool>(*rows > 0) : propagate(rows);
}

Result<BlockState> block_state_of_origins(sqlite::Database& catalogue, int64_t first_built_ns) {
  BlockState state;
  const Status read = sqlite::for_each_row(
      catalogue.query("SELECT min(from_ns), max(to_ns), max(interval_ns) FROM origin HAVING count(*) > 0"),
      [&](const sqlite::Statement& row) {
        state = {.is_sealed = false,
                 .first_built_ns = first_built_ns,
                 .from_ns = row.integer(0),
                 .to_ns = row.integer(1),
                 .max_interval_ns = row.integer(2)};
      });
  return read ? Result<BlockState>(state) : propagate(read, "reading what a block covers");
}

}  // namespace plimsoll::store
