// What the server keeps of each hour of request traces, by a clock of the test.
#include "server/trace_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "query/operations/findings.h"
#include "query/table/values.h"
#include "store/directory/data_directory.h"
#include "store/ingest.h"
#include "store/spans/finding_store.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::server::trace_diagnosis_test {
namespace {

using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using plimsoll::testing::TemporaryDirectory;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int64_t kBegin = 472'222 * kNsPerHour;

class TraceDiagnosis : public ::testing::Test {
 protected:
  // Requests of a service, one a minute for an hour.
  void add_hour(int64_t begin_ns, int64_t duration_ns = kNsPerMs) {
    const auto sink = store::open_span_sink(ingest_->directory());
    ASSERT_TRUE(sink) << sink.error().text();
    std::vector<PlainSpan> spans;
    for (int64_t minute = 0; minute < 60; ++minute) {
      const int64_t start_ns = begin_ns + minute * kNsPerMinute;
      const auto id = static_cast<uint64_t>(start_ns / kNsPerMinute);
      spans.push_back({.trace = {.high = 1, .low = id},
                       .id = id,
                       .start_ns = start_ns,
                       .end_ns = start_ns + duration_ns + minute});
    }
    ASSERT_TRUE((*sink)->add(span_set_of(spans), 20));
  }

  // A pass at that time.
  Result<NextPass> run(int64_t now_ns, uint64_t max_spans = 1'000'000,
                       const std::stop_token& stop = std::stop_token()) {
    auto pass =
        trace_diagnosis_pass({.data_dir = data_dir_, .max_spans = max_spans, .max_age_ns = 10 * kNsPerHour},
                             [now_ns] { return now_ns; });
    return pass(stop);
  }

  std::vector<store::DiagnosedHour> kept() const {
    auto opened = store::FindingStore::open_if_there(store::spans_path_of(data_dir_));
    EXPECT_TRUE(opened) << opened.error().text();
    if (!opened || !*opened) {
      return {};
    }
    std::vector<store::DiagnosedHour> hours;
    const Status visited = (*opened)->visit(0, INT64_MAX, true,
                                            [&](const store::DiagnosedHour& hour) { hours.push_back(hour); });
    EXPECT_TRUE(visited) << visited.error().text();
    return hours;
  }

  TemporaryDirectory folder_;
  const std::string data_dir_ = folder_ / "data";
  const std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(data_dir_);
};

TEST_F(TraceDiagnosis, KeepsTheHourThatIsOver) {
  add_hour(kBegin);
  const auto early = run(kBegin + kNsPerHour + 9 * kNsPerMinute);
  ASSERT_TRUE(early) << early.error().text();
  ASSERT_THAT(kept(), SizeIs(1)) << "the hour before, of which there is nothing";
  EXPECT_EQ(kept()[0].note, "no requests");
  EXPECT_EQ(early->after, std::chrono::minutes(1));
  const auto due = run(kBegin + kNsPerHour + 10 * kNsPerMinute);
  ASSERT_TRUE(due) << due.error().text();
  EXPECT_TRUE(due->was_due);
  EXPECT_EQ(due->after, std::chrono::hours(1));
  ASSERT_THAT(kept(), SizeIs(2));
  EXPECT_EQ(kept()[0].begin_ns, kBegin);
  EXPECT_EQ(kept()[0].requests, 60);
  ASSERT_THAT(kept()[0].categories, SizeIs(1));
  EXPECT_EQ(kept()[0].categories[0].weight, 1200);
  const auto again = run(kBegin + kNsPerHour + 40 * kNsPerMinute);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_FALSE(again->was_due);
  EXPECT_EQ(again->after, std::chrono::minutes(30));
}

TEST_F(TraceDiagnosis, DiagnosesHoursLaterInWhichNoServerRan) {
  add_hour(kBegin);
  ASSERT_TRUE(run(kBegin + kNsPerHour + 10 * kNsPerMinute));
  add_hour(kBegin + 2 * kNsPerHour);
  std::vector<std::chrono::nanoseconds> pauses;
  for (int pass = 0; pass < 3; ++pass) {
    const auto next = run(kBegin + 4 * kNsPerHour + 10 * kNsPerMinute);
    ASSERT_TRUE(next) << next.error().text();
    EXPECT_TRUE(next->was_due);
    pauses.push_back(next->after.value());
  }
  EXPECT_THAT(pauses, ElementsAre(std::chrono::hours(0), std::chrono::hours(0), std::chrono::hours(1)));
  std::vector<std::pair<int64_t, uint64_t>> requests;
  for (const store::DiagnosedHour& hour : kept()) {
    requests.emplace_back((hour.begin_ns - kBegin) / kNsPerHour, hour.requests);
  }
  EXPECT_THAT(requests, ElementsAre(Pair(3, 0), Pair(2, 60), Pair(1, 0), Pair(0, 60)));
  // Those that would not be dropped at once for their age.
  ASSERT_TRUE(run(kBegin + 40 * kNsPerHour + 10 * kNsPerMinute));
  EXPECT_EQ(kept().at(0).begin_ns, kBegin + 30 * kNsPerHour);
}

// As by a clock that was ahead until it was set right.
TEST_F(TraceDiagnosis, AnHourInTheFutureKeepsNoOtherFromBeingDiagnosed) {
  add_hour(kBegin);
  ASSERT_TRUE(run(kBegin + 100 * kNsPerHour));
  ASSERT_TRUE(run(kBegin + kNsPerHour + 10 * kNsPerMinute));
  ASSERT_THAT(kept(), SizeIs(2));
  EXPECT_EQ(kept()[1].begin_ns, kBegin);
  EXPECT_EQ(kept()[1].requests, 60);
}

TEST_F(TraceDiagnosis, DropsOldHours) {
  for (int64_t hour = 0; hour < 20; ++hour) {
    ASSERT_NO_FATAL_FAILURE(add_hour(kBegin + hour * kNsPerHour));
    ASSERT_TRUE(run(kBegin + (hour + 1) * kNsPerHour + 10 * kNsPerMinute));
  }
  EXPECT_LE(kept().size(), 11);
  EXPECT_GE(kept().size(), 9);
  EXPECT_EQ(kept()[0].begin_ns, kBegin + 19 * kNsPerHour);
}

TEST_F(TraceDiagnosis, FindingsAndStatisticsStayWhenTheSpansAreGone) {
  add_hour(kBegin);
  add_hour(kBegin + kNsPerHour, 300 * kNsPerMs);
  ASSERT_TRUE(run(kBegin + 2 * kNsPerHour + 10 * kNsPerMinute));
  const auto before = kept();
  {
    const auto sink = store::open_span_sink(ingest_->directory());
    ASSERT_TRUE(sink) << sink.error().text();
    ASSERT_TRUE((*sink)->drop_old(INT64_MAX, 0));
  }
  EXPECT_THAT(plimsoll::testing::answer_of(*store::open_span_source(data_dir_)), IsEmpty());
  EXPECT_EQ(kept(), before);
  const auto found = query::findings({}, data_dir_);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_THAT(found->rows, SizeIs(1));
  const auto text = [&](std::string_view column) {
    return query::text_in(found->rows[0][query::column_of(*found, column)]);
  };
  EXPECT_EQ(text("service"), "cart");
  EXPECT_EQ(text("kind"), "slow itself");
  EXPECT_THAT(text("evidence"), HasSubstr("cart: GET / median 300.0 ms, before 1.0 ms (60 and 60 requests)"));
  const auto by_category = query::findings({.by_category = true}, data_dir_);
  ASSERT_TRUE(by_category) << by_category.error().text();
  ASSERT_THAT(by_category->rows, SizeIs(1));
  EXPECT_EQ(query::number_in(by_category->rows[0][query::column_of(*by_category, "p50")]),
            300 * kNsPerMs + 29);
}

TEST_F(TraceDiagnosis, SaysWhichHoursHadTooManySpans) {
  add_hour(kBegin - kNsPerHour);
  add_hour(kBegin);
  // Of the hour, and ten minutes on either side.
  ASSERT_TRUE(run(kBegin + kNsPerHour + 10 * kNsPerMinute, 80));
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_THAT(kept()[0].note, HasSubstr("too many spans to compare"));
  EXPECT_EQ(kept()[0].requests, 60);
  add_hour(kBegin + kNsPerHour);
  ASSERT_TRUE(run(kBegin + 2 * kNsPerHour + 10 * kNsPerMinute, 10));
  EXPECT_THAT(kept()[0].note, HasSubstr("not diagnosed: over 10 spans; raise traces.sample"));
}

TEST_F(TraceDiagnosis, LeavesADirectoryWithoutTracesAsItIs) {
  const auto next = run(kBegin);
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_FALSE(next->was_due);
  EXPECT_FALSE(std::filesystem::exists(store::spans_path_of(data_dir_)));
}

TEST_F(TraceDiagnosis, EndsWithItsServer) {
  add_hour(kBegin);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(run(kBegin + kNsPerHour + 10 * kNsPerMinute, 1'000'000, stop.get_token()));
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(TraceDiagnosis, ListsAsManyAsAreAskedForAndSaysSo) {
  for (int64_t hour = 0; hour < 8; ++hour) {
    ASSERT_NO_FATAL_FAILURE(add_hour(kBegin + hour * kNsPerHour));
    // Too many to compare with the hour before, of which each but the first says so.
    ASSERT_TRUE(run(kBegin + (hour + 1) * kNsPerHour + 10 * kNsPerMinute, 80));
  }
  const auto some = query::findings({.limit = 3, .by_category = true}, data_dir_);
  ASSERT_TRUE(some) << some.error().text();
  EXPECT_THAT(some->rows, SizeIs(3));
  EXPECT_THAT(some->notes, Contains("showing 3 of 8 categories"));
  EXPECT_THAT(some->notes,
              Contains("2 more hours have notes, such as: too many spans to compare with the hour before"));
  EXPECT_THAT(some->notes, Contains("8 hours with 480 requests"));
  EXPECT_THAT(some->notes, SizeIs(8));
}

TEST_F(TraceDiagnosis, IsListed) {
  const auto none = query::findings({}, data_dir_);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_THAT(none->rows, IsEmpty());
  EXPECT_THAT(none->notes.at(0), HasSubstr("no hour of request traces has been diagnosed"));
  add_hour(kBegin);
  ASSERT_TRUE(run(kBegin + kNsPerHour + 10 * kNsPerMinute));
  const auto by_category = query::findings({.service = "cart", .by_category = true}, data_dir_);
  ASSERT_TRUE(by_category) << by_category.error().text();
  ASSERT_THAT(by_category->rows, SizeIs(1));
  const auto& row = by_category->rows[0];
  EXPECT_EQ(query::text_in(row[query::column_of(*by_category, "hour")]), format_time(kBegin));
  EXPECT_EQ(query::number_in(row[query::column_of(*by_category, "requests")]), 60);
  EXPECT_EQ(query::number_in(row[query::column_of(*by_category, "p50")]), kNsPerMs + 29);
  EXPECT_THAT(query::findings({.service = "other", .by_category = true}, data_dir_)->rows, IsEmpty());
  EXPECT_EQ(query::findings({}, folder_ / "elsewhere").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(query::parse_findings({{"by", "hour"}}, 0));
  EXPECT_FALSE(query::parse_findings({{"since", "1h"}, {"until", "2h"}}, kBegin));
}

}  // namespace
}  // namespace plimsoll::server::trace_diagnosis_test
