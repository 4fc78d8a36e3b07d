#include "query/operations/store_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "tests/start.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::store_status_test {
namespace {

using plimsoll::testing::kStartNs;
using ::testing::Contains;
using ::testing::HasSubstr;

store::StoreAccount account() {
  store::StoreAccount account;
  store::BlockAccount first{
      .number = 1, .state = {}, .profiles = 40, .rows = 400, .segments = 2, .bytes = 3000};
  first.state.from_ns = kStartNs;
  first.state.to_ns = kStartNs + kNsPerHour;
  first.state.is_sealed = true;
  account.blocks = {first, {.number = 2, .state = {}, .bytes = 1000, .damage = "a page is torn"}};
  account.block_bytes = 4000;
  account.full_bytes = 4000;
  account.accepted_profiles = 50;
  account.raw_profiles = 10;
  account.archive_bytes = 500;
  account.symbol_bytes = 100;
  account.span_bytes = 250;
  account.burst_bytes = 50;
  account.other_bytes = 100;
  account.block_bytes_a_day = 200;
  account.disk_free_bytes = 6000;
  return account;
}

store::RetentionLimits limits() {
  store::RetentionLimits limits;
  limits.raw_max_bytes = 1000;
  limits.rows_max_bytes = 8000;
  limits.full_max_bytes = 5000;
  limits.symbols_max_bytes = 1000;
  limits.traces_max_bytes = 1000;
  limits.bursts_max_bytes = 1000;
  limits.min_free_bytes = 1000;
  return limits;
}

TEST(StoreStatus, ByBlockSaysWhatEachHolds) {
  const Table table = store_status({}, account(), limits());
  EXPECT_EQ(csv(table),
            "block,state,from,to,profiles,rows,segments,bytes\n"
            "000001,sealed,2027-01-15T08:00:00Z,2027-01-15T09:00:00Z,40,400,2,3000\n"
            "000002,damaged,,,0,0,0,1000\n");
  EXPECT_THAT(table.notes, Contains(HasSubstr("block 000002 is left out of results: a page is torn")));
  EXPECT_THAT(table.notes, Contains(HasSubstr("raw profiles: 10 of 50 accepted")));
}

TEST(StoreStatus, ByBlockNamesAMergedOneByTheFirstAndTheLastBlockInIt) {
  store::StoreAccount merged;
  merged.blocks = {{.number = 8, .state = {}, .damage = "a page is torn", .first = 1},
                   {.number = 9, .state = {}}};
  const Table table = store_status({}, merged, limits());
  EXPECT_EQ(csv(table),
            "block,state,from,to,profiles,rows,segments,bytes\n"
            "000001-000008,damaged,,,0,0,0,0\n"
            "000009,open,,,0,0,0,0\n");
  EXPECT_THAT(table.notes, Contains(HasSubstr("block 000001-000008 is left out of results")));
}

TEST(StoreStatus, ByLimitSaysHowMuchIsUsedAndForHowLongItLasts) {
  EXPECT_EQ(
      csv(store_status({.by_limit = true}, account(), limits())),
      "part,bytes,max_bytes,used_share,bytes_a_day,room,max_age,key,at_limit\n"
      "rows,4000,8000,0.5,200,40,400,retention.rows_max_bytes,the oldest block "
      "is dropped\n"
      "full rows,4000,5000,0.8,200,25,30,retention.full_max_bytes,the oldest "
      "block is rolled up: no threads and instances\n"
      "raw profiles,500,1000,0.5,,,30,retention.raw_max_bytes,\"the oldest are dropped; their "
      "rows stay, and cannot be rebuilt\"\n"
      "symbol tables,100,1000,0.1,,,,retention.symbols_max_bytes,those not used for the longest time are "
      "dropped\n"
      "request traces,250,1000,0.25,,,7,retention.traces_max_bytes,the oldest block is dropped\n"
      "bursts,50,1000,0.05,,,7,retention.bursts_max_bytes,the oldest recording is dropped\n"
      "disk,5000,10000,0.5,200,50,,retention.min_free_bytes,\"the oldest block is dropped, "
      "and uploads wait\"\n");
}

TEST(StoreStatus, ALimitThatIsNotAppliedIsNone) {
  store::RetentionLimits never = limits();
  never.full_max_age_ns = 0;
  EXPECT_THAT(csv(store_status({.by_limit = true}, account(), never)),
              HasSubstr("full rows,4000,,,200,,,retention.full_max_bytes,never rolled up"));
}

TEST(StoreStatus, TakesOneParameter) {
  EXPECT_TRUE(parse_store_status({{"by", "limit"}}, 0)->by_limit);
  EXPECT_FALSE(parse_store_status({}, 0)->by_limit);
  EXPECT_THAT(parse_store_status({{"by", "colour"}}, 0).error().text(), HasSubstr("block or limit"));
}

}  // namespace
}  // namespace plimsoll::query::store_status_test
