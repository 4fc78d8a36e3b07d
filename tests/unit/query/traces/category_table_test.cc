// Kinds of request: their latencies, and which of them are not as usual.
#include "query/traces/category_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/time.h"
#include "query/table/values.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::query::category_table_test {
namespace {

using diagnosis::Side;
using diagnosis::Sides;
using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kBegin = 472'222 * kNsPerHour;

// Requests in the order of their start, a second apart where nothing else is said.
class Requests {
 public:
  void add(const char* operation, double latency_ms, Side side, int calls = 0) {
    add_at(kBegin + static_cast<int64_t>(sides_.size()) * kNsPerSecond, operation, latency_ms, side, calls);
  }
  void add_at(int64_t start_ns, const char* operation, double latency_ms, Side side, int calls = 0) {
    const traces::TraceId trace{.high = 1, .low = 1 + sides_.size()};
    const auto latency_ns = static_cast<int64_t>(latency_ms * static_cast<double>(kNsPerMs));
    spans_.push_back({.trace = trace,
                      .start_ns = start_ns,
                      .end_ns = start_ns + latency_ns,
                      .service = "web",
                      .operation = operation});
    for (int call = 0; call < calls; ++call) {
      spans_.push_back({.trace = trace,
                        .id = 2 + static_cast<uint64_t>(call),
                        .start_ns = start_ns + call,
                        .end_ns = start_ns + call + 1,
                        .service = "db",
                        .operation = "Query",
                        .parent = 1});
    }
    sides_.push_back(side);
  }

  Table table(const CategoryRequest& request = {}) const {
    const auto made = result(request);
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : Table();
  }
  Result<Table> result(const CategoryRequest& request) const {
    TracedRequests requests{
        .spans = std::make_unique<traces::SpanSet>(span_set_of(spans_)), .assembly = {}, .notes = {}};
    assemble_requests(requests);
    return category_table(request, requests, sides_);
  }

 private:
  std::vector<PlainSpan> spans_;
  Sides sides_;
};

std::vector<std::string> texts_in(const Table& table, const char* column) {
  std::vector<std::string> texts;
  for (const auto& row : table.rows) {
    texts.push_back(text_in(row[column_of(table, column)]));
  }
  return texts;
}

double number_at(const Table& table, size_t row, const char* column) {
  return number_in(table.rows.at(row)[column_of(table, column)]).value_or(-1);
}

double scatter_ms(int request) {
  return request * 7919 % 997 / 1000.0;
}

// "get" takes twice as long in the window, "put" as long as before.
Requests slower_gets() {
  Requests requests;
  for (int i = 0; i < 600; ++i) {
    const bool is_get = i % 2 == 0;
    const bool is_window = i >= 400;
    requests.add(is_get ? "get" : "put", (is_get && is_window ? 20 : 10) + scatter_ms(i),
                 is_window ? Side::kWindow : Side::kReference);
  }
  return requests;
}

TEST(CategoryTable, NamesTheKindThatIsSlowerThanInTheReference) {
  const Table table = slower_gets().table();
  EXPECT_THAT(texts_in(table, "service"), Each("web"));
  EXPECT_THAT(texts_in(table, "method"), ElementsAre("get", "put"));
  EXPECT_THAT(texts_in(table, "kind"), ElementsAre("slower", ""));
  EXPECT_THAT(texts_in(table, "evidence").front(), HasSubstr("before 10."));
}

TEST(CategoryTable, HasNumbersOfBothSides) {
  const Table table = slower_gets().table();
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(number_at(table, 0, "rank"), 1);
  EXPECT_EQ(number_at(table, 0, "requests"), 100);
  EXPECT_EQ(number_at(table, 0, "weight"), 100);
  // One every two seconds.
  EXPECT_NEAR(number_at(table, 0, "rate"), 0.5, 0.01);
  EXPECT_NEAR(number_at(table, 0, "reference_rate"), 0.5, 0.01);
  EXPECT_NEAR(number_at(table, 0, "p50"), 20.5e6, 0.2e6);
  EXPECT_LT(number_at(table, 0, "p50_low"), number_at(table, 0, "p50"));
  EXPECT_GT(number_at(table, 0, "p50_high"), number_at(table, 0, "p50"));
  EXPECT_GT(number_at(table, 0, "p95"), number_at(table, 0, "p50_high"));
  EXPECT_NEAR(number_at(table, 0, "reference_p50"), 10.5e6, 0.2e6);
  EXPECT_EQ(number_at(table, 0, "reference_requests"), 200);
  EXPECT_LT(number_at(table, 0, "variation"), 0.1);
}

// As CloudDiag's paper has it, by the coefficient of variation alone.
TEST(CategoryTable, CallsAKindAnomalousThatVariesWidely) {
  Requests requests;
  for (int i = 0; i < 200; ++i) {
    requests.add("get", i % 20 == 0 ? 100 : 1, Side::kWindow);
  }
  const Table table = requests.table();
  EXPECT_THAT(texts_in(table, "kind"), ElementsAre("anomalous"));
  EXPECT_GT(number_at(table, 0, "variation"), 1);
  EXPECT_EQ(number_at(table, 0, "reference_requests"), -1) << "there is no reference";
}

TEST(CategoryTable, CallsAKindNewThatTheReferenceWouldHave) {
  Requests requests;
  for (int i = 0; i < 300; ++i) {
    const bool is_window = i >= 200;
    requests.add(is_window && i % 3 == 0 ? "put" : "get", 10 + scatter_ms(i),
                 is_window ? Side::kWindow : Side::kReference);
  }
  const Table table = requests.table();
  EXPECT_THAT(texts_in(table, "method"), ElementsAre("put", "get"));
  EXPECT_THAT(texts_in(table, "kind"), ElementsAre("new", ""));
}

// 20 of 100 requests of the window, and none of 32 of the reference: by chance once in 430 times, which is too often for two rows. None of
// 60 is rare enough.
TEST(CategoryTable, CallsNoKindNewThatASmallReferenceMayLack) {
  const auto kinds_with = [](int reference_requests) {
    Requests requests;
    for (int i = 0; i < reference_requests; ++i) {
      requests.add("get", 10, Side::kReference);
    }
    for (int i = 0; i < 100; ++i) {
      requests.add(i % 5 == 0 ? "put" : "get", 10, Side::kWindow);
    }
    return texts_in(requests.table(), "kind");
  };
  EXPECT_THAT(kinds_with(32), Each(IsEmpty()));
  EXPECT_THAT(kinds_with(60), ElementsAre("new", ""));
}

// The number of items in a basket changes the tree, but not the set.
TEST(CategoryTable, IsByTreeOrBySet) {
  Requests requests;
  for (int i = 0; i < 90; ++i) {
    requests.add("get", 10, Side::kWindow, 1 + i % 3);
  }
  EXPECT_THAT(requests.table().rows, SizeIs(1));
  const Table by_tree = requests.table({.by_tree = true});
  EXPECT_THAT(by_tree.rows, SizeIs(3));
  EXPECT_EQ(number_at(by_tree, 0, "requests"), 30);
}

TEST(CategoryTable, HasTheCourseOfTheWindow) {
  Requests requests;
  for (int i = 0; i < 180; ++i) {
    requests.add("get", i < 60 ? 10 : 30, Side::kWindow);
  }
  const Table table = requests.table({.every_ns = kNsPerMinute});
  EXPECT_THAT(texts_in(table, "begin"), ElementsAre(format_time(kBegin), format_time(kBegin + kNsPerMinute),
                                                    format_time(kBegin + 2 * kNsPerMinute)));
  EXPECT_NEAR(number_at(table, 0, "p50"), 10e6, 1);
  EXPECT_NEAR(number_at(table, 1, "p50"), 30e6, 1);
  EXPECT_NEAR(number_at(table, 1, "rate"), 1, 0.02);
  const auto refused = requests.result({.every_ns = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
}

TEST(CategoryTable, HasKindsOfOneServiceOnly) {
  const Requests requests = slower_gets();
  EXPECT_THAT(requests.table({.service = 1}).rows, SizeIs(2)) << "of web, whose name came first";
  EXPECT_THAT(requests.table({.service = 1000}).rows, IsEmpty());
}

// Of 60 sets of requests that do not differ, with four kinds each, 1 in 100 may have a kind that is said to.
TEST(CategoryTable, SaysNothingOfChance) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency_ms(2, 0.5);
  int told = 0;
  for (int set = 0; set < 60; ++set) {
    Requests requests;
    for (int i = 0; i < 600; ++i) {
      const char* const operation = std::vector<const char*>{"a", "b", "c", "d"}[random() % 4];
      requests.add(operation, latency_ms(random), i >= 400 ? Side::kWindow : Side::kReference);
    }
    for (const std::string& kind : texts_in(requests.table(), "kind")) {
      told += kind.empty() ? 0 : 1;
    }
  }
  EXPECT_LE(told, 2);
}

}  // namespace
}  // namespace plimsoll::query::category_table_test
