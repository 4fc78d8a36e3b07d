#include "cli/store_command_line.h"

#include <CLI/CLI.hpp>

namespace plimsoll::cli {

void add_store_command(CLI::App& app, StoreCompactOptions& options) {
  auto* store = app.add_subcommand("store", "Look after a data directory");
  store->require_subcommand(1);
  auto* compact =
      store->add_subcommand("compact", "Merge segments until there are as few as their largest size permits");
  compact->add_option("--data", options.data_dir, "Data directory, which no server may be writing")
      ->type_name("DIR")
      ->required();
  compact
      ->add_option(
          "--max-rows", options.max_rows,
          "Largest segment, in rows; merging holds it in memory, 1 to 3 bytes for each (default 67108864)")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1} << 16, uint64_t{1} << 30));
  compact->add_flag("--json", options.is_json, "Print a JSON document in place of text");
  compact->footer("A running server merges by itself; this is for afterwards, and for archives.\n");
}

}  // namespace plimsoll::cli
