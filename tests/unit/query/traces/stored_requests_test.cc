#include "query/traces/stored_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/stop_scope.h"
#include "query/traces/diagnosis_table.h"
#include "sqlite/database.h"
#include "store/ingest.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::query::stored_requests_test {
namespace {

using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using plimsoll::testing::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBegin = int64_t{1'700'000'000} * 1'000'000'000;

// A request of one span, stored with a weight.
void store_request(const std::string& data_dir, uint64_t number, double weight) {
  const auto ingest = store::Ingest::open(data_dir);
  ASSERT_TRUE(ingest) << ingest.error().text();
  const auto sink = store::open_span_sink((*ingest)->directory());
  ASSERT_TRUE(sink) << sink.error().text();
  const PlainSpan span{
      .trace = {.high = 0, .low = number}, .id = number, .start_ns = kBegin, .end_ns = kBegin + 5};
  ASSERT_TRUE((*sink)->add(span_set_of({span}), weight));
}

TEST(StoredRequests, SayThatSamplingRatesDiffer) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  store_request(data_dir, 1, 20);
  store_request(data_dir, 2, 20);
  const auto alike = read_stored_requests(data_dir, {});
  ASSERT_TRUE(alike) << alike.error().text();
  EXPECT_EQ(alike->assembly.traces.size(), 2);
  EXPECT_THAT(alike->notes, IsEmpty());
  store_request(data_dir, 3, 1);
  const auto mixed = read_stored_requests(data_dir, {});
  ASSERT_TRUE(mixed) << mixed.error().text();
  EXPECT_THAT(mixed->notes, ElementsAre(HasSubstr("each stands for 1 to 20 requests")));
}

TEST(StoredRequests, AreOfTheTimeAskedForAndAsManyAsMayBe) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  store_request(data_dir, 1, 1);
  store_request(data_dir, 2, 1);
  EXPECT_TRUE(read_stored_requests(data_dir, {kBegin, kBegin + 1}));
  const auto later = read_stored_requests(data_dir, {kBegin + 1, kBegin + 2});
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(read_stored_requests(data_dir, {}, 2));
  const auto too_many = read_stored_requests(data_dir, {}, 1);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(read_stored_request(data_dir, {.high = 0, .low = 2}, 1));
  const auto none = read_stored_request(data_dir, {.high = 0, .low = 3});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST(StoredRequests, NameDamageThatMayHaveWhatIsNotFound) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  for (uint64_t number = 1; number <= 5; ++number) {
    store_request(data_dir, number, 1);
  }
  auto catalogue =
      sqlite::Database::open(data_dir + "/spans/000001/catalogue.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(catalogue) << catalogue.error().text();
  ASSERT_TRUE(catalogue->run("UPDATE recent SET spans = spans + 1"));
  const auto none = read_stored_requests(data_dir, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("10 spans are missing: recent spans in spans/"))
      << "relative to the data directory";
  EXPECT_THAT(read_stored_request(data_dir, {.high = 0, .low = 2}).error().message,
              HasSubstr("10 spans are missing"));
  const auto any = read_stored_requests_if_any(data_dir, {}, kMaxReadSpans);
  ASSERT_TRUE(any) << any.error().text();
  EXPECT_THAT(any->damage, ElementsAre(HasSubstr("10 spans are missing")));
  EXPECT_EQ(any->notes, any->damage);
  // What is found does not hide what is not.
  store_request(data_dir, 6, 1);
  const auto one = read_stored_requests(data_dir, {});
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->assembly.traces.size(), 1);
  EXPECT_THAT(one->damage, ElementsAre(HasSubstr("10 spans are missing")));
}

TEST(StoredRequests, EndWithTheScopeOfTheirQuestion) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  store_request(data_dir, 1, 1);
  const StopCheck stopped = []() -> Status { return fail(ErrorCode::kUnavailable, "its client is gone"); };
  const StopScope scope(stopped);
  const auto answer = diagnose_store({}, data_dir, kMaxReadSpans);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "its client is gone");
}

// An hour before the window is its reference, unless another one is given.
TEST(Diagnosis, ReadsWhatItNeedsOfAStore) {
  constexpr int64_t kNow = kBegin + 7200 * int64_t{1'000'000'000};
  const auto read_for = [](const Parameters& parameters) {
    const auto request = parse_diagnosis(parameters, kNow);
    EXPECT_TRUE(request) << request.error().text();
    const RequestTimes times = request ? times_to_read(*request) : RequestTimes();
    return std::pair((times.from_ns - kBegin) / 1'000'000'000,
                     times.to_ns == INT64_MAX ? -1 : (times.to_ns - kBegin) / 1'000'000'000);
  };
  EXPECT_EQ(read_for({}), std::pair(int64_t{3600}, int64_t{-1}));
  EXPECT_EQ(read_for({{"since", "10m"}}), std::pair(int64_t{3000}, int64_t{-1}));
  EXPECT_EQ(read_for({{"since", "10m"}, {"until", "5m"}}), std::pair(int64_t{3000}, int64_t{6900}));
  EXPECT_EQ(read_for({{"since", "10m"}, {"reference_since", "30m"}, {"reference_until", "20m"}}),
            std::pair(int64_t{5400}, int64_t{-1}));
}

// Two requests of one method take two entries, which 48 bytes of spans that are not there have room for.
TEST(Diagnosis, HoldsMatricesToTheMemoryOfSpans) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  store_request(data_dir, 1, 1);
  store_request(data_dir, 2, 1);
  const DiagnosisRequest request{.service = {}, .by = DiagnosisRequest::Method::kPca};
  const auto refused = diagnose_store(request, data_dir, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(refused.error().message, HasSubstr("at most 0 entries"));
  const auto made = diagnose_store(request, data_dir, 3);
  EXPECT_TRUE(made || made.error().code != ErrorCode::kTooLarge) << made.error().text();
}

TEST(Diagnosis, SaysWhatIsWrongWithItsParameters) {
  const auto field_of = [](const Parameters& parameters) {
    const auto request = parse_diagnosis(parameters, kBegin);
    EXPECT_FALSE(request);
    return request ? std::string() : request.error().field;
  };
  EXPECT_EQ(field_of({{"since", "yesterday"}}), "since");
  EXPECT_EQ(field_of({{"since", "1h"}, {"until", "2h"}}), "since");
  EXPECT_EQ(field_of({{"reference_since", "1h"}, {"reference_until", "2h"}}), "reference_since");
  EXPECT_EQ(field_of({{"by", "guess"}}), "by");
  EXPECT_EQ(field_of({{"sinse", "1h"}}), "sinse");
}

TEST(Diagnosis, IsShownAsFarAsItIsClaimed) {
  Table table{.event = "",
              .notes = {},
              .columns = {{"service", ""}, {"confidence", "share"}},
              .rows = {{std::string("db"), 0.5}, {std::string("web"), 0.49}, {std::string("api"), Value()}},
              .coverage = {}};
  keep_claimed(table);
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(table.rows[0][0], Value(std::string("db")));
  EXPECT_EQ(table.rows[1][0], Value(std::string("api"))) << "the paper's methods have no confidence";
}

}  // namespace
}  // namespace plimsoll::query::stored_requests_test
