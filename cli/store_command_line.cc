#include "cli/store_command_line.h"

#include <CLI/CLI.hpp>

#include "cli/views/flags.h"
#include "query/registry/view.h"

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

void add_rollup(CLI::App& store, StoreRollupOptions& options) {
  auto* rollup = store.add_subcommand("rollup", "Sum old profiles by hour, without threads and instances");
  rollup->add_option("--data", options.data_dir, "Data directory; no server may be using it")
      ->type_name("DIR")
      ->required();
  rollup
      ->add_option("--before", options.before,
                   "Roll up blocks without later profiles: a time (2026-11-21T06:00:00Z) or an age (30d)")
      ->type_name("TIME")
      ->required();
  rollup->add_flag("--json", options.is_json, "Print one JSON document");
  rollup->footer(
      R"(A running server rolls up by itself (retention.full_max_age). It cannot be undone: threads and instances of these
profiles are gone, and times within an hour. Totals stay exact. The block that takes rows is never rolled up.

Examples:
  plimsoll store rollup --data DIR --before 30d
)");
}

void add_status(CLI::App& store, StoreStatusOptions& options) {
  auto* status =
      store.add_subcommand("status", "Show what a data directory holds by block, and how it grows");
  add_source(*status, options.asked.source);
  add_parameters(*status, query::find_view("store")->parameters, options.asked.parameters);
  status
      ->add_option("--config", options.config_path,
                   "With --data: configuration file of the server, whose limits are shown; without it the "
                   "defaults are")
      ->type_name("FILE")
      ->excludes(status->get_option("--server"));
  add_forms(*status, options.asked.form);
  status->footer(
      R"(A block is the part of the store that took rows in a span of time, a day unless the server's
store.max_block_age and store.max_block_bytes say otherwise. Questions read the blocks that their times touch.
A server rolls up old blocks (profiles are summed by hour, without threads and instances), merges neighbours of these,
and drops what is over its limits, the oldest first: keys of the table [retention].

Examples:
  plimsoll store status --server ADDR
  plimsoll store status --server ADDR --by limit
  plimsoll store status --data DIR --config server.toml
)");
}

void add_check(CLI::App& store, StoreCheckOptions& options) {
  auto* check =
      store.add_subcommand("check", "Find damage: every checksum and reference of a data directory");
  check
      ->add_option("--data", options.data_dir, "Data directory, or a backup of one; a server may be using it")
      ->type_name("DIR")
      ->required();
  check->add_flag("--json", options.is_json, "Print one JSON document");
  check->footer(
      R"(Reads all files, and changes none. Lists what is damaged with what to do about it; the exit status is 1 then.

Examples:
  plimsoll store check --data DIR
)");
}

void add_backup(CLI::App& store, StoreBackupOptions& options) {
  auto* backup = store.add_subcommand("backup", "Copy a data directory, also beside its running server");
  backup->add_option("--data", options.data_dir, "Data directory; a server may be using it")
      ->type_name("DIR")
      ->required();
  backup
      ->add_option("--output", options.output,
                   "The backup: a new name, or an empty folder; not inside of --data")
      ->type_name("BACKUP")
      ->required();
  backup->footer(
      R"(The backup is checked before it gets its name. It holds credentials of machines and all profiles: keep it as
private as the data directory. Views read it with --data.

Examples:
  plimsoll store backup --data DIR --output BACKUP
)");
}

void add_restore(CLI::App& store, StoreRestoreOptions& options) {
  auto* restore = store.add_subcommand("restore", "Make a data directory of a backup");
  restore
      ->add_option("--from", options.backup,
                   "The backup, which stays as it is; or an object store that a server copies to "
                   "(objects.address): s3://BUCKET/PREFIX or file:///FOLDER")
      ->type_name("BACKUP")
      ->required();
  restore->add_option("--data", options.data_dir, "Data directory: a new name, or an empty folder")
      ->type_name("NEW_DIR")
      ->required();
  restore->add_option("--endpoint", options.endpoint, "Of s3://: URL of the server (objects.endpoint)")
      ->type_name("URL");
  restore->add_option("--region", options.region, "Of s3://: region of the server (default us-east-1)")
      ->type_name("REGION");
  restore
      ->add_option("--credentials-file", options.credentials_file,
                   "Of s3://: file with the ID of an access key and, in its second line, the secret")
      ->type_name("FILE");
  restore
      ->add_option(
          "--ca", options.ca,
          "Of s3://: PEM file of the authority that signs the server's certificate, instead of those "
          "that this machine trusts")
      ->type_name("FILE");
  restore->footer(
      R"(Checks the copy before it gets its name. A server started on it goes on from the time of the backup.
From an object store it goes on where it was interrupted, when it is run again (docs/operations.md).

Examples:
  plimsoll store restore --from BACKUP --data NEW_DIR
)");
}

void add_repair(CLI::App& store, StoreRepairOptions& options) {
  auto* repair = store.add_subcommand("repair", "Rebuild a damaged block, or go on without what is lost");
  repair->add_option("--data", options.data_dir, "Data directory; no server may be using it")
      ->type_name("DIR")
      ->required();
  auto* forget = repair->add_option("--forget", options.forgotten,
                                    "What is given up: a missing database, which is made again with nothing "
                                    "in it (archive.db, live.db, draws.db "
                                    "or access.db), or a damaged block (blocks/7), whose files are removed");
  forget->type_name("FILE");
  auto* rebuild =
      repair->add_option("--rebuild", options.rebuilt,
                         "The damaged block (blocks/7), or a damaged file of it: rows are built again from "
                         "the raw profiles that are still in archive.db");
  rebuild->type_name("PATH")->excludes(forget);
  repair->require_option(2);
  repair->footer(
      R"(Rebuilding can be interrupted, and goes on when it is run again. What a database held that is given up is lost,
and so is its protection: without the old access.db revoked machines may register again, without the old archive.db
profiles that daemons send a second time count twice. Restore it from a backup where there is one (docs/operations.md).

Examples:
  # once live.db is gone
  plimsoll store repair --data DIR --forget live.db

After "plimsoll store check" has found damage in a block, --rebuild blocks/7 builds its rows again.
)");
}

void add_copy(CLI::App& store, StoreCopyOptions& options) {
  auto* copy = store.add_subcommand("copy", "Move the rows of a data directory into ClickHouse, or back");
  copy->add_option("--data", options.data_dir, "Data directory; no server may be using it")
      ->type_name("DIR")
      ->required();
  copy->add_option("--to", options.to,
                   "Where the rows must go: clickhouse://[USER@]HOST[:PORT][,HOST[:PORT]...]/DATABASE, "
                   "clickhouses:// for TLS, or directory")
      ->type_name("PLACE")
      ->required();
  copy->add_option("--password-file", options.password_file,
                   "File with ClickHouse's password in its first line")
      ->type_name("FILE");
  copy->add_option("--ca", options.ca, "PEM file of the authority of ClickHouse's certificate")
      ->type_name("FILE");
  copy->add_flag("--replicated", options.is_replicated,
                 "Make replicated tables, of which two replicas must have each insert; required for several "
                 "hosts");
  copy->add_option("--shard", options.shards,
                   "A further database that rows are split over by machine, as --to has it; may be repeated")
      ->type_name("PLACE");
  copy->add_flag("--remove", options.removes,
                 "Remove the old rows once the new ones are in use; without it they stay");
  copy->footer(
      R"(Copies rows, what they refer to, and names. Adds up the hits of both sides by day, event and job, and changes the
place of the rows only where they are the same. Until then rows are where they were. An interrupted copy goes on when
the command is run again. Afterwards servers and commands find the rows in the new place by themselves.

Examples:
  plimsoll store copy --data DIR --to clickhouse://127.0.0.1:8123/plimsoll
  plimsoll store copy --data DIR --to clickhouse://db1,db2,db3/plimsoll --replicated
  plimsoll store copy --data DIR --to directory
  # once answers are as they were
  plimsoll store copy --data DIR --to directory --remove
)");
}

}  // namespace

void add_store_command(CLI::App& app, StoreOptions& options) {
  auto* store = app.add_subcommand("store", "Maintain a data directory");
  store->require_subcommand(1);
  add_status(*store, options.status);
  add_compact(*store, options.compact);
  add_rollup(*store, options.rollup);
  add_check(*store, options.check);
  add_backup(*store, options.backup);
  add_restore(*store, options.restore);
  add_repair(*store, options.repair);
  add_copy(*store, options.copy);
}

Status run_store_command(const CLI::App& app, const StoreOptions& options) {
  const CLI::App& store = *app.get_subcommand("store");
  if (store.got_subcommand("status")) {
    return run_store_status(options.status);
  }
  if (store.got_subcommand("check")) {
    return run_store_check(options.check);
  }
  if (store.got_subcommand("backup")) {
    return run_store_backup(options.backup);
  }
  if (store.got_subcommand("rollup")) {
    return run_store_rollup(options.rollup);
  }
  if (store.got_subcommand("copy")) {
    return run_store_copy(options.copy);
  }
  if (store.got_subcommand("repair")) {
    return run_store_repair(options.repair);
  }
  return store.got_subcommand("restore") ? run_store_restore(options.restore)
                                         : run_store_compact(options.compact);
}

}  // namespace plimsoll::cli
