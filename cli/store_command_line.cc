#include "cli/store_command_line.h"

#include <CLI/CLI.hpp>

namespace plimsoll::cli {

namespace {

void add_compact(CLI::App& store, StoreCompactOptions& options) {
  auto* compact = store.add_subcommand("compact", "Merge segments into as few as --max-rows permits");
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

void add_status(CLI::App& store, StoreStatusOptions& options) {
  auto* status =
      store.add_subcommand("status", "Show what a data directory holds by block, and how it grows");
  status->add_option("--data", options.data_dir, "Data directory; a server may be using it")
      ->type_name("DIR")
      ->required();
  auto* json = status->add_flag("--json", options.is_json, "Print one JSON document");
  status->add_flag("--csv", options.is_csv, "Print CSV")->excludes(json);
  status->footer(
      R"(A block is the part of the store that took rows in a span of time, a day unless the server's
store.max_block_age and store.max_block_bytes say otherwise. Questions read the blocks that their times touch.

Examples:
  plimsoll store status --data DIR
)");
}

}  // namespace

void add_store_command(CLI::App& app, StoreOptions& options) {
  auto* store = app.add_subcommand("store", "Maintain a data directory");
  store->require_subcommand(1);
  add_status(*store, options.status);
  add_compact(*store, options.compact);
}

Status run_store_command(const CLI::App& app, const StoreOptions& options) {
  return app.get_subcommand("store")->got_subcommand("status") ? run_store_status(options.status)
                                                               : run_store_compact(options.compact);
}

}  // namespace plimsoll::cli
