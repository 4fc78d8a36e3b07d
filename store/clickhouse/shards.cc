#include "store/clickhouse/shards.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/hex.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::store::clickhouse {
namespace {

// Each insert is a part that the server must merge: as many rows at once as memory allows, here 44 MB.
constexpr size_t kRowsPerInsert = 1'000'000;

constexpr const char* kListEachOnce =
    "list each database once in store.shards, in the order in which they were added, new ones last";

// A number of the answer's only row; none: it has no row.
template <typename Number>
Result<std::optional<Number>> number_of(Queryable& server, std::string_view sql) {
  const auto answer = server.query(sql);
  if (!answer) {
    return propagate(answer);
  }
  if (answer->empty()) {
    return std::optional<Number>();
  }
  ByteReader reader(as_bytes(*answer));
  const auto number = reader.read<Number>();
  return reader.ok() ? Result<std::optional<Number>>(number)
                     : fail(ErrorCode::kCorrupt, "the answer to {} ends in the middle of a number", sql);
}

// That tells a store from another one of the same directory, whose batches have the same numbers: what the first session of its main database drew.
// 0: it has had none.
Result<uint64_t> mark_of_store(Queryable& main) {
  const auto random = number_of<uint64_t>(
      main, "SELECT random FROM sessions ORDER BY session, random LIMIT 1 FORMAT RowBinary");
  return random ? Result<uint64_t>(random->value_or(0)) : propagate(random);
}

// What a shard's table `directories` has; the main database's has the directory's ID alone.
std::string note_of_shard(std::string_view directory_id, uint64_t store, size_t shard) {
  return fmt::format("{}-{:016x}-shard-{}", to_hex(directory_id), store, shard);
}

std::unexpected<Error> belongs_elsewhere(const ConnectionOptions& shard, std::string_view owner,
                                         std::string_view directory_id) {
  const std::string id = to_hex(directory_id);
  if (!owner.starts_with(id)) {
    return with_hint(
        fail(ErrorCode::kConflict, "{} has rows of another data directory ({}), not of that with the ID {}",
             shard_name(shard), owner, id),
        "give each data directory databases of its own");
  }
  const bool is_main = owner.size() == id.size();
  return with_hint(
      fail(ErrorCode::kConflict, "{} has rows of this data directory already, as {}", shard_name(shard),
           is_main ? "the main database of a store"
                   : fmt::format("another shard, or of another store ({})", owner)),
      kListEachOnce);
}

std::unexpected<Error> has_lost_rows(const ConnectionOptions& shard) {
  return with_hint(
      fail(ErrorCode::kConflict, "{} had rows, and has none of this data directory now", shard_name(shard)),
      "check store.shards; if the database was lost, restore it and the database of "
      "store.address from a backup of one time");
}

// Over which the newest batch is split; 1: over none but the main one, or there is no batch.
Result<uint32_t> used_shards(Queryable& main) {
  const auto shards =
      number_of<uint32_t>(main, "SELECT shards FROM batches ORDER BY batch DESC LIMIT 1 FORMAT RowBinary");
  return shards ? Result<uint32_t>(std::max(1U, shards->value_or(1))) : propagate(shards);
}

Status settle_shard(const ConnectionOptions& options, std::string_view directory_id, uint64_t store,
                    bool had_rows) {
  Connection shard(options);
  const Status prepared = prepare_tables(shard);
  const auto owner = prepared ? noted_owner(shard) : propagate(prepared);
  if (!owner) {
    return propagate(owner, "opening {}", shard_name(options));
  }
  const std::string expected = note_of_shard(directory_id, store, options.shard);
  if (*owner == expected) {
    return {};
  }
  if (!owner->empty()) {
    return belongs_elsewhere(options, *owner, directory_id);
  }
  if (had_rows) {
    return has_lost_rows(options);
  }
  const Status noted = shard.insert("directories", table_called("directories").columns(),
                                    RowBinaryWriter().text(expected).bytes());
  return noted ? noted : propagate(noted, "opening {}", shard_name(options));
}

Status insert_some(Connection& shard, std::span<const Row> rows, BatchNumber number) {
  const std::string columns = table_called("rows").columns();
  Status inserted;
  for (std::span<const Row> left = rows; inserted && !left.empty();) {
    const auto sent = left.first(std::min(left.size(), kRowsPerInsert));
    left = left.subspan(sent.size());
    inserted = shard.insert("rows", columns, encode_rows(sent, number));
  }
  return inserted;
}

}  // namespace

Result<std::string> noted_owner(Queryable& database) {
  const auto answer = database.query("SELECT directory FROM directories LIMIT 1 FORMAT RowBinary");
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  return answer->empty() ? Result<std::string>("") : std::string(read_text(reader));
}

ShardPools pools_of(std::span<const ConnectionOptions> further) {
  ShardPools pools;
  for (const ConnectionOptions& options : further) {
    pools.push_back(std::make_shared<ConnectionPool>(options));
  }
  return pools;
}

std::string shard_name(const ConnectionOptions& options) {
  return fmt::format("shard {} of the rows (database {} at {})", options.shard, options.database,
                     options.base_url);
}

uint32_t shard_of_machine(std::string_view machine_id, size_t shards) {
  return static_cast<uint32_t>(checksum64(as_bytes(machine_id)) % shards);
}

std::vector<uint32_t> shards_of_machines(std::span<const MachineEntry> machines, size_t shards) {
  std::vector<uint32_t> found;
  found.reserve(machines.size());
  for (const MachineEntry& machine : machines) {
    found.push_back(shard_of_machine(machine.machine_id, shards));
  }
  return found;
}

Status expect_all_shards(const BatchMark& newest, size_t shards, ErrorCode code, std::string_view database) {
  return newest.shards <= shards
             ? Status()
             : with_hint(
                   fail(code,
                        "the rows of the database {} are split over {} databases, of which this process "
                        "knows {}",
                        database, newest.shards, shards),
                   "list all in store.shards; a query server gets the list from the primary server "
                   "within seconds unless store.address is set");
}

Status settle_shards(Connection& main, std::span<const ConnectionOptions> further,
                     std::string_view directory_id) {
  if (further.empty()) {
    return {};
  }
  const OneHost one_host(main);
  auto store = mark_of_store(main);
  if (store && *store == 0) {
    const auto first = begin_session(main);
    store = first ? mark_of_store(main) : propagate(first);
  }
  const Status noted = store ? note_shards(main) : propagate(store);
  const auto used = noted ? used_shards(main) : propagate(noted);
  if (!used) {
    return propagate(used);
  }
  for (const ConnectionOptions& shard : further) {
    const Status settled = settle_shard(shard, directory_id, *store, shard.shard < *used);
    if (!settled) {
      return settled;
    }
  }
  return {};
}

Status expect_shards(Connection& main, std::span<const ConnectionOptions> further,
                     std::string_view directory_id) {
  const auto store = further.empty() ? Result<uint64_t>(0) : mark_of_store(main);
  if (!store) {
    return propagate(store);
  }
  for (const ConnectionOptions& options : further) {
    Connection shard(options);
    const auto owner = noted_owner(shard);
    if (!owner) {
      return propagate(owner, "asking {} whose rows it has", shard_name(options));
    }
    if (*owner != note_of_shard(directory_id, *store, options.shard)) {
      return with_hint(
          fail(ErrorCode::kConflict,
               "{} does not have the rows of the data directory with the ID {} that belong there",
               shard_name(options), to_hex(directory_id)),
          "check store.shards: it must list the databases of the primary server in its order");
    }
  }
  return {};
}

Result<uint32_t> begin_session_of_all(Connection& main, std::span<const ConnectionOptions> further) {
  uint32_t known = 0;
  for (const ConnectionOptions& options : further) {
    Connection shard(options);
    const auto newest = newest_session(shard);
    if (!newest) {
      return propagate(newest, "asking {}", shard_name(options));
    }
    known = std::max(known, *newest);
  }
  const auto session = begin_session(main, known);
  if (!session) {
    return session;
  }
  // Before the first row: what a shard has rows of, it knows the session of.
  for (const ConnectionOptions& options : further) {
    Connection shard(options);
    const Status noted = shard.insert("sessions", table_called("sessions").columns(),
                                      RowBinaryWriter().number(*session).number(uint64_t{0}).bytes());
    if (!noted) {
      return propagate(noted, "beginning a session in {}", shard_name(options));
    }
  }
  return session;
}

Status drop_epoch_of_all(ConnectionPool& main, const ShardPools& further, uint32_t epoch) {
  Status dropped = drop_epoch(main, main.options(), epoch);
  for (const auto& shard : further) {
    if (!dropped) {
      return dropped;
    }
    dropped = drop_epoch(*shard, shard->options(), epoch);
    dropped = dropped ? dropped : propagate(dropped, "{}", shard_name(shard->options()));
  }
  return dropped;
}

RowInserter::RowInserter(std::span<const ConnectionOptions> further) {
  for (const ConnectionOptions& options : further) {
    further_.emplace_back(options);
  }
}

Status RowInserter::expect_answers() {
  for (Connection& shard : further_) {
    if (const auto answer = newest_session(shard); !answer) {
      return propagate(answer, "{}", shard_name(shard.options()));
    }
  }
  return {};
}

Status RowInserter::insert(Connection& main, std::span<const Row> rows, BatchNumber number,
                           const ShardOf& shard_of) {
  if (further_.empty()) {
    return insert_some(main, rows, number);
  }
  std::vector<Row> some;
  for (size_t shard = 0; shard < shards(); ++shard) {
    Connection& connection = shard == 0 ? main : further_[shard - 1];
    Status inserted;
    const auto send = [&] {
      inserted = inserted ? insert_some(connection, some, number) : inserted;
      some.clear();
    };
    for (const Row& row : rows) {
      if (shard_of(row[Column::kOrigin]) == shard) {
        some.push_back(row);
      }
      if (some.size() == kRowsPerInsert) {
        send();
      }
    }
    send();
    if (!inserted) {
      return propagate(inserted, "{}", shard_name(connection.options()));
    }
  }
  return {};
}

}  // namespace plimsoll::store::clickhouse
