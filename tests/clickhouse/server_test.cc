// A store in a ClickHouse server that is real: its tables, its users, and its end at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/building/batch_builder.h"
#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/clickhouse/faulty_proxy.h"
#include "tests/profile_fixture.h"

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

}  // namespace
}  // namespace plimsoll::testing
