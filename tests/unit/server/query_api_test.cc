// The server's routes against the registry of views.
#include "server/query_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "query/registry/view.h"
#include "query/snapshot/snapshot.h"
#include "query/traces/stored_requests.h"
#include "query/traces/trace_table.h"
#include "server/measuring_order.h"
#include "server/server_sources.h"
#include "store/ingest.h"
#include "store/store.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::server::query_api_test {
namespace {

using plimsoll::testing::kStartNs;
using ::testing::HasSubstr;
using ::testing::Not;

class QueryApi : public ::testing::Test {
 protected:
  QueryApi() : made_(*store::Ingest::open(folder_ / "data")), snapshots_(folder_ / "data") {
    hooks_ = {.write_audit_log =
                  [this] {
                    ++log_writes_;
                    return Status();
                  },
              .running_server = [] { return query::RunningServer(); },
              .answered =
                  [this](std::string_view view, int64_t duration_ns) {
                    answered_.emplace_back(view);
                    EXPECT_GE(duration_ns, 0);
                  }};
    routes_ = query_routes(snapshots_, hooks_);
  }
  const http::Route* route_of(const std::string& path) const {
    const auto route = std::ranges::find(routes_, path, &http::Route::path);
    return route == routes_.end() ? nullptr : &*route;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<store::Ingest> made_;
  query::SnapshotCache snapshots_;
  QueryHooks hooks_;
  std::vector<http::Route> routes_;
  int log_writes_ = 0;
  std::vector<std::string> answered_;
};

TEST_F(QueryApi, HasARouteForEachViewThatAnswers) {
  for (const query::View& view : query::views()) {
    const http::Route* const route = route_of("/api/v1/" + view.name);
    EXPECT_EQ(route != nullptr, view.answer != nullptr) << view.name;
    if (route == nullptr) {
      continue;
    }
    http::Request request;
    request.query = {{"0123456789", "x"}};
    const http::Response refused = route->handle(request);
    EXPECT_EQ(refused.status, 400) << view.name;
    for (const query::ParameterSpec& parameter : view.parameters) {
      EXPECT_THAT(refused.body, HasSubstr(parameter.name)) << view.name;
    }
  }
}

// A query server sends questions on that need more than rows and the fleet.
TEST_F(QueryApi, HasNoRoutesOfViewsThatReadADirectoryWhereThereIsNone) {
  hooks_.has_directory = false;
  routes_ = query_routes(snapshots_, hooks_);
  for (const query::View& view : query::views()) {
    EXPECT_EQ(route_of("/api/v1/" + view.name) != nullptr, view.answer && !view.reads_directory) << view.name;
  }
  EXPECT_EQ(route_of("/api/v1/status"), nullptr);
  EXPECT_NE(route_of("/api/v1/top"), nullptr);
  EXPECT_NE(route_of("/api/v1/registry"), nullptr);
}

// Views that say that they read rows and the fleet alone: answers without a data directory, and with what is wrong with a question.
class RowsAndFleetAlone : public query::ViewSources {
 public:
  explicit RowsAndFleetAlone(query::SnapshotCache& snapshots) : snapshots_(snapshots) {}
  Result<std::shared_ptr<const query::Snapshot>> snapshot(const store::TimeSpans& times) override {
    return snapshots_.newest(times);
  }
  const std::string& data_dir() const override {
    ADD_FAILURE() << "it reads the data directory";
    return snapshots_.data_dir();
  }
  const store::Fleet& fleet() const override { return snapshots_.fleet(); }
  query::KnownDraws::DrawAgain draw_again() const override { return {}; }
  std::optional<query::RunningServer> running_server() override {
    ADD_FAILURE() << "it asks the server for itself";
    return std::nullopt;
  }

 private:
  query::SnapshotCache& snapshots_;
};

TEST_F(QueryApi, ViewsThatReadNoDirectoryDoWithoutOne) {
  RowsAndFleetAlone sources(snapshots_);
  for (const query::View& view : query::views()) {
    if (!view.answer || view.reads_directory) {
      continue;
    }
    SCOPED_TRACE(view.name);
    query::Question question{.parameters = {}, .now_ns = kStartNs};
    for (const query::ParameterSpec& parameter : view.parameters) {
      if (parameter.is_positional) {
        question.parameters.emplace_back(parameter.name, "main");
      }
    }
    // Most have nothing to tell of: what counts is what they have looked at.
    static_cast<void>(view.answer(question, sources).has_value());
  }
}

TEST_F(QueryApi, NotesOfTheServerAreInItsAnswers) {
  hooks_.note = [] { return std::optional<std::string>("machines are old"); };
  routes_ = query_routes(snapshots_, hooks_);
  http::Request request;
  request.caller.role = http::Role::kRead;
  for (const char* const view : {"machines", "collection"}) {
    const http::Response answer = route_of(std::string("/api/v1/") + view)->handle(request);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("machines are old")) << view;
  }
}

TEST_F(QueryApi, PermitsOperatorsAloneWhatIsForThem) {
  EXPECT_EQ(route_of("/api/v1/top")->right, http::Right::kRead);
  EXPECT_EQ(route_of("/api/v1/audit")->right, http::Right::kOrder);
}

TEST_F(QueryApi, AnswersStatementsInTheBackground) {
  EXPECT_EQ(route_of("/api/v1/sql")->threads, http::Threads::kBackground);
  EXPECT_EQ(route_of("/api/v1/top")->threads, http::Threads::kLong);
}

TEST_F(QueryApi, AnswersWhatOperatorsNeedInTroubleBesideAllElse) {
  for (const char* const name : {"status", "collection"}) {
    EXPECT_EQ(route_of(std::string("/api/v1/") + name)->threads, http::Threads::kControl) << name;
  }
}

TEST_F(QueryApi, GivesUpAnswersThatNobodyWaitsFor) {
  for (const query::View& view : query::views()) {
    EXPECT_TRUE(view.answer == nullptr || route_of("/api/v1/" + view.name)->is_question) << view.name;
  }
}

TEST_F(QueryApi, HoldsStatementsToTheirLimits) {
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
  const auto ask = [&](const QueryLimits& limits, std::function<bool()> is_abandoned) {
    const auto routes = query_routes(snapshots_, hooks_, limits);
    http::Request request;
    request.query = {{"q", endless}};
    request.is_abandoned = std::move(is_abandoned);
    return std::ranges::find(routes, "/api/v1/sql", &http::Route::path)->handle(request);
  };
  const http::Response late = ask({.sql = {.time = std::chrono::milliseconds(1)}}, nullptr);
  EXPECT_EQ(late.status, 413);
  EXPECT_THAT(late.body, HasSubstr("the statement was stopped after 0.001 s"));
  const http::Response abandoned = ask({.sql = {.time = std::chrono::hours(1)}}, [] { return true; });
  EXPECT_EQ(abandoned.status, 503);
}

TEST_F(QueryApi, HoldsQuestionsAboutTracesToTheirLimits) {
  const auto sink = store::open_span_sink(made_->directory());
  ASSERT_TRUE(sink) << sink.error().text();
  const int64_t now_ns = wall_now_ns();
  const plimsoll::testing::PlainSpan span{.start_ns = now_ns - kNsPerMinute, .end_ns = now_ns};
  ASSERT_TRUE((*sink)->add(plimsoll::testing::span_set_of({span}), 1));
  const auto ask = [&](const QueryLimits& limits, const char* path = "/api/v1/diagnosis",
                       http::Request request = {}) {
    const auto routes = query_routes(snapshots_, hooks_, limits);
    return std::ranges::find(routes, path, &http::Route::path)->handle(request);
  };
  EXPECT_EQ(ask({}).status, 200);
  EXPECT_EQ(ask({.trace_memory_bytes = 2 * query::kBytesOfReadSpan}).status, 200) << "room for one of two";
  const http::Response large = ask({.trace_memory_bytes = query::kBytesOfReadSpan});
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.body, HasSubstr("ask about a shorter time"));
  // With its row in the answer a span takes more.
  http::Request one;
  one.query = {{"id", to_text(span.trace)}};
  EXPECT_EQ(ask({.trace_memory_bytes = 2 * query::kBytesOfShownSpan}, "/api/v1/trace", one).status, 200);
  EXPECT_EQ(ask({.trace_memory_bytes = 2 * query::kBytesOfShownSpan - 1}, "/api/v1/trace", one).status, 413);
}

TEST_F(QueryApi, AnswersWithRequestTracesToReaders) {
  for (const char* const name : {"/api/v1/diagnosis", "/api/v1/regressions", "/api/v1/trace"}) {
    EXPECT_EQ(route_of(name)->right, http::Right::kRead) << name;
    EXPECT_EQ(route_of(name)->threads, http::Threads::kLong) << name;
  }
  http::Request request;
  request.query = {{"id", "4bf92f3577b34da6a3ce929d0e0e4736"}};
  const http::Response none = route_of("/api/v1/trace")->handle(request);
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("no such trace"));
}

// What a reader is not told of the server's own files is no reason to change names in traces.
TEST_F(QueryApi, LeavesRoutesBelowTheDataDirectoryAsTheyAre) {
  const std::string route = "GET " + (folder_ / "data") + "/items";
  const int64_t start_ns = wall_now_ns() - kNsPerHour;
  std::vector<plimsoll::testing::PlainSpan> spans;
  for (uint64_t i = 1; i <= 200; ++i) {
    const bool is_new = i % 2 == 0;
    const int64_t began_ns = start_ns + static_cast<int64_t>(i) * kNsPerSecond;
    spans.push_back({.trace = {.high = 1, .low = i},
                     .start_ns = began_ns,
                     .end_ns = began_ns + (is_new ? 20 : 10) * kNsPerMs,
                     .operation = route,
                     .machine = "node-" + std::to_string(i % 10),
                     .version = is_new ? "2.0" : "1.0"});
  }
  const auto sink = store::open_span_sink(made_->directory());
  ASSERT_TRUE(sink) << sink.error().text();
  ASSERT_TRUE((*sink)->add(plimsoll::testing::span_set_of(spans), 1));
  http::Request request;
  request.caller.role = http::Role::kRead;
  const http::Response response = route_of("/api/v1/regressions")->handle(request);
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.body, HasSubstr("cart " + route));
  EXPECT_THAT(response.body, Not(HasSubstr("GET items")));
}

TEST_F(QueryApi, WritesTheAuditLogBeforeItIsShown) {
  static_cast<void>(route_of("/api/v1/audit")->handle(http::Request()));
  EXPECT_EQ(log_writes_, 1);
}

TEST_F(QueryApi, TimesTheAnswersOfViews) {
  static_cast<void>(route_of("/api/v1/collection")->handle(http::Request()));
  EXPECT_EQ(answered_, std::vector<std::string>{"collection"});
}

// What is not there any more shows whether it is looked at.
TEST_F(QueryApi, LooksAtTheStoreOnceForQuestionsOfAFewSeconds) {
  ServerSources sources(snapshots_, hooks_);
  const auto answers_after = [&](int64_t ns) { return sources.store_account(kStartNs + ns).has_value(); };
  ASSERT_TRUE(answers_after(0));
  std::filesystem::rename(folder_ / "data", folder_ / "away");
  EXPECT_TRUE(answers_after(10 * kNsPerSecond - 1));
  EXPECT_FALSE(answers_after(10 * kNsPerSecond));
  EXPECT_FALSE(answers_after(-10 * kNsPerSecond)) << "the clock was set back";
  std::filesystem::rename(folder_ / "away", folder_ / "data");
  EXPECT_TRUE(answers_after(11 * kNsPerSecond)) << "a failure is not kept";
}

TEST_F(QueryApi, ServesItsDescription) {
  const http::Response response = route_of("/api/v1/openapi.json")->handle(http::Request());
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(nlohmann::json::parse(response.body)["info"]["title"], "Plimsoll");
}

TEST_F(QueryApi, ServesTheRegistryForThePage) {
  http::Request request;
  request.headers = {{"Accept-Encoding", "gzip"}};
  const http::Route* const route = route_of("/api/v1/registry");
  EXPECT_EQ(route->right, http::Right::kRead);
  EXPECT_EQ(route->handle(request).header("Content-Encoding"), "gzip");
  const http::Response response = route->handle(http::Request());
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(nlohmann::json::parse(response.body)["views"].size(), query::views().size());
}

TEST_F(QueryApi, AnswersAreNotTakenForPages) {
  EXPECT_EQ(route_of("/api/v1/collection")->handle(http::Request()).header("X-Content-Type-Options"),
            "nosniff");
}

// Orders are not views; their parameters are read elsewhere.
TEST(MeasuringOrders, TakeTheParametersThatTheRegistryDescribes) {
  const auto refused = parse_measuring_order({{"0123456789", "x"}}, {}, "ann");
  ASSERT_FALSE(refused);
  for (const query::ParameterSpec& parameter : query::find_view("collection/measure")->parameters) {
    EXPECT_THAT(refused.error().hint, HasSubstr(parameter.name));
  }
}

}  // namespace
}  // namespace plimsoll::server::query_api_test
