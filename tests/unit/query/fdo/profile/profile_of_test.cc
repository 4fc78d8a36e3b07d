#include "query/fdo/profile/profile_of.h"

#include <gtest/gtest.h>

#include "tests/unit/query/fdo/profile/profile_text.h"

namespace plimsoll::fdo {
namespace {

// LLVM's encoding of a base discriminator and a duplication factor under 32.
uint32_t encoded(uint32_t base, uint32_t duplication) {
  const uint32_t low = base == 0 ? 1 : base << 1U;
  const uint32_t high = duplication << 1U;
  return low | high << (base == 0 ? 1U : 7U);
}

TEST(ProfileOf, EachLineHasTheLargestCountOfItsPieces) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 main/1:3\n"
      "18 main/1:2\n"
      "1c\n");
  EXPECT_EQ(make(table, counts_of("10-13:5 14-1a:7")).text,
            "main:14:0\n"
            " 1: 7\n"
            " 2: 7\n");
}

// A range ends at the beginning of its last instruction: what follows it in the same row is of another range, or did not run.
TEST(ProfileOf, OverlappingRangesAreAddedUp) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 main/1:3\n"
      "18 main/1:4\n"
      "1c\n");
  EXPECT_EQ(make(table, counts_of("10-14:5 10-18:2 14-14:1")).text,
            "main:17:0\n"
            " 1: 7\n"
            " 2: 8\n"
            " 3: 2\n");
}

TEST(ProfileOf, InlinedCodeCountsForItsCall) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 deep/50:52 inlined/20:21.2 main/1:4.4\n"
      "18 inlined/20:22 main/1:4.4\n"
      "1c\n");
  EXPECT_EQ(make(table, counts_of("10-1a:3")).text,
            "main:9:0\n"
            " 1: 3\n"
            " 3.2: inlined:6\n"
            "  2: 3\n"
            "  1.1: deep:3\n"
            "   2: 3\n");
}

TEST(ProfileOf, DuplicatedBlocksCountForAllTheirCopies) {
  const std::string table =
      table_of(fmt::format("10 main/1:2.{}\n14 main/1:3.{}\n18\n", encoded(0, 4), encoded(3, 2)));
  EXPECT_EQ(make(table, counts_of("10-16:10")).text,
            "main:60:0\n"
            " 1: 40\n"
            " 2.3: 20\n");
}

TEST(ProfileOf, DiscriminatorsOfGccAreBlockNumbers) {
  const std::string table = table_of("10 main/1:2.6\n14\n", "GNU C++17 12.2.0 -O2");
  EXPECT_EQ(make(table, counts_of("10-12:10")).text, "main:10:0\n 1.6: 10\n");
}

// Bytes of code decide about totals: of the last instruction of a range some more than the first byte.
TEST(ProfileOf, TotalsAreByBytesUnlessToldOtherwise) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 inlined/20:21 main/1:4\n"
      "20\n");
  EXPECT_EQ(make(table, counts_of("10-18:3"), {}).text,
            "main:36:0\n"
            " 1: 3\n"
            " 3: inlined:24\n"
            "  1: 3\n");
}

TEST(ProfileOf, WhatHasNoLineIsReported) {
  const std::string table = table_of(
      "10 main/1:0\n"
      "12 main/1:2\n"
      "14 assembly/0:7\n"
      "18\n"
      "1c inlined/20:21 main/1:0\n"
      "20 main/5:3\n"
      "24\n");
  const auto [text, report] = make(table, counts_of("10-11:1 12-13:1 14-17:1 18-1b:1 1c-1f:1 20-23:1"));
  EXPECT_EQ(text,
            "main:2:0\n"
            " 1: 1\n"
            " 65534: 1\n");
  EXPECT_EQ(report.counted.weight, 20);
  EXPECT_EQ(report.used.weight, 6);
  EXPECT_EQ(report.no_line.weight, 2);
  EXPECT_EQ(report.no_start_line.weight, 4);
  EXPECT_EQ(report.no_function.weight, 4);
  EXPECT_EQ(report.no_call_line.weight, 4);
  EXPECT_EQ(report.wrapped.weight, 4);
}

// Of a call whose line is unknown, the function around it has the weight all the same.
TEST(ProfileOf, CodeWithoutALineIsPartOfTheTotal) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 inlined/20:21 main/1:0\n"
      "18 main/1:0\n"
      "1c\n");
  EXPECT_EQ(make(table, counts_of("10-1b:2"), {}).text,
            "main:24:0\n"
            " 1: 2\n");
}

TEST(ProfileOf, EntriesAreHeads) {
  const std::string table = table_of(
      "10 main/1:1\n"
      "20 f/10:10\n"
      "30 g/20:20\n"
      "40\n");
  EXPECT_EQ(make(table, counts_of("10-1f:4 20-2f:3 10..1f:1 20..2f:2 30..3f:5")).text,
            "main:4:1\n"
            " 0: 4\n"
            "f:3:2\n"
            " 0: 3\n"
            "g:0:5\n");
}

TEST(ProfileOf, CallsAreBranchesToEntries) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 inlined/5:6 main/1:3\n"
      "20 f/10:10\n"
      "30 g/20:20\n"
      "40 g.cold/20:25\n"
      "48\n");
  const std::string counts = "10-1f:9 20-2f:9 12->20:5 16->30:2 16->20:1 12->24:7 22->20:1 32->40:3 50->30:4";
  const auto [text, report] = make(table, counts_of(counts, true));
  EXPECT_EQ(text,
            "main:18:0\n"
            " 1: 9 f:5\n"
            " 2: inlined:9\n"
            "  1: 9 g:2 f:1\n"
            "f:9:7\n"
            " 0: 9 f:1\n"
            "g:0:6\n");
  EXPECT_EQ(report.calls, 9);
  EXPECT_EQ(report.calls_no_line, 4);
  EXPECT_EQ(report.other_branches, 10);
  // Entries say where functions begin, and how often they were entered.
  EXPECT_EQ(make(table, counts_of(counts + " 20..2f:3", true)).text,
            "main:18:0\n"
            " 1: 9 f:5\n"
            " 2: inlined:9\n"
            "  1: 9 f:1\n"
            "f:9:3\n"
            " 0: 9 f:1\n");
}

TEST(ProfileOf, WhatDidNotRunIsZeroWhereThatIsKnown) {
  const std::string table = table_of(
      "10 main/1:2\n"
      "14 main/1:3\n"
      "18 main/1:4\n"
      "20 f/10:10\n"
      "30\n");
  const std::string counts = "10-13:3 18-1f:1 10..1f:1 20..2f:0";
  EXPECT_EQ(make(table, counts_of(counts, true)).text, "main:4:1\n 1: 3\n 2: 0\n 3: 1\n")
      << "of f nothing is known";
  EXPECT_EQ(make(table, counts_of(counts)).text, "main:4:1\n 1: 3\n 3: 1\n") << "samples do not say so";
  EXPECT_EQ(make(table, counts_of("10-13:3 14-17:0 20-2f:0")).text, "main:3:0\n 1: 3\n 2: 0\n");
}

TEST(ProfileOf, ClonesCountForTheFunctionTheyCameFrom) {
  const std::string table = table_of(
      "10 f.llvm.123/1:2\n"
      "20 f.cold/1:3\n"
      "30 f.part.0.isra.1/1:4\n"
      "40 f.__uniq.99.llvm.5/1:5\n"
      "50 _ZN1AC1Ev=_ZN1AC2Ev/1:6\n"
      "60 _ZN1BC1Ev=other/1:7\n"
      "70\n");
  const auto [text, report] = make(table, counts_of("10-6f:1"));
  EXPECT_EQ(text,
            "f:3:0\n"
            " 1: 1\n"
            " 2: 1\n"
            " 3: 1\n"
            "_ZN1AC2Ev:1:0\n"
            " 5: 1\n"
            "_ZN1BC1Ev:1:0\n"
            " 6: 1\n"
            "f.__uniq.99:1:0\n"
            " 4: 1\n");
  EXPECT_EQ(report.renamed, 4U);
  EXPECT_EQ(report.functions, 4U);
}

TEST(ProfileOf, WholeNumbersKeepTheirValue) {
  const std::string table = table_of("10 main/1:2\n14 main/1:3\n18\n");
  const auto [text, report] = make(table, counts_of("10-13:1 14-17:281474976710656"));
  EXPECT_EQ(text, "main:281474976710657:0\n 1: 1\n 2: 281474976710656\n");
  EXPECT_EQ(report.scale, 1);
}

TEST(ProfileOf, FractionsAreScaledUp) {
  const std::string table = table_of("10 main/1:2\n14 main/1:3\n18\n");
  const auto [text, report] = make(table, counts_of("10-13:0.25 14-17:1.5"));
  EXPECT_EQ(text, "main:112:0\n 1: 16\n 2: 96\n");
  EXPECT_EQ(report.scale, 64);
  EXPECT_EQ(report.largest_count, 96U);
}

TEST(ProfileOf, LargeCountsAreScaledDown) {
  const std::string table = table_of("10 main/1:2\n14 main/1:3\n18\n");
  const auto [text, report] = make(table, counts_of("10-13:1 14-17:1.125899906842624e15"));
  EXPECT_EQ(text, "main:281474976710656:0\n 1: 0\n 2: 281474976710656\n");
  EXPECT_EQ(report.scale, 0.25);
  EXPECT_EQ(report.rounded_to_zero, 1U);
}

// 0.1 + 0.2 - 0.2 is not 0.1 in binary: nothing may be left of ranges that have ended.
TEST(ProfileOf, SumsOfFractionsLeaveNothingBehind) {
  const std::string table = table_of("10 main/1:2\n14 main/1:3\n18 main/1:4\n1c\n");
  const auto [text, report] = make(table, counts_of("10-13:0.1 10-13:0.2 10-17:0.7 10-1b:0"));
  EXPECT_EQ(text, "main:54:0\n 1: 32\n 2: 22\n 3: 0\n");
}

TEST(ProfileOf, SurvivesRangesThatCannotBe) {
  const std::string table = table_of("10 main/1:2\n18\n");
  ExecutionCounts counts = counts_of("10-13:2");
  counts.ranges.push_back({0x14, 0x10, 5});
  counts.ranges.push_back({0x10, UINT64_MAX, 5});
  counts.ranges.push_back({0x10, 0x12, -3});
  counts.ranges.push_back({0x10, 0x12, HUGE_VAL});
  counts.entries.push_back({0x10, 0x17, HUGE_VAL});
  counts.branches.push_back({0x11, 0x10, -1});
  EXPECT_EQ(make(table, counts).text, "main:2:0\n 1: 2\n");
  EXPECT_EQ(make(table, {}).text, "");
}

}  // namespace
}  // namespace plimsoll::fdo
