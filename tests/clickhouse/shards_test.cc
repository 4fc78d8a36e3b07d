// Rows that are split over several databases, as far as that needs no ClickHouse: which database has what, and what is refused.
#include "store/clickhouse/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/hex.h"
#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/clickhouse_source.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/replicas.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/row_statement.h"
#include "store/clickhouse/schema.h"
#include "tests/clickhouse/answering_server.h"
#include "tests/clickhouse/fake_store.h"

namespace plimsoll::store::clickhouse::shards_test {
namespace {

using plimsoll::testing::AnsweringServer;
using plimsoll::testing::FakeStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kVersion = "26.7.1.1";
// Where no server listens.
constexpr const char* kNoServer = "http://127.0.0.1:1";

ConnectionOptions shard_at(const std::string& url, size_t number) {
  return {.base_url = url, .database = "fleet", .shard = number, .max_attempts = 1, .first_pause_ns = 1000};
}

TEST(Shards, AMachineHasTheShardOfItsHash) {
  for (const size_t shards : {1U, 2U, 3U, 16U}) {
    std::map<uint32_t, int> machines;
    for (int machine = 0; machine < 4000; ++machine) {
      const std::string id = fmt::format("machine-{}.example", machine);
      const uint32_t shard = shard_of_machine(id, shards);
      EXPECT_EQ(shard, checksum64(as_bytes(id)) % shards) << "docs/scaling.md says so";
      ++machines[shard];
    }
    ASSERT_THAT(machines, SizeIs(shards));
    for (const auto& [shard, count] : machines) {
      EXPECT_GT(count, 4000 / static_cast<int>(shards) / 2) << "shard " << shard << " of " << shards;
    }
  }
}

// Rows of each origin in a shard's inserts.
std::map<uint32_t, int> origins_in(const FakeStore& shard) {
  std::map<uint32_t, int> origins;
  for (const http::Request& insert : shard.requests("INSERT INTO rows ")) {
    const Status read = for_each_row(insert.body, "rows", [&](ByteReader& reader) -> Status {
      reader.read<uint32_t>();  // epoch
      reader.read<uint64_t>();  // batch
      reader.read<uint32_t>();  // event
      ++origins[reader.read<uint32_t>()];
      for (int column = 0; column < 4; ++column) {
        reader.read<uint32_t>();
      }
      reader.read<uint64_t>();  // hits
      return {};
    });
    EXPECT_TRUE(read) << read.error().text();
  }
  return origins;
}

// Two rows for each origin.
Status commit_origins(ClickHouseSink& sink, const std::vector<MachineEntry>& machines,
                      const std::vector<OriginEntry>& origins) {
  const auto place = sink.begin(true);
  if (!place) {
    return propagate(place);
  }
  Batch batch;
  batch.epoch = place->epoch;
  batch.after = place->after;
  batch.last = place->after + static_cast<int64_t>(origins.size());
  batch.entries.before = place->entries;
  batch.entries.machines = machines;
  batch.entries.origins = origins;
  batch.profiles.resize(origins.size());
  for (uint32_t origin = 0; origin < origins.size(); ++origin) {
    for (const uint32_t stack : {0U, 1U}) {
      Row row;
      row[Column::kOrigin] = static_cast<uint32_t>(place->entries.origins) + origin;
      row[Column::kStack] = stack;
      row.hits = 1;
      batch.rows.push_back(row);
    }
  }
  return sink.commit(std::move(batch));
}

TEST(Shards, AllRowsOfAMachineGoToOneShard) {
  FakeStore main(kVersion);
  FakeStore second(kVersion);
  FakeStore third(kVersion);
  std::vector<ConnectionOptions> further{second.options(), third.options()};
  further[0].shard = 1;
  further[1].shard = 2;
  auto sink = ClickHouseSink::open(
      main.options(), {}, [] { return int64_t{1'700'000'000} * 1'000'000'000; }, further);
  ASSERT_TRUE(sink) << sink.error().text();

  constexpr uint32_t kMachines = 30;
  std::vector<MachineEntry> machines;
  std::vector<OriginEntry> origins;
  std::vector<uint32_t> expected{0};  // by origin
  for (uint32_t machine = 1; machine <= kMachines; ++machine) {
    machines.emplace_back().machine_id = fmt::format("m{}", machine);
    origins.emplace_back().machine = machine;
    expected.push_back(shard_of_machine(machines.back().machine_id, 3));
  }
  Status committed = commit_origins(**sink, machines, origins);
  ASSERT_TRUE(committed) << committed.error().text();
  // Of machines that the dictionaries have already, in another order.
  std::vector<OriginEntry> later;
  for (uint32_t machine = kMachines; machine > 0; --machine) {
    later.emplace_back().machine = machine;
    expected.push_back(shard_of_machine(machines[machine - 1].machine_id, 3));
  }
  committed = commit_origins(**sink, {}, later);
  ASSERT_TRUE(committed) << committed.error().text();

  const std::array<std::map<uint32_t, int>, 3> found{origins_in(main), origins_in(second), origins_in(third)};
  for (uint32_t origin = 1; origin < expected.size(); ++origin) {
    for (uint32_t shard = 0; shard < found.size(); ++shard) {
      const auto rows = found[shard].find(origin);
      EXPECT_EQ(rows == found[shard].end() ? 0 : rows->second, shard == expected[origin] ? 2 : 0)
          << "origin " << origin << " in shard " << shard;
    }
  }
  // Marks and dictionaries are in the main database alone, and the marks say how many shards there are.
  ASSERT_THAT(main.marks(), SizeIs(2));
  EXPECT_EQ(main.marks().back().shards, 3U);
  for (const FakeStore* shard : {&second, &third}) {
    EXPECT_THAT(shard->requests("INSERT INTO batches "), IsEmpty());
    EXPECT_THAT(shard->requests("INSERT INTO origins "), IsEmpty());
    EXPECT_THAT(shard->requests("INSERT INTO machines "), IsEmpty());
  }
}

TEST(Shards, ABatchThatAShardRefusesIsNotCommitted) {
  FakeStore main(kVersion);
  FakeStore second(kVersion);
  ConnectionOptions further = second.options();
  further.shard = 1;
  auto sink = ClickHouseSink::open(main.options(), {}, [] { return int64_t{1'700'000'000} * 1'000'000'000; },
                                   {further});
  ASSERT_TRUE(sink) << sink.error().text();
  std::vector<MachineEntry> machines;
  std::vector<OriginEntry> origins;
  for (uint32_t machine = 1; machine <= 40; ++machine) {
    machines.emplace_back().machine_id = fmt::format("m{}", machine);
    origins.emplace_back().machine = machine;
  }
  second.fail_insert("rows", "Code: 242, e.displayText() = DB::Exception: Table is in readonly mode", false);
  const Status failed = commit_origins(**sink, machines, origins);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().text(), HasSubstr("shard 1 of the rows (database fleet at " + second.url()));
  EXPECT_THAT(main.marks(), IsEmpty());
  EXPECT_EQ((*sink)->committed_up_to(), 0);
  const Status committed = commit_origins(**sink, machines, origins);
  ASSERT_TRUE(committed) << committed.error().text();
  EXPECT_THAT(main.marks(), SizeIs(1));
}

// It is tried every other second, and what each attempt had left would take room for days.
TEST(Shards, WhileOneIsAwayNothingIsWrittenToTheOthers) {
  FakeStore main(kVersion);
  auto second = std::make_unique<FakeStore>(kVersion);
  ConnectionOptions further = second->options();
  further.shard = 1;
  auto sink = ClickHouseSink::open(main.options(), {}, [] { return int64_t{1'700'000'000} * 1'000'000'000; },
                                   {further});
  ASSERT_TRUE(sink) << sink.error().text();
  std::vector<MachineEntry> machines;
  std::vector<OriginEntry> origins;
  for (uint32_t machine = 1; machine <= 40; ++machine) {
    machines.emplace_back().machine_id = fmt::format("m{}", machine);
    origins.emplace_back().machine = machine;
  }
  second.reset();
  EXPECT_FALSE(commit_origins(**sink, machines, origins)) << "which finds out";
  const size_t inserts = main.requests("INSERT INTO ").size();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Status failed = commit_origins(**sink, machines, origins);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().text();
    EXPECT_THAT(failed.error().text(), HasSubstr("shard 1 of the rows"));
  }
  EXPECT_EQ(main.requests("INSERT INTO ").size(), inserts);
}

TEST(Shards, AWriterThatKnowsFewerIsRefused) {
  FakeStore main(kVersion);
  FakeStore second(kVersion);
  ConnectionOptions further = second.options();
  further.shard = 1;
  const auto now_ns = [] { return int64_t{1'700'000'000} * 1'000'000'000; };
  {
    auto sink = ClickHouseSink::open(main.options(), {}, now_ns, {further});
    ASSERT_TRUE(sink) << sink.error().text();
    const Status committed = commit_origins(**sink, {}, std::vector<OriginEntry>(1));
    ASSERT_TRUE(committed) << committed.error().text();
  }
  const auto alone = ClickHouseSink::open(main.options(), {}, now_ns);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kConflict) << alone.error().text();
  EXPECT_THAT(alone.error().text(), HasSubstr("store.shards"));
}

// The main database may be restored from a backup that is older than its shards.
TEST(Shards, ASessionIsNewerThanThoseOfEachShard) {
  AnsweringServer main([](std::string_view sql) {
    RowBinaryWriter rows;
    if (sql.starts_with("SELECT max(session)")) {
      rows.number(uint32_t{4});
    } else if (sql.starts_with("SELECT count() FROM sessions")) {
      rows.number(uint64_t{1});
    }
    return rows.take();
  });
  AnsweringServer shard([](std::string_view sql) {
    return sql.starts_with("SELECT max(session)") ? RowBinaryWriter().number(uint32_t{9}).take()
                                                  : std::string();
  });
  Connection connection(main.connections()->options());
  const std::vector<ConnectionOptions> further{shard_at("http://" + shard.address(), 1)};
  const auto session = begin_session_of_all(connection, further);
  ASSERT_TRUE(session) << session.error().text();
  EXPECT_EQ(*session, 10U);
}

// A database that says whose rows it has.
class NotedShard {
 public:
  explicit NotedShard(std::string owner)
      : server_([owner = std::move(owner), this](std::string_view sql) {
          RowBinaryWriter rows;
          if (sql == "SELECT version()") {
            return std::string(kVersion);
          }
          if (sql.starts_with("SELECT directory FROM directories") && !owner.empty()) {
            rows.text(owner);
          } else if (sql.starts_with("SELECT max(format)")) {
            rows.number(uint32_t{1});
          } else if (sql.starts_with("INSERT INTO directories")) {
            is_taken_ = true;
          }
          return rows.take();
        }) {}

  std::string url() const { return "http://" + server_.address(); }
  bool is_taken() const { return is_taken_; }

 private:
  std::atomic<bool> is_taken_ = false;
  AnsweringServer server_;
};

// Its first session drew 0xabc; its newest batch is split over so many shards. `has_new_format`: whether it was given a format since, that of
// sharded tables, which releases that know no shards refuse.
std::unique_ptr<AnsweringServer> main_database(uint32_t shards, std::atomic<bool>& has_new_format) {
  return std::make_unique<AnsweringServer>([shards, &has_new_format](std::string_view sql) {
    RowBinaryWriter rows;
    if (sql.starts_with("SELECT random FROM sessions")) {
      rows.number(uint64_t{0xabc});
    } else if (sql.starts_with("SELECT shards FROM batches")) {
      rows.number(shards);
    } else if (sql.starts_with("SELECT max(format)")) {
      rows.number(uint32_t{1});
    } else if (sql.starts_with("INSERT INTO formats")) {
      has_new_format = true;
    }
    return rows.take();
  });
}

struct NotedOwner {
  std::string owner;
  uint32_t used_shards = 1;
  std::string refused;  // empty: it is this shard, or becomes it
};

TEST(Shards, ADatabaseIsOneShardOfOneStore) {
  const std::string id(16, 'a');
  const std::vector<NotedOwner> cases{
      {"", 1, ""},
      {fmt::format("{}-{:016x}-shard-1", to_hex(id), 0xabc), 2, ""},
      {fmt::format("{}-{:016x}-shard-2", to_hex(id), 0xabc), 1, "as another shard"},
      {fmt::format("{}-{:016x}-shard-1", to_hex(id), 0xdef), 1, "or of another store"},
      {to_hex(id), 1, "as the main database"},
      {to_hex(std::string(16, 'b')), 1, "another data directory"},
      {"", 2, "had rows, and has none"},
  };
  for (const auto& [owner, used_shards, refused] : cases) {
    SCOPED_TRACE(fmt::format("owner '{}', {} shards in use", owner, used_shards));
    std::atomic<bool> has_new_format = false;
    const auto main = main_database(used_shards, has_new_format);
    const NotedShard shard(owner);
    Connection connection(main->connections()->options());
    const std::vector<ConnectionOptions> further{shard_at(shard.url(), 1)};
    const Status settled = settle_shards(connection, further, id);
    EXPECT_EQ(settled.has_value(), refused.empty()) << (settled ? "" : settled.error().text());
    if (!settled) {
      EXPECT_EQ(settled.error().code, ErrorCode::kConflict);
      EXPECT_THAT(settled.error().message, HasSubstr(refused));
      EXPECT_THAT(settled.error().message, HasSubstr("shard 1 of the rows"));
      EXPECT_FALSE(settled.error().hint.empty());
    }
    EXPECT_EQ(shard.is_taken(), refused.empty() && owner.empty());
    EXPECT_TRUE(has_new_format);
    // A reader takes nothing.
    EXPECT_EQ(expect_shards(connection, further, id).has_value(), refused.empty() && !owner.empty());
  }
}

TEST(Shards, EachIsADatabaseOfItsOwn) {
  const auto further = shards_of({.address = "clickhouse://a/p",
                                  .password_file = {},
                                  .ca = {},
                                  .insert_quorum = 0,
                                  .shards = {"clickhouse://b/p", "clickhouse://a/q"}});
  ASSERT_TRUE(further) << further.error().text();
  ASSERT_THAT(*further, SizeIs(2));
  EXPECT_EQ((*further)[0].shard, 1U);
  EXPECT_EQ((*further)[1].shard, 2U);
  EXPECT_EQ((*further)[1].database, "q");
  const std::vector<std::vector<std::string>> twice{{"clickhouse://a:8123/p"},
                                                    {"clickhouse://b/p", "clickhouse://b/p"},
                                                    {"clickhouse://b,c/p", "clickhouse://user@d,c/p"}};
  for (const std::vector<std::string>& shards : twice) {
    SCOPED_TRACE(shards.back());
    const auto refused = shards_of({.address = "clickhouse://a/p", .insert_quorum = 2, .shards = shards});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_EQ(refused.error().field, "store.shards");
  }
  const auto alone = shards_of({.address = "clickhouse://a/p", .shards = {"clickhouse://b,c/p"}});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kInvalid) << "its hosts would have rows of their own";
}

TEST(Shards, MayBeAddedAtTheEndAndNotTakenAway) {
  const RowsAddress known{.address = "clickhouse://a/p", .shards = {"clickhouse://b/p", "clickhouse://c/p"}};
  const auto given = [&](std::vector<std::string> shards) {
    RowsAddress rows = known;
    rows.shards = std::move(shards);
    return expect_same_shards(known, rows);
  };
  EXPECT_TRUE(given({"clickhouse://b/p", "clickhouse://c/p"}));
  EXPECT_TRUE(given({"clickhouse://b/p", "clickhouse://c/p", "clickhouse://d/p"}));
  const std::vector<std::vector<std::string>> others{
      std::vector<std::string>(),
      {"clickhouse://b/p"},
      {"clickhouse://c/p", "clickhouse://b/p"},
      {"clickhouse://d/p", "clickhouse://b/p", "clickhouse://c/p"}};
  for (const std::vector<std::string>& shards : others) {
    const Status refused = given(shards);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_EQ(refused.error().field, "store.shards");
    EXPECT_THAT(refused.error().hint, HasSubstr("plimsoll store copy"));
  }
  const RowsAddress replicated{
      .address = "clickhouse://a,b/p", .insert_quorum = 2, .shards = {"clickhouse://c,d/p"}};
  RowsAddress changed = replicated;
  changed.shards = {"clickhouse://d,e/p"};
  EXPECT_TRUE(expect_same_shards(replicated, changed)) << "a replica was replaced";
  changed.shards = {"clickhouse://e,f/p"};
  EXPECT_FALSE(expect_same_shards(replicated, changed));
}

// Shards may share a ZooKeeper, and their databases a name.
TEST(Shards, ReplicasOfOneShareNothingWithThoseOfAnother) {
  ConnectionOptions options{.database = "fleet", .insert_quorum = 2};
  std::set<std::string> paths;
  for (const size_t shard : {0U, 1U, 2U}) {
    options.shard = shard;
    paths.insert(replica_path(options, "rows"));
  }
  EXPECT_THAT(paths, SizeIs(3));
  options.shard = 0;
  EXPECT_EQ(replica_path(options, "rows"), "/plimsoll/tables/fleet/rows")
      << "as stores without shards have it";
}

TEST(Shards, FiltersNeedNoEntriesThere) {
  std::vector<bool> every_other(100);
  for (size_t id = 0; id < every_other.size(); id += 2) {
    every_other[id] = true;
  }
  RowFilter filter;
  filter[Column::kWorkload] = IdSet::of_flags(every_other)
                                  .made_by({.among = IdSet::of_ranges({{0, 98}}),
                                            .conditions = {{.dimension = "job", .values = {"web"}}}});
  Statement statement{"SELECT 1 FROM rows WHERE 1", {}};
  add_conditions(filter, {.epoch = 1}, statement, EntryTables::kElsewhere);
  EXPECT_EQ(statement.sql, "SELECT 1 FROM rows WHERE 1 AND workload IN selected_workload");
}

EpochBatches some_epoch() {
  EpochBatches epoch{.epoch = 1};
  epoch.add(1);
  epoch.newest = {.epoch = 1, .batch = 1};
  return epoch;
}

// Both ways of reading would else show a part of the rows.
TEST(Shards, WhereOneIsGoneThereIsNoAnswer) {
  AnsweringServer main([](std::string_view sql) {
    RowBinaryWriter rows;
    if (sql.starts_with("SELECT count() FROM batches")) {
      rows.number(uint64_t{1});
    }
    return rows.take();
  });
  const ClickHouseRows rows(main.connections(), some_epoch(),
                            {std::make_shared<ConnectionPool>(shard_at(kNoServer, 1))});
  AggregateRequest request;
  request.measures = {Factors(1, IdTable<double>{1.0})};
  const auto sums = rows.aggregate(request);
  ASSERT_FALSE(sums);
  EXPECT_EQ(sums.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(sums.error().message, HasSubstr("shard 1 of the rows (database fleet at http://127.0.0.1:1)"));
  const auto cursor = rows.scan({});
  const auto scanned = cursor->next();
  ASSERT_FALSE(scanned);
  EXPECT_THAT(scanned.error().message,
              HasSubstr("shard 1 of the rows (database fleet at http://127.0.0.1:1)"));
}

// As a query server does until it has the new list.
TEST(Shards, AReaderThatKnowsFewerDoesNotAnswer) {
  AnsweringServer main([](std::string_view sql) {
    RowBinaryWriter rows;
    if (sql.starts_with("SELECT min(epoch), max(batch)")) {
      rows.number(uint32_t{1}).number(uint64_t{1});
    } else if (sql.find(" FROM batches ") != std::string_view::npos) {
      write_mark({.epoch = 1, .batch = 1, .shards = 3}, rows);
    }
    return rows.take();
  });
  ClickHouseSource source(main.connections(), {std::make_shared<ConnectionPool>(shard_at(kNoServer, 1))});
  const auto refused = source.newest(all_times());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().text();
  EXPECT_THAT(refused.error().message, HasSubstr("split over 3 databases, of which this process knows 2"));
}

TEST(Shards, AnEpochIsDroppedFromTheMainDatabaseFirst) {
  std::vector<std::string> drops;
  const auto answer = [&](const std::string& database) {
    return [&drops, database](std::string_view sql) {
      if (sql.starts_with("ALTER TABLE ")) {
        drops.push_back(database + ": " + std::string(sql));
      }
      return std::string();
    };
  };
  AnsweringServer main(answer("main"));
  AnsweringServer shard(answer("shard"));
  const auto connections = main.connections();
  const Status dropped = drop_epoch_of_all(
      *connections, {std::make_shared<ConnectionPool>(shard_at("http://" + shard.address(), 1))}, 7);
  ASSERT_TRUE(dropped) << dropped.error().text();
  ASSERT_FALSE(drops.empty());
  EXPECT_EQ(drops.front(), "main: ALTER TABLE batches DROP PARTITION 7");
  EXPECT_EQ(drops.back(), "shard: ALTER TABLE rows DROP PARTITION 7");
  EXPECT_EQ(std::ranges::count_if(drops, [](const std::string& drop) { return drop.starts_with("shard"); }),
            1);
}

}  // namespace
}  // namespace plimsoll::store::clickhouse::shards_test
