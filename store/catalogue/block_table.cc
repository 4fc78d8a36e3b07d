#include "store/catalogue/block_table.h"

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
  auto last = catalogue.integer(
      "SELECT max((SELECT coalesce(max(archive_sequence), 0) FROM origin), "
      "(SELECT coalesce(max(archive_sequence), 0) FROM unbuildable))",
      0);
  return last ? last : propagate(last, "reading which profiles have become rows");
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
