#include "store/spans/finding_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"

namespace plimsoll::store::finding_store_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;

DiagnosedHour hour_of(int64_t number) {
  return {.begin_ns = number * kHour,
          .requests = static_cast<uint64_t>(100 + number),
          .note = number % 2 == 0 ? "" : "odd",
          .categories = {{.service = "web",
                          .operation = "get",
                          .category = "00ff",
                          .requests = 90,
                          .weight = 1800,
                          .p50 = {5, 4, 6},
                          .p95 = {50, 40, 60},
                          .p99 = {99, 1, 0},
                          .variation = 1.5},
                         {.service = {}, .operation = {}, .category = {}, .requests = 10, .weight = 200}},
          .findings = {{.service = "db",
                        .operation = "Query",
                        .replica = "db-0",
                        .machine = "host-1",
                        .kind = "slow itself",
                        .score = 0.75,
                        .confidence = 0.9,
                        .evidence = "40 ms more"}}};
}

class FindingStoreTest : public ::testing::Test {
 protected:
  Result<FindingStore> open() { return FindingStore::open(folder_.path(), "0123456789abcdef"); }

  std::vector<DiagnosedHour> read(int64_t from_ns, int64_t to_ns, bool with_categories = true) {
    auto store = FindingStore::open_if_there(folder_.path());
    EXPECT_TRUE(store && *store);
    if (!store || !*store) {
      return {};
    }
    std::vector<DiagnosedHour> hours;
    const Status visited = (*store)->visit(from_ns, to_ns, with_categories,
                                           [&](const DiagnosedHour& hour) { hours.push_back(hour); });
    EXPECT_TRUE(visited) << visited.error().text();
    return hours;
  }

  testing::TemporaryDirectory folder_;
};

TEST_F(FindingStoreTest, IsMadeByItsWriter) {
  const auto none = FindingStore::open_if_there(folder_.path());
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_FALSE(none->has_value());
  auto store = open();
  ASSERT_TRUE(store) << store.error().text();
  const auto newest = store->newest_ns(INT64_MAX);
  ASSERT_TRUE(newest) << newest.error().text();
  EXPECT_FALSE(newest->has_value());
  EXPECT_THAT(read(0, INT64_MAX), IsEmpty());
  EXPECT_EQ(FindingStore::open(folder_.path(), "fedcba9876543210").error().code, ErrorCode::kConflict);
}

TEST_F(FindingStoreTest, GivesBackWhatWasKept) {
  auto store = open();
  ASSERT_TRUE(store) << store.error().text();
  for (const int64_t number : {2, 1, 3}) {
    ASSERT_TRUE(store->add(hour_of(number), 0));
  }
  const auto newest = store->newest_ns(INT64_MAX);
  ASSERT_TRUE(newest) << newest.error().text();
  EXPECT_EQ(*newest, 3 * kHour);
  EXPECT_EQ(*store->newest_ns(3 * kHour), 2 * kHour);
  EXPECT_THAT(read(0, INT64_MAX), ElementsAre(hour_of(3), hour_of(2), hour_of(1)));
  EXPECT_THAT(read(2 * kHour, 3 * kHour), ElementsAre(hour_of(2)));
  DiagnosedHour brief = hour_of(2);
  brief.categories.clear();
  EXPECT_THAT(read(2 * kHour, 3 * kHour, /*with_categories=*/false), ElementsAre(brief));
}

TEST_F(FindingStoreTest, AnHourTakesThePlaceOfTheSameOneAndOldOnesGo) {
  auto store = open();
  ASSERT_TRUE(store) << store.error().text();
  for (const int64_t number : {1, 2, 3}) {
    ASSERT_TRUE(store->add(hour_of(number), 0));
  }
  DiagnosedHour again = hour_of(3);
  again.findings.clear();
  again.note = "again";
  ASSERT_TRUE(store->add(again, 2 * kHour));
  EXPECT_THAT(read(0, INT64_MAX), ElementsAre(again, hour_of(2)));
}

}  // namespace
}  // namespace plimsoll::store::finding_store_test
