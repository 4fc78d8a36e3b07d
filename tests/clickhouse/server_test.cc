// A store in a ClickHouse server that is real: its tables, its users, and its end at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/building/batch_builder.h"
#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/shards.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/clickhouse/faulty_proxy.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

using store::clickhouse::ClickHouseSink;
using store::clickhouse::Connection;
using store::clickhouse::prepare_tables;

constexpr int64_t kNowNs = int64_t{1'700'000'000} * 1'000'000'000;

std::unique_ptr<ClickHouseSink> opened(const store::clickhouse::ConnectionOptions& options) {
  auto sink = ClickHouseSink::open(options, {}, [] { return kNowNs; });
  EXPECT_TRUE(sink) << sink.error().text();
  return sink ? std::move(*sink) : nullptr;
}

class ClickHouseServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = ClickHouseServer::why_missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    server_ = std::make_unique<ClickHouseServer>();
    options_ = server_->new_database();
  }

  Result<std::string> ask(const std::string& sql) { return Connection(options_).query(sql); }
  // Nothing where it fails, as the test then does.
  std::string answer_to(const std::string& sql) {
    const auto answer = ask(sql);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer.value_or("");
  }

  std::unique_ptr<ClickHouseServer> server_;
  store::clickhouse::ConnectionOptions options_;
};

TEST_F(ClickHouseServerTest, TablesAreMadeOnceAndMissingColumnsAdded) {
  Connection connection(options_);
  Status prepared = prepare_tables(connection);
  ASSERT_TRUE(prepared) << prepared.error().text();
  ASSERT_TRUE(ask("DROP TABLE workloads"));
  ASSERT_TRUE(
      ask("CREATE TABLE workloads (epoch UInt32, batch UInt64, id UInt32, job String) "
          "ENGINE = MergeTree PARTITION BY epoch ORDER BY (epoch, id)"));
  ASSERT_TRUE(ask("INSERT INTO workloads (epoch, batch, id, job) VALUES (1, 1, 1, 'web')"));
  prepared = prepare_tables(connection);
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(answer_to("SELECT job, builder FROM workloads"), "web\t\n");
  EXPECT_EQ(answer_to("SELECT count() FROM formats"), "1\n");
}

TEST_F(ClickHouseServerTest, TablesOfALaterReleaseAreRefused) {
  Connection connection(options_);
  ASSERT_TRUE(prepare_tables(connection));
  ASSERT_TRUE(ask("INSERT INTO formats (format) VALUES (1000)"));
  const Status refused = prepare_tables(connection);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << refused.error().text();
}

TEST_F(ClickHouseServerTest, AWrongPasswordIsDenied) {
  options_.password = "wrong";
  const auto sink = ClickHouseSink::open(options_, {}, [] { return kNowNs; });
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().code, ErrorCode::kDenied) << sink.error().text();
}

TEST_F(ClickHouseServerTest, AProcessThatWasSucceededCommitsNothingMore) {
  const auto first = opened(options_);
  const auto second = opened(options_);
  ASSERT_TRUE(first && second);
  store::BatchBuilder builder(*first);
  ASSERT_TRUE(builder.begin(true));
  ASSERT_TRUE(builder.add(make_profile({.seed = 1}), 1));
  const Status refused = first->commit(builder.take());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << refused.error().text();
  const auto place = second->begin(true);
  ASSERT_TRUE(place) << place.error().text();
  EXPECT_EQ(place->after, 0);
}

// A profile of one sample, with a function of its own.
Status commit_profile(store::BatchBuilder& builder, store::Sink& sink, int64_t sequence) {
  const auto place = builder.begin(true);
  const Status added = place ? builder.add(make_profile({.seed = static_cast<uint64_t>(sequence),
                                                         .stacks = fmt::format("main;f{} 1\n", sequence)}),
                                           sequence)
                             : propagate(place);
  const Status committed = added ? sink.commit(builder.take()) : added;
  if (committed) {
    builder.settle();
  }
  return committed;
}

// For an archive that lacks them. Two in an epoch.
TEST_F(ClickHouseServerTest, HandsOverWhichProfilesHaveRows) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "password") << options_.password << "\n";
  const std::string host = options_.base_url.substr(std::string("http://").size());
  const store::RowsAddress rows{
      .address = fmt::format("clickhouse://{}@{}/{}", options_.user, host, options_.database),
      .password_file = folder / "password"};
  const auto kept = store::clickhouse::ClickHouseStore::open(rows, std::string(16, 'd'), {.max_profiles = 2},
                                                             [] { return kNowNs; });
  ASSERT_TRUE(kept) << kept.error().text();
  store::BatchBuilder builder((*kept)->sink());
  for (int64_t sequence = 1; sequence <= 7; ++sequence) {
    const Status committed = commit_profile(builder, (*kept)->sink(), sequence);
    ASSERT_TRUE(committed) << committed.error().text();
  }
  std::vector<int64_t> found;
  const Status read =
      (*kept)->for_each_profile(2, 6, [&](std::span<const store::KnownProfile> profiles) -> Status {
        for (const store::KnownProfile& profile : profiles) {
          EXPECT_EQ(profile.id, profile_id(static_cast<uint64_t>(profile.sequence)));
          EXPECT_GT(profile.to_ns, 0);
          found.push_back(profile.sequence);
        }
        return {};
      });
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_THAT(found, ::testing::ElementsAre(2, 3, 4, 5, 6));
}

// At each request of a commit, before the server has it or behind its answer.
TEST_F(ClickHouseServerTest, KilledAtAnyRequestItHasEachProfileOnce) {
  FaultyProxy proxy(server_->url(), [&] { server_->kill(); });
  auto options = options_;
  options.base_url = proxy.url();
  options.max_attempts = 1;
  const auto sink = opened(options);
  ASSERT_TRUE(sink);
  store::BatchBuilder builder(*sink);
  constexpr int64_t kProfiles = 16;
  int failures = 0;
  for (int64_t sequence = 1; sequence <= kProfiles; ++sequence) {
    SCOPED_TRACE(sequence);
    proxy.fail_at(static_cast<uint64_t>(sequence - 1));
    const Status failed = commit_profile(builder, *sink, sequence);
    proxy.stop_failing();
    if (!failed) {
      ++failures;
      server_->start();
    }
    const auto place = sink->begin(true);
    ASSERT_TRUE(place) << place.error().text();
    if (place->after < sequence) {
      const Status committed = commit_profile(builder, *sink, sequence);
      ASSERT_TRUE(committed) << committed.error().text();
    }
  }
  EXPECT_GE(failures, kProfiles / 2);
  Connection connection(options_);
  const auto marks = store::clickhouse::read_marks(connection);
  const auto epochs = marks ? store::clickhouse::committed_among(*marks) : propagate(marks);
  ASSERT_TRUE(epochs) << epochs.error().text();
  EXPECT_EQ(epochs->at(1).newest.last_sequence, kProfiles);
  const std::string condition = epochs->at(1).condition();
  EXPECT_EQ(answer_to("SELECT sum(hits), uniqExact(origin) FROM rows WHERE " + condition),
            fmt::format("{0}\t{0}\n", kProfiles));
  EXPECT_EQ(answer_to("SELECT count(), max(id) FROM origins WHERE " + condition),
            fmt::format("{0}\t{0}\n", kProfiles));
}

// The main database goes on, and has half of the batch when its other half is refused, or stored without an answer.
TEST_F(ClickHouseServerTest, AShardThatRefusesInTheMiddleOfABatchChangesNoSum) {
  FaultyProxy proxy(server_->url());
  auto shard = server_->new_database();
  shard.shard = 1;
  auto through_proxy = shard;
  through_proxy.base_url = proxy.url();
  through_proxy.max_attempts = 1;
  auto opened_sink = ClickHouseSink::open(options_, {}, [] { return kNowNs; }, {through_proxy});
  ASSERT_TRUE(opened_sink) << opened_sink.error().text();
  ClickHouseSink& sink = **opened_sink;
  const auto machine_of_shard = [](uint32_t wanted) {
    int number = 0;
    while (store::clickhouse::shard_of_machine(fmt::format("m{}", number), 2) != wanted) {
      ++number;
    }
    return fmt::format("m{}", number);
  };
  store::BatchBuilder builder(sink);
  int64_t sequence = 0;
  // Of a profile for each of the two.
  const auto commit_pair = [&]() -> Status {
    const auto place = builder.begin(true);
    if (!place) {
      return propagate(place);
    }
    sequence = place->after;
    for (const uint32_t wanted : {0U, 1U}) {
      ++sequence;
      const Status added = builder.add(make_profile({.seed = static_cast<uint64_t>(sequence),
                                                     .machine = machine_of_shard(wanted),
                                                     .stacks = fmt::format("main;f{} 1\n", sequence)}),
                                       sequence);
      if (!added) {
        return added;
      }
    }
    const Status committed = sink.commit(builder.take());
    if (committed) {
      builder.settle();
    }
    return committed;
  };
  constexpr int64_t kPairs = 10;
  for (int64_t pair = 0; pair < kPairs; ++pair) {
    SCOPED_TRACE(pair);
    // The only request of a commit to this shard: it is lost, or its answer.
    proxy.fail_at(static_cast<uint64_t>(pair % 2));
    const Status failed = commit_pair();
    proxy.stop_failing();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(failed.error().message, ::testing::HasSubstr("shard 1 of the rows"));
    EXPECT_EQ(sink.committed_up_to(), 2 * pair);
    const Status committed = commit_pair();
    ASSERT_TRUE(committed) << committed.error().text();
  }
  EXPECT_EQ(sequence, 2 * kPairs);
  Connection connection(options_);
  const auto marks = store::clickhouse::read_marks(connection);
  const auto epochs = marks ? store::clickhouse::committed_among(*marks) : propagate(marks);
  ASSERT_TRUE(epochs) << epochs.error().text();
  const store::clickhouse::EpochBatches& epoch = epochs->at(1);
  const std::string sums = "SELECT sum(hits), uniqExact(origin) FROM rows WHERE " + epoch.condition();
  EXPECT_EQ(answer_to(sums), fmt::format("{0}\t{0}\n", kPairs));
  EXPECT_EQ(Connection(shard).query(sums).value_or("?"), fmt::format("{0}\t{0}\n", kPairs));
  // Without the condition there is more: what the lost answers were about.
  EXPECT_EQ(Connection(shard).query("SELECT sum(hits) FROM rows").value_or("?"),
            fmt::format("{}\n", kPairs + kPairs / 2));
  // As a question sees it.
  const store::clickhouse::ClickHouseRows rows(std::make_shared<store::clickhouse::ConnectionPool>(options_),
                                               epoch,
                                               {std::make_shared<store::clickhouse::ConnectionPool>(shard)});
  const auto cursor = rows.scan({});
  uint64_t hits = 0;
  for (auto some = cursor->next(); some && !some->empty(); some = cursor->next()) {
    for (const store::Row& row : *some) {
      hits += row.hits;
    }
  }
  EXPECT_EQ(hits, uint64_t{2 * kPairs});
}

// One that did not answer when an epoch was dropped still has its rows, and no mark leads there.
TEST_F(ClickHouseServerTest, WhatIsLeftOfADroppedEpochOnAShardGoesTheNextTime) {
  const std::string directory_id(16, 'a');
  TemporaryDirectory folder;
  const std::string password_file = folder / "password";
  std::ofstream(password_file) << options_.password << "\n";
  const std::string host = server_->url().substr(std::string("http://").size());
  const auto address_of = [&](const store::clickhouse::ConnectionOptions& database) {
    return fmt::format("clickhouse://{}@{}/{}", database.user, host, database.database);
  };
  auto shard = server_->new_database();
  shard.shard = 1;
  const store::RowsAddress rows{.address = address_of(options_),
                                .password_file = password_file,
                                .ca = {},
                                .insert_quorum = 0,
                                .shards = {address_of(shard)}};
  const auto written = store::clickhouse::ClickHouseStore::open(rows, directory_id, {.max_profiles = 1},
                                                                [] { return kNowNs; });
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(answer_to("SELECT max(format) FROM formats"), "2\n")
      << "a release without shards would write to it";
  store::BatchBuilder builder((*written)->sink());
  for (int64_t sequence = 1; sequence <= 3; ++sequence) {
    const Status committed = commit_profile(builder, (*written)->sink(), sequence);
    ASSERT_TRUE(committed) << committed.error().text();
  }
  // Of whatever machine the profile was.
  Connection there(shard);
  const Status left = there.insert("rows", store::clickhouse::table_called("rows").columns(),
                                   store::clickhouse::encode_rows(std::vector<store::Row>(1), {1, 1}));
  ASSERT_TRUE(left) << left.error().text();
  Connection connection(options_);
  const Status gone = store::clickhouse::drop_epoch(connection, options_, 1);
  ASSERT_TRUE(gone) << gone.error().text();
  const auto dropped = (*written)->drop_old({});
  ASSERT_TRUE(dropped) << dropped.error().text();
  EXPECT_EQ(dropped->epochs, 1U);
  EXPECT_EQ(there.query("SELECT count() FROM rows WHERE epoch = 1").value_or("?"), "0\n");
}

}  // namespace
}  // namespace plimsoll::testing
