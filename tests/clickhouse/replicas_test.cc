// A store on replicas, as far as that needs no server: what is asked of them, and a quorum that is not reached.
#include "store/clickhouse/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"
#include "tests/clickhouse/fake_server.h"
#include "tests/clickhouse/fake_store.h"

namespace plimsoll::store::clickhouse {
namespace {

using plimsoll::testing::answer;
using plimsoll::testing::FakeServer;
using plimsoll::testing::FakeStore;
using ::testing::HasSubstr;

constexpr const char* kToday = "26.7.1.1";
constexpr const char* kDebian = "18.16.1";
constexpr const char* kNoQuorum =
    "Code: 319, e.displayText() = DB::Exception: Unknown status, client must retry. Reason: Timeout while "
    "waiting for quorum";
constexpr const char* kTooFew =
    "Code: 285, e.displayText() = DB::Exception: Number of alive replicas (1) is less than requested quorum "
    "(2).";

std::unique_ptr<ClickHouseSink> sink_of(const ConnectionOptions& options) {
  auto sink = ClickHouseSink::open(options, {}, [] { return int64_t{1'700'000'000} * 1'000'000'000; });
  EXPECT_TRUE(sink) << sink.error().text();
  return sink ? std::move(*sink) : nullptr;
}

// Of one profile, which is set aside.
Status commit_next(ClickHouseSink& sink) {
  const auto place = sink.begin(true);
  if (!place) {
    return propagate(place);
  }
  Batch batch;
  batch.epoch = place->epoch;
  batch.after = place->after;
  batch.last = place->after + 1;
  batch.entries.before = place->entries;
  batch.set_aside.push_back({.sequence = batch.last, .reason = "a test"});
  return sink.commit(std::move(batch));
}

std::vector<std::pair<uint64_t, uint64_t>> committed_in(const FakeStore& server) {
  const auto epochs = committed_among(server.marks());
  EXPECT_TRUE(epochs) << epochs.error().text();
  return epochs && epochs->contains(1) ? epochs->at(1).ranges : std::vector<std::pair<uint64_t, uint64_t>>();
}

TEST(ClickHouseReplicas, ABatchWithoutItsQuorumIsWrittenAgainAndCountsOnce) {
  for (const std::string table : {"set_aside", "batches"}) {
    for (const std::string failure : {kNoQuorum, kTooFew}) {
      SCOPED_TRACE(table + ": " + failure);
      FakeStore server(kToday);
      const auto sink = sink_of(server.options());
      ASSERT_TRUE(sink);
      server.fail_insert(table, failure, false);
      const Status failed = commit_next(*sink);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().text();
      EXPECT_EQ(sink->committed_up_to(), 0);
      const Status committed = commit_next(*sink);
      ASSERT_TRUE(committed) << committed.error().text();
      EXPECT_EQ(sink->committed_up_to(), 1);
      EXPECT_EQ(server.marks().size(), 1U);
      EXPECT_EQ(server.requests("INSERT INTO set_aside").size(), 2U);
    }
  }
}

// The last replica of the quorum took it after the server had given up waiting.
TEST(ClickHouseReplicas, ABatchWhoseQuorumComesLateIsNotWrittenAgain) {
  FakeStore server(kToday);
  const auto sink = sink_of(server.options());
  ASSERT_TRUE(sink);
  server.fail_insert("batches", kNoQuorum, true);
  EXPECT_FALSE(commit_next(*sink));
  const auto place = sink->begin(true);
  ASSERT_TRUE(place) << place.error().text();
  EXPECT_EQ(place->after, 1);
  ASSERT_TRUE(commit_next(*sink));
  EXPECT_EQ(server.marks().size(), 2U);
  EXPECT_EQ(server.marks().back().last_sequence, 2);
}

// A server of before 21 shows the mark already, and its only replica may be lost.
TEST(ClickHouseReplicas, AMarkThatWaitsForItsQuorumDoesNotCount) {
  FakeStore server(kDebian);
  const auto sink = sink_of(server.options());
  ASSERT_TRUE(sink);
  server.fail_insert("batches", kNoQuorum, true);
  server.set_waiting(true);
  EXPECT_FALSE(commit_next(*sink));
  const auto waiting = sink->begin(true);
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(waiting.error().message, HasSubstr("waits until 2 replicas"));
  EXPECT_EQ(sink->committed_up_to(), 0);
  server.lose_marks();
  server.set_waiting(false);
  const Status committed = commit_next(*sink);
  ASSERT_TRUE(committed) << committed.error().text();
  EXPECT_EQ(committed_in(server).size(), 1U);
  EXPECT_EQ(server.marks().size(), 1U);
}

TEST(ClickHouseReplicas, InsertsWaitForTheQuorumAndQuestionsForWhatHasReachedIt) {
  for (const bool is_today : {true, false}) {
    SCOPED_TRACE(is_today);
    FakeStore server(is_today ? kToday : kDebian);
    const auto sink = sink_of(server.options());
    ASSERT_TRUE(sink && commit_next(*sink));
    const auto inserts = server.requests("INSERT INTO ");
    EXPECT_GE(inserts.size(), 3U);
    for (const http::Request& insert : inserts) {
      EXPECT_EQ(FakeStore::parameter_of(insert, "insert_quorum"), "2");
      EXPECT_EQ(FakeStore::parameter_of(insert, "insert_quorum_timeout"), "30000");
      EXPECT_EQ(FakeStore::parameter_of(insert, "insert_quorum_parallel"), is_today ? "0" : "");
    }
    const auto questions = server.requests("SELECT epoch, batch");
    EXPECT_GE(questions.size(), 1U);
    for (const http::Request& question : questions) {
      EXPECT_EQ(FakeStore::parameter_of(question, "select_sequential_consistency"), is_today ? "1" : "");
    }
  }
}

TEST(ClickHouseReplicas, ATableThatIsNotReplicatedIsAskedForNothingOfTheKind) {
  FakeStore server(kToday);
  auto options = server.options();
  options.insert_quorum = 0;
  const auto sink = sink_of(options);
  ASSERT_TRUE(sink && commit_next(*sink));
  for (const http::Request& request : server.requests("")) {
    EXPECT_EQ(FakeStore::parameter_of(request, "insert_quorum"), "");
    EXPECT_EQ(FakeStore::parameter_of(request, "select_sequential_consistency"), "");
  }
}

TEST(ClickHouseReplicas, EachHostGetsReplicatedTablesAndOneThatIsAwayIsPassedOver) {
  FakeServer away({answer(503, "upstream is down")});
  FakeStore first(kDebian);
  FakeStore second(kDebian);
  ConnectionOptions options = first.options();
  options.base_url = away.url();
  options.further_urls = {first.url(), second.url()};
  Connection connection(options);
  const Status prepared = prepare_tables(connection);
  ASSERT_TRUE(prepared) << prepared.error().text();
  for (const FakeStore* server : {&first, &second}) {
    const auto created = server->requests("CREATE TABLE ");
    ASSERT_EQ(created.size(), tables().size());
    EXPECT_THAT(
        created.back().body,
        HasSubstr("ENGINE = ReplicatedMergeTree('/plimsoll/tables/fleet/sessions', '{replica}') ORDER "
                  "BY (session)"));
  }
  options.further_urls.clear();
  Connection alone(options);
  const Status failed = prepare_tables(alone);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
}

TEST(ClickHouseReplicas, TablesOfTheOtherKindAreRefusedWithWhatToDo) {
  FakeStore server(kDebian);
  server.set_engine("MergeTree");
  Connection replicated(server.options());
  Status refused = prepare_tables(replicated);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().hint, HasSubstr("plimsoll store copy --replicated"));
  server.set_engine("ReplicatedMergeTree");
  auto options = server.options();
  options.insert_quorum = 0;
  Connection single(options);
  refused = prepare_tables(single);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().hint, HasSubstr("store.replicated = true"));
  EXPECT_TRUE(server.requests("CREATE TABLE ").empty());
}

// On a replica that still has marks of an epoch, questions would count what is left of its rows.
TEST(ClickHouseReplicas, RowsAreDroppedOnceNoReplicaHasTheMarks) {
  const std::string some = RowBinaryWriter().number(uint64_t{3}).bytes();
  const std::string none = RowBinaryWriter().number(uint64_t{0}).bytes();
  for (const bool is_lagging : {true, false}) {
    SCOPED_TRACE(is_lagging);
    FakeServer dropping(
        {answer(200, kDebian), answer(200, ""), answer(200, kDebian), answer(200, none), answer(200, "")});
    FakeServer lagging({answer(200, kDebian), answer(200, some), answer(200, is_lagging ? some : none)});
    const ConnectionOptions options{.base_url = dropping.url(),
                                    .further_urls = {lagging.url()},
                                    .database = "fleet",
                                    .insert_quorum = 2,
                                    .max_attempts = 1,
                                    .first_pause_ns = 1000};
    Connection connection(options);
    const Status dropped = drop_epoch(connection, options, 7);
    EXPECT_EQ(dropped.has_value(), !is_lagging);
    const auto is_drop = [](const http::Request& request) {
      return request.body.find("DROP PARTITION 7") != std::string::npos;
    };
    const auto drops = std::ranges::count_if(dropping.requests(), is_drop);
    EXPECT_EQ(drops, is_lagging ? 1 : static_cast<int64_t>(tables().size()) - 3);
  }
}

TEST(ClickHouseReplicas, SeveralHostsRequireReplicatedTables) {
  EXPECT_TRUE(connection_to({.address = "clickhouse://a,b/p", .insert_quorum = 2}));
  const auto refused = connection_to({.address = "clickhouse://a,b/p"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().hint, HasSubstr("store.replicated = true"));
}

TEST(ClickHouseReplicas, AnAddressMayGainAndLoseHosts) {
  const RowsAddress known{.address = "clickhouse://a,b/p", .insert_quorum = 2};
  EXPECT_TRUE(are_same_replicas(known, {.address = "clickhouse://b,c:8123,d/p", .insert_quorum = 3}));
  EXPECT_TRUE(are_same_replicas(known, {.address = "clickhouse://u@a:8123/p", .insert_quorum = 2}));
  EXPECT_FALSE(are_same_replicas(known, {.address = "clickhouse://c,d/p", .insert_quorum = 2}));
  EXPECT_FALSE(are_same_replicas(known, {.address = "clickhouse://a,b/q", .insert_quorum = 2}));
  EXPECT_FALSE(are_same_replicas(known, {.address = "clickhouse://a/p"}));
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
