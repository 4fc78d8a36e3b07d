#include "query/traces/hour_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/stop_scope.h"
#include "base/time.h"
#include "query/traces/category_statistics.h"
#include "query/traces/diagnosis_table.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::query::hour_diagnosis_test {
namespace {

using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int64_t kBegin = 472'222 * kNsPerHour;

std::vector<int64_t> up_to(int64_t last) {
  std::vector<int64_t> numbers(static_cast<size_t>(last));
  std::iota(numbers.begin(), numbers.end(), int64_t{1});
  return numbers;
}

TEST(LatencyQuantile, HasTheIntervalOfOrderStatistics) {
  const store::LatencyQuantile median = latency_quantile(up_to(100), 0.5);
  EXPECT_EQ(median.value_ns, 50);
  // 50 -+ 1.96 x 5, to whole ranks beyond.
  EXPECT_EQ(median.low_ns, 40);
  EXPECT_EQ(median.high_ns, 61);
  EXPECT_EQ(latency_quantile(up_to(1), 0.99).value_ns, 1);
}

TEST(LatencyQuantile, HasNoIntervalOfTooFewRequests) {
  EXPECT_FALSE(latency_quantile(up_to(3), 0.5).has_interval());
  EXPECT_FALSE(latency_quantile(up_to(100), 0.99).has_interval());
  EXPECT_TRUE(latency_quantile(up_to(1000), 0.99).has_interval());
}

// Requests of two services, one every six seconds for two hours; in the second of them db takes 40 ms more.
TracedRequests two_hours(bool is_slow) {
  std::vector<PlainSpan> spans;
  for (uint64_t number = 0; number < 1200; ++number) {
    const int64_t start_ns = kBegin - kNsPerHour + static_cast<int64_t>(number) * 6 * kNsPerSecond;
    const auto noise_ns = static_cast<int64_t>(number * 7919 % 997) * 1000;
    const int64_t db_ns = 4 * kNsPerMs + 3 * noise_ns + (is_slow && number >= 600 ? 40 * kNsPerMs : 0);
    const traces::TraceId trace{.high = 1, .low = 1 + number};
    spans.push_back({.trace = trace,
                     .id = 1,
                     .start_ns = start_ns,
                     .end_ns = start_ns + 6 * kNsPerMs + db_ns + noise_ns,
                     .service = "web",
                     .operation = "get",
                     .replica = "web-0",
                     .machine = "host-0"});
    spans.push_back({.trace = trace,
                     .id = 2,
                     .kind = traces::SpanKind::kClient,
                     .start_ns = start_ns + 2 * kNsPerMs,
                     .end_ns = start_ns + 4 * kNsPerMs + db_ns,
                     .service = "web",
                     .operation = "db.Query",
                     .parent = 1,
                     .replica = "web-0",
                     .machine = "host-0"});
    spans.push_back({.trace = trace,
                     .id = 3,
                     .start_ns = start_ns + 3 * kNsPerMs,
                     .end_ns = start_ns + 3 * kNsPerMs + db_ns,
                     .service = "db",
                     .operation = "Query",
                     .parent = 2,
                     .replica = "db-0",
                     .machine = "host-1"});
  }
  TracedRequests requests{.spans = std::make_unique<traces::SpanSet>(span_set_of(spans)),
                          .assembly = {},
                          .notes = {},
                          .weights = std::vector<float>(spans.size(), 20)};
  assemble_requests(requests);
  return requests;
}

TEST(HourDiagnosis, KeepsWhatIsClaimedAndStatisticsOfTheHour) {
  const TracedRequests requests = two_hours(/*is_slow=*/true);
  const auto hour = diagnose_hour(kBegin, requests);
  ASSERT_TRUE(hour) << hour.error().text();
  EXPECT_EQ(hour->begin_ns, kBegin);
  EXPECT_EQ(hour->requests, 600);
  EXPECT_EQ(hour->note, "");
  ASSERT_FALSE(hour->findings.empty());
  EXPECT_EQ(hour->findings[0].service, "db");
  EXPECT_EQ(hour->findings[0].kind, "slow itself");
  EXPECT_FALSE(hour->findings[0].evidence.empty());
  ASSERT_THAT(hour->categories, SizeIs(1));
  const store::CategoryStatistics& category = hour->categories[0];
  EXPECT_EQ(category.service, "web");
  EXPECT_EQ(category.operation, "get");
  EXPECT_EQ(category.requests, 600);
  EXPECT_EQ(category.weight, 12'000);
  // Between 50 ms and that with four times the noise, which is below a millisecond.
  EXPECT_GT(category.p50.low_ns, 50 * kNsPerMs);
  EXPECT_LT(category.p50.low_ns, category.p50.value_ns);
  EXPECT_LT(category.p50.value_ns, category.p50.high_ns);
  EXPECT_LT(category.p95.high_ns, 54 * kNsPerMs);
  EXPECT_GT(category.variation, 0.01);
  EXPECT_LT(category.variation, 0.05);
}

TEST(HourDiagnosis, FindsNothingWhereNothingChanged) {
  const auto hour = diagnose_hour(kBegin, two_hours(/*is_slow=*/false));
  ASSERT_TRUE(hour) << hour.error().text();
  EXPECT_THAT(hour->findings, IsEmpty());
  EXPECT_EQ(hour->requests, 600);
}

TEST(HourDiagnosis, SaysThatAnHourHadNoRequests) {
  const auto hour = diagnose_hour(kBegin + 2 * kNsPerHour, two_hours(/*is_slow=*/false));
  ASSERT_TRUE(hour) << hour.error().text();
  EXPECT_EQ(hour->requests, 0);
  EXPECT_EQ(hour->note, "no requests");
  EXPECT_THAT(hour->categories, IsEmpty());
}

TEST(HourDiagnosis, SaysWhatWasDamaged) {
  TracedRequests requests = two_hours(/*is_slow=*/false);
  requests.damage = {"8 spans are missing: segment a is damaged", "some spans are missing: b"};
  const auto hour = diagnose_hour(kBegin, requests);
  ASSERT_TRUE(hour) << hour.error().text();
  EXPECT_EQ(hour->note, "8 spans are missing: segment a is damaged; some spans are missing: b");
  const auto none = diagnose_hour(kBegin + 2 * kNsPerHour, requests);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_THAT(none->note, StartsWith("no requests; 8 spans are missing"));
}

// Whichever check of its scope fails first: the answer is the scope's error. It comes soon, too: the other kind of passes, and the answer
// itself, ask once more each.
template <typename Ask>
void expect_ends_wherever_it_is_stopped(const Ask& ask) {
  uint64_t checks = 0;
  uint64_t last = UINT64_MAX;
  const StopCheck check = [&]() -> Status {
    return ++checks > last ? fail(ErrorCode::kUnavailable, "its client is gone") : Status();
  };
  const StopScope scope(check);
  const auto whole = ask();
  ASSERT_TRUE(whole) << whole.error().text();
  const uint64_t all = checks;
  ASSERT_GT(all, 4U) << "before, between and after the passes";
  for (last = 0; last < all; ++last) {
    SCOPED_TRACE(last);
    checks = 0;
    const auto stopped = ask();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().message, "its client is gone");
    EXPECT_LE(checks, last + 3);
  }
}

TEST(HourDiagnosis, EndsWhereverItIsStopped) {
  const TracedRequests requests = two_hours(/*is_slow=*/true);
  expect_ends_wherever_it_is_stopped([&requests] { return diagnose_hour(kBegin, requests); });
}

TEST(DiagnosisTable, EndsWhereverItIsStopped) {
  const TracedRequests requests = two_hours(/*is_slow=*/true);
  DiagnosisRequest request;
  request.window = {kBegin, kBegin + kNsPerHour};
  expect_ends_wherever_it_is_stopped([&] { return diagnosis_table(request, requests); });
}

// One operation each, twice as many as are kept; the first has the most requests.
TEST(HourDiagnosis, JoinsTheSmallestCategories) {
  std::vector<PlainSpan> spans;
  uint64_t number = 0;
  for (size_t category = 0; category < 2 * kMaxCategories; ++category) {
    for (size_t i = 0; i < (category == 0 ? 3U : 1U); ++i) {
      ++number;
      const int64_t start_ns = kBegin + static_cast<int64_t>(number);
      spans.push_back({.trace = {.high = 1, .low = number},
                       .id = number,
                       .start_ns = start_ns,
                       .end_ns = start_ns + 1000,
                       .operation = std::to_string(category)});
    }
  }
  TracedRequests requests{
      .spans = std::make_unique<traces::SpanSet>(span_set_of(spans)), .assembly = {}, .notes = {}};
  assemble_requests(requests);
  const auto hour = diagnose_hour(kBegin, requests);
  ASSERT_TRUE(hour) << hour.error().text();
  ASSERT_THAT(hour->categories, SizeIs(kMaxCategories + 1));
  EXPECT_EQ(hour->categories.front().operation, "0");
  EXPECT_EQ(hour->categories.front().requests, 3);
  EXPECT_EQ(hour->categories.back().category, "");
  EXPECT_EQ(hour->categories.back().requests, kMaxCategories);
  EXPECT_EQ(hour->categories.back().weight, kMaxCategories) << "of files each stands for itself";
}

}  // namespace
}  // namespace plimsoll::query::hour_diagnosis_test
