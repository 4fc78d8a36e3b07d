#include "base/claimed_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int64_t at(const char* text) {
  return parse_time_ns(text, 0).value_or(0);
}

const int64_t kNowNs = at("2026-11-27T12:00:00Z");
const int64_t kWrittenNs = at("2026-11-20T08:00:00Z");

TEST(ClaimedTime, WhatTheContentTellsIsUsedIfItCanBe) {
  for (const char* told : {"2000-01-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-11-28T12:00:00Z"}) {
    const ChosenTime chosen =
        choose_end_time({.told_ns = at(told), .modified_ns = kWrittenNs, .now_ns = kNowNs});
    EXPECT_EQ(chosen.end_ns, at(told));
    EXPECT_EQ(chosen.note, "");
  }
}

TEST(ClaimedTime, ATimeInTheFutureOrBefore2000IsReplacedAndNamed) {
  const ChosenTime future =
      choose_end_time({.told_ns = at("2026-11-28T12:00:01Z"), .modified_ns = kWrittenNs, .now_ns = kNowNs});
  EXPECT_EQ(future.end_ns, kWrittenNs);
  EXPECT_THAT(future.note, AllOf(StartsWith(kWrongTime), HasSubstr("2026-11-28T12:00:01Z, is in the future"),
                                 HasSubstr("ended 2026-11-20T08:00:00Z, when the file was last written")));
  const ChosenTime past =
      choose_end_time({.told_ns = at("1999-12-31T23:59:59Z"), .modified_ns = kWrittenNs, .now_ns = kNowNs});
  EXPECT_EQ(past.end_ns, kWrittenNs);
  EXPECT_THAT(past.note, HasSubstr("1999-12-31T23:59:59Z, is before the year 2000"));
  EXPECT_EQ(choose_end_time({.told_ns = INT64_MAX, .now_ns = kNowNs}).end_ns, kNowNs);
}

TEST(ClaimedTime, WithoutATimeTheFilesIsUsedAndNoted) {
  const ChosenTime chosen = choose_end_time({.modified_ns = kWrittenNs, .now_ns = kNowNs});
  EXPECT_EQ(chosen.end_ns, kWrittenNs);
  EXPECT_THAT(chosen.note,
              AllOf(StartsWith(kNoTime), HasSubstr("2026-11-20T08:00:00Z, when the file was last written")));
}

TEST(ClaimedTime, WithoutAnyThatCanBeItIsNow) {
  const ChosenTime unknown = choose_end_time({.now_ns = kNowNs});
  EXPECT_EQ(unknown.end_ns, kNowNs);
  EXPECT_THAT(unknown.note, AllOf(StartsWith(kNoTime), HasSubstr("2026-11-27T12:00:00Z, now")));
  const ChosenTime wrong = choose_end_time({.modified_ns = at("1970-01-02T00:00:00Z"), .now_ns = kNowNs});
  EXPECT_EQ(wrong.end_ns, kNowNs);
  EXPECT_THAT(
      wrong.note,
      AllOf(StartsWith(kWrongTime),
            HasSubstr("when the file was last written, 1970-01-02T00:00:00Z, is before the year 2000")));
}

TEST(ClaimedTime, TheUserIsBelieved) {
  const ChosenTime chosen = choose_end_time({.given_ns = at("1995-01-01T00:00:00Z"),
                                             .told_ns = kWrittenNs,
                                             .modified_ns = kWrittenNs,
                                             .now_ns = kNowNs});
  EXPECT_EQ(chosen.end_ns, at("1995-01-01T00:00:00Z"));
  EXPECT_EQ(chosen.note, "");
}

}  // namespace
}  // namespace plimsoll
