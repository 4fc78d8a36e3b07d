#include "cli/store_command_line.h"

#include <CLI/CLI.hpp>

namespace plimsoll::cli {

void add_store_command(CLI::App& app, StoreCompactOptions& options) {
  auto* store = app.add_subcommand("store", "Maintain a data directory");
  store->require_subcommand(1);
  auto* compact = store->add_subcommand("compact", "Merge segments into as few as --max-rows permits");
  compact->add_option("--data", options.data_dir, "Data directory; no server may be using it")
      ->type_name("DIR")
      ->required();
  compact
      ->add_option(
          "--max-rows", options.max_rows,
          "Maximum rows of a segment; merging needs 1 to 3 bytes of memory per row (default 67108864)")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1} << 16, uint64_t{1} << 30));
  compact->add_flag("--json", options.is_json, "Print one JSON document");
  compact->footer(
      R"(A running server merges by itself. Use this for data directories without a server, such as archives.

Examples:
  plimsoll store compact --data DIR
)");
}

}  // namespace plimsoll::cli
