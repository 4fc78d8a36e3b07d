#include "store/clickhouse/schema.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"
#include "store/clickhouse/replicas.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// Raised with a change that programs of before cannot read; a further column with a default is none.
constexpr uint32_t kTablesFormat = 1;
// The rows of the main database are not all there are: a release that knows no shards must not take them for all.
constexpr uint32_t kShardedFormat = 2;

constexpr std::string_view kDense = "Delta, ZSTD";  // IDs, which ascend in the order of a table
constexpr std::string_view kPacked = "ZSTD";

// Entries of dictionaries, without those of code and origins.
std::vector<Table> entry_tables() {
  return {
      {.name = "machines",
       .order = "epoch, id",
       .own = {{"id", "UInt32"},
               {"machine_id", "String"},
               {"hostname", "String"},
               {"datacenter", "String"},
               {"cluster", "String"},
               {"platform", "String"},
               {"architecture", "String"},
               {"kernel", "String"},
               {"cores", "Int64"},
               {"cpu_model", "String"},
               {"kernel_build_id", "String"},
               {"os", "String"},
               {"daemon_version", "String"}}},
      {.name = "events",
       .order = "epoch, id",
       .own = {{"id", "UInt32"}, {"name", "String"}, {"unit", "UInt8"}, {"kind", "UInt8"}}},
      {.name = "workloads",
       .order = "epoch, id",
       .own = {{"id", "UInt32"},
               {"job", "String"},
               {"instance", "String"},
               {"app", "String"},
               {"image", "String"},
               {"build_id", "String"},
               {"revision", "String"},
               {"compiler", "String"},
               {"builder", "String"}}},
      {.name = "threads", .order = "epoch, id", .own = {{"id", "UInt32"}, {"name", "String"}}},
      {.name = "label_sets", .order = "epoch, id", .own = {{"id", "UInt32"}, {"labels", "String"}}},
  };
}

std::vector<Table> code_tables() {
  return {
      {.name = "binaries",
       .order = "epoch, id",
       .own = {{"id", "UInt32"}, {"identity_kind", "UInt8"}, {"identity", "String"}, {"path", "String"}}},
      {.name = "locations",
       .order = "epoch, id",
       .own = {{"id", "UInt32", kDense},
               {"kind", "UInt8", kPacked},
               {"owner", "UInt32", kPacked},
               {"address", "UInt64", kDense},
               {"name", "String", kPacked}}},
      {.name = "stacks",
       .order = "epoch, id",
       .own = {{"id", "UInt32", kDense}, {"parent", "UInt32", kDense}, {"location", "UInt32", kPacked}}},
  };
}

std::vector<Table> origin_tables() {
  return {
      {.name = "origins",
       .order = "epoch, id",
       .own = {{"id", "UInt32", kDense},
               {"machine", "UInt32", kPacked},
               {"from_ns", "Int64", kDense},
               {"to_ns", "Int64", kDense},
               {"draw", "String"},
               {"inclusion_probability", "Float64"},
               {"interval_ns", "Int64"},
               {"series", "String"},
               {"stratum", "String"},
               {"is_rolled_up", "UInt8"},
               {"profile_id", "String"},
               {"archive_sequence", "Int64", kDense}}},
      {.name = "origin_events",
       .order = "epoch, origin, event",
       .own = {{"origin", "UInt32", kDense},
               {"event", "UInt32"},
               {"scale", "Float64"},
               {"hits", "UInt64"},
               {"lost", "UInt64"},
               {"throttles", "UInt64"},
               {"counter_total", "Float64"},
               {"time_enabled_ns", "Int64"},
               {"time_running_ns", "Int64"},
               {"note", "String"},
               {"samples", "UInt64"},
               {"profiles", "UInt64"},  // this and the next two: of rolled-up origins
               {"observed_ns", "Int64"},
               {"effective_samples", "Float64"}}},
  };
}

// Names of code, in batches of profiles and of names, and the mark of a batch of names.
std::vector<Table> name_tables() {
  return {
      // A location without frames was looked up in vain: it has one row, with 0 frames.
      {.name = "bindings",
       .order = "epoch, location, batch, depth",
       .own = {{"location", "UInt32", kDense},
               {"frames", "UInt16"},
               {"depth", "UInt16"},
               {"function", "String", kPacked},
               {"linkage_name", "String", kPacked},
               {"file", "String", kPacked},
               {"line", "UInt32"},
               {"column_number", "UInt32"},
               {"discriminator", "UInt32"},
               {"start_line", "UInt32"},
               {"is_inlined", "UInt8"}}},
      // What the last search for a binary's symbols came to.
      {.name = "binary_accounts",
       .order = "epoch, binary, batch",
       .own = {{"binary", "UInt32"},
               {"quality", "UInt8"},
               {"generation", "Int64"},
               {"reasons", "String", kPacked},
               {"looked_at", "String", kPacked}}},
      // The mark of a batch of names, which has rows of the last two tables alone.
      {.name = "name_batches", .order = "batch", .own = {{"written_ns", "Int64"}}},
  };
}

// What else a batch of profiles has, and its mark.
std::vector<Table> fact_tables() {
  return {
      {.name = "kernel_symbols",
       .order = "epoch, binary",
       .own = {{"binary", "UInt32"}, {"content", "String", kPacked}}},
      {.name = "binary_machines",
       .order = "epoch, binary",
       .own = {{"binary", "UInt32"}, {"machine_id", "String"}}},
      {.name = "set_aside",
       .order = "epoch, archive_sequence",
       .own = {{"archive_sequence", "Int64"}, {"reason", "String"}}},
      // In the order of our own segments, in which neighbours are alike.
      {.name = "rows",
       .order = "event, workload, origin, stack, thread, labels",
       .is_on_shards = true,
       .own = {{"event", "UInt32", kPacked},
               {"origin", "UInt32", kDense},
               {"workload", "UInt32", kDense},
               {"thread", "UInt32", kPacked},
               {"labels", "UInt32", kPacked},
               {"stack", "UInt32", kDense},
               {"hits", "UInt64", "T64, ZSTD"}}},
      {.name = "batches",
       .order = "batch",
       .own = {{"place", "UInt64"},
               {"follows", "UInt64"},
               {"after_sequence", "Int64"},
               {"last_sequence", "Int64"},
               {"written_ns", "Int64"},
               {"machines", "UInt64"},
               {"events", "UInt64"},
               {"origins", "UInt64"},
               {"workloads", "UInt64"},
               {"threads", "UInt64"},
               {"label_sets", "UInt64"},
               {"binaries", "UInt64"},
               {"locations", "UInt64"},
               {"stacks", "UInt64"},
               {"is_complete", "UInt8"},  // its epoch takes no more
               {"shards", "UInt32"}}},    // that its rows are split over; 0: written before there were shards
  };
}

std::vector<Table> make_tables() {
  std::vector<Table> all = entry_tables();
  // In the order in which a batch writes them.
  for (const auto tables_of : {code_tables, origin_tables, name_tables, fact_tables}) {
    std::ranges::move(tables_of(), std::back_inserter(all));
  }
  // Whose archive numbers the profiles: the ID of the data directory, in hexadecimal; of a shard, which one it is of which store.
  all.push_back({.name = "directories",
                 .order = "directory",
                 .is_by_epoch = false,
                 .is_on_shards = true,
                 .own = {{"directory", "String"}}});
  all.push_back({.name = "formats",
                 .order = "format",
                 .is_by_epoch = false,
                 .is_on_shards = true,
                 .own = {{"format", "UInt32"}}});
  all.push_back(
      {.name = "sessions",
       .order = "session",
       .is_by_epoch = false,
       .is_on_shards = true,
       // A replicated table takes equal inserts for one that was repeated: two processes must not begin one session.
       .own = {{"session", "UInt32"}, {"random", "UInt64"}}});
  return all;
}

bool has_table(const ConnectionOptions& options, const Table& table) {
  return options.shard == 0 || table.is_on_shards;
}

std::vector<TableColumn> all_columns(const Table& table) {
  std::vector<TableColumn> columns;
  if (table.is_by_epoch) {
    columns = {{"epoch", "UInt32"}, {"batch", "UInt64"}};
  }
  columns.insert(columns.end(), table.own.begin(), table.own.end());
  return columns;
}

std::string definition_of(const TableColumn& column, ServerVersion version) {
  const bool has_codec = version.has_codecs() && !column.codec.empty();
  return fmt::format("{} {}{}", column.name, column.type,
                     has_codec ? fmt::format(" CODEC({})", column.codec) : "");
}

std::string engine_of(const Table& table, const ConnectionOptions& options) {
  return options.is_replicated()
             ? fmt::format("ReplicatedMergeTree('{}', '{{replica}}')", replica_path(options, table.name))
             : "MergeTree";
}

std::string creation_of(const Table& table, ServerVersion version, const ConnectionOptions& options) {
  std::string columns;
  for (const TableColumn& column : all_columns(table)) {
    columns += (columns.empty() ? "" : ", ") + definition_of(column, version);
  }
  return fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) ENGINE = {} {}ORDER BY ({})", table.name, columns,
                     engine_of(table, options), table.is_by_epoch ? "PARTITION BY epoch " : "", table.order);
}

Status expect_engine(std::string_view table, std::string_view engine, const ConnectionOptions& options) {
  const bool is_ours = std::ranges::find(tables(), table, &Table::name) != tables().end();
  const bool is_replicated = engine.starts_with("Replicated");
  if (!is_ours || is_replicated == options.is_replicated()) {
    return {};
  }
  return is_replicated
             ? with_hint(fail(ErrorCode::kConflict, "the tables of the database {} are replicated",
                              options.database),
                         "set store.replicated = true")
             : with_hint(
                   fail(ErrorCode::kConflict, "the tables of the database {} are not replicated",
                        options.database),
                   "copy the rows to a new database with \"plimsoll store copy --replicated\", or leave "
                   "store.replicated out");
}

Status expect_engines(Connection& connection) {
  const auto answer = connection.query(
      fmt::format("SELECT name, engine FROM system.tables WHERE database = '{}' FORMAT RowBinary",
                  connection.options().database));
  return answer ? for_each_row(*answer, "the engines of the tables",
                               [&](ByteReader& reader) {
                                 const std::string_view table = read_text(reader);
                                 return expect_engine(table, read_text(reader), connection.options());
                               })
                : propagate(answer);
}

// On the host of the connection.
Status make_all_tables(Connection& connection) {
  if (const Status created = connection.create_database(); !created) {
    return created;
  }
  const Status expected = expect_engines(connection);
  const auto version = expected ? connection.version() : propagate(expected);
  if (!version) {
    return propagate(version);
  }
  for (const Table& table : tables()) {
    if (!has_table(connection.options(), table)) {
      continue;
    }
    if (const auto created = connection.query(creation_of(table, *version, connection.options())); !created) {
      return propagate(created, "creating the table {}", table.name);
    }
  }
  return {};
}

// Replicas share rows, and each has tables of its own. One that is away gets them when this is done again.
Status make_all_tables_everywhere(const ConnectionOptions& options) {
  Status failed;
  bool is_any_made = false;
  for (const ConnectionOptions& host : each_host(options)) {
    Connection connection(host);
    const Status made = make_all_tables(connection);
    if (!made && made.error().code != ErrorCode::kUnavailable) {
      return propagate(made, "preparing {}", host.base_url);
    }
    if (!made) {
      failed = propagate(made, "preparing {}", host.base_url);
    }
    is_any_made = is_any_made || made.has_value();
  }
  if (!is_any_made) {
    return failed;
  }
  if (!failed) {
    log_warning("a replica that has no tables yet gets them with the next start: {}", failed.error().text());
  }
  return {};
}

using ColumnNames = std::set<std::pair<std::string, std::string>>;  // of their tables

Result<ColumnNames> columns_of_database(Connection& connection) {
  const auto answer = connection.query(
      fmt::format("SELECT table, name FROM system.columns WHERE database = '{}' FORMAT RowBinary",
                  connection.options().database));
  if (!answer) {
    return propagate(answer);
  }
  ColumnNames names;
  const Status read = for_each_row(*answer, "the columns of the tables", [&](ByteReader& reader) -> Status {
    std::string table(read_text(reader));
    names.emplace(std::move(table), read_text(reader));
    return {};
  });
  return read ? Result<ColumnNames>(std::move(names)) : propagate(read);
}

// Tables that an earlier release made may lack columns. In their rows a new column has its type's default.
Status add_missing_columns(Connection& connection, ServerVersion version) {
  const auto known = columns_of_database(connection);
  if (!known) {
    return propagate(known);
  }
  for (const Table& table : tables()) {
    for (const TableColumn& column : table.own) {
      const std::pair name{std::string(table.name), std::string(column.name)};
      if (known->contains(name) || !has_table(connection.options(), table)) {
        continue;
      }
      const auto added = connection.query(
          fmt::format("ALTER TABLE {} ADD COLUMN {}", table.name, definition_of(column, version)));
      if (!added) {
        // Another process may have added it meanwhile, or this one, whose answer was lost: old servers know no IF NOT EXISTS for columns.
        const auto now = columns_of_database(connection);
        if (!now || !now->contains(name)) {
          return propagate(added, "upgrading the table {}", table.name);
        }
      }
    }
  }
  return {};
}

Result<uint32_t> newest_format(Connection& connection) {
  const auto answer = connection.query("SELECT max(format) FROM formats FORMAT RowBinary");
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto format = reader.read<uint32_t>();
  return reader.ok() ? Result<uint32_t>(format)
                     : fail(ErrorCode::kCorrupt, "reading the format of the tables: the answer is empty");
}

// At least this one.
Status settle_format(Connection& connection, uint32_t wanted) {
  const auto format = newest_format(connection);
  if (!format) {
    return propagate(format);
  }
  if (*format > kShardedFormat) {
    return with_hint(fail(ErrorCode::kUnsupported, "the tables have format {}; this release reads up to {}",
                          *format, kShardedFormat),
                     "use the release that wrote them, or a later one");
  }
  return *format >= wanted ? Status()
                           : connection.insert("formats", table_called("formats").columns(),
                                               RowBinaryWriter().number(wanted).bytes());
}

}  // namespace

std::string Table::columns() const {
  std::string names;
  for (const TableColumn& column : all_columns(*this)) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", column.name);
  }
  return names;
}

std::span<const Table> tables() {
  static const std::vector<Table> all = make_tables();
  return all;
}

const Table& table_called(std::string_view name) {
  return *std::ranges::find(tables(), name, &Table::name);
}

Status drop_epoch(Queryable& server, const ConnectionOptions& options, uint32_t epoch) {
  // Marks first: from then on no question begins to read the epoch, and one that has begun finds it gone when it looks for the marks afterwards
  // (ClickHouseRows).
  std::vector<std::string_view> names;
  if (options.shard == 0) {
    names = {"batches", "name_batches"};
  }
  for (const Table& table : tables()) {
    if (table.is_by_epoch && has_table(options, table) &&
        std::ranges::find(names, table.name) == names.end()) {
      names.push_back(table.name);
    }
  }
  for (const std::string_view name : names) {
    const auto dropped = server.query(fmt::format("ALTER TABLE {} DROP PARTITION {}", name, epoch));
    if (!dropped) {
      return propagate(dropped, "dropping epoch {} of the table {}", epoch, name);
    }
    const bool must_be_everywhere = name == "batches" && options.is_replicated();
    if (const Status gone = must_be_everywhere ? expect_marks_gone(options, epoch) : Status(); !gone) {
      return propagate(gone, "dropping epoch {}", epoch);
    }
  }
  return {};
}

Status drop_tables(const ConnectionOptions& options) {
  for (const ConnectionOptions& host : each_host(options)) {
    Connection connection(host);
    const auto version = connection.version();
    if (!version) {
      return propagate(version, "dropping the tables of {}", host.base_url);
    }
    // Otherwise Keeper knows the replica of a table for minutes after it was dropped, and another one cannot be made.
    const std::string_view at_once =
        version->has_sequential_reads() && options.is_replicated() ? " SYNC" : "";
    for (const Table& table : tables()) {
      if (!has_table(options, table)) {
        continue;
      }
      const auto dropped = connection.query(fmt::format("DROP TABLE IF EXISTS {}{}", table.name, at_once));
      if (!dropped) {
        return propagate(dropped, "dropping the table {}", table.name);
      }
    }
  }
  return {};
}

Status prepare_tables(Connection& connection) {
  const Status made = make_all_tables_everywhere(connection.options());
  const auto version = made ? connection.version() : propagate(made);
  if (!version) {
    return propagate(version);
  }
  // Before the columns: tables of a later release stay as they are.
  const Status settled = settle_format(connection, kTablesFormat);
  return settled ? add_missing_columns(connection, *version) : settled;
}

Status note_shards(Connection& main) {
  return settle_format(main, kShardedFormat);
}

}  // namespace plimsoll::store::clickhouse
