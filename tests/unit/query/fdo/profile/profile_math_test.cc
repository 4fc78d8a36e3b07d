#include "query/fdo/profile/profile_math.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/fdo/profile/llvm_text.h"

namespace plimsoll::fdo {
namespace {

SampleProfile parsed(std::string_view text) {
  auto read = read_llvm_text(text);
  EXPECT_TRUE(read) << read.error().text();
  return std::move(*read);
}

TEST(ProfileMath, MergingAddsWeightedCounts) {
  SampleProfile into = parsed("f:10:2\n 1: 10 g:4\n 2: g:5\n  1: 5\n");
  merge(into, parsed("f:4:1\n 1: 3 h:3\n 2: h:1\n  1: 1\ng:7:7\n 0: 7\n"), 0.5);
  EXPECT_EQ(write_llvm_text(into),
            "f:12:3\n"
            " 1: 12 g:4 h:2\n"
            " 2: g:5\n"
            "  1: 5\n"
            " 2: h:1\n"
            "  1: 1\n"
            "g:4:4\n"
            " 0: 4\n");
}

TEST(ProfileMath, SumsStopAtTheLargestNumber) {
  SampleProfile into = parsed("f:18446744073709551615:0\n 1: 18446744073709551615\n");
  merge(into, into, 1);
  merge(into, into, 1e300);
  EXPECT_EQ(into.functions.at("f").total, UINT64_MAX);
  EXPECT_EQ(into.functions.at("f").body.at({1, 0}).count, UINT64_MAX);
}

TEST(ProfileMath, OverlapIsOneOfEqualSharesAndZeroOfDifferentFunctions) {
  const SampleProfile a = parsed("f:8:0\n 1: 6\n 2: g:2\n  1: 2\nh:8:0\n 1: 8\n");
  SampleProfile scaled;
  merge(scaled, a, 1000);
  EXPECT_DOUBLE_EQ(overlap(a, scaled), 1);
  EXPECT_DOUBLE_EQ(overlap(a, parsed("x:8:0\n 1: 8\n")), 0);
  EXPECT_DOUBLE_EQ(overlap(a, {}), 0);
}

// f: the same shares of 1/2 and 1/4 of all; h: the shares within it differ by a half of it.
TEST(ProfileMath, OverlapWeighsFunctions) {
  const SampleProfile a = parsed("f:8:0\n 1: 8\nh:8:0\n 1: 4\n 2: 4\n");
  const SampleProfile b = parsed("f:4:0\n 1: 4\nh:12:0\n 1: 12\n");
  const double of_f = 1 * (1 - 0.25) * (0.5 + 0.25) / 2;
  const double of_h = 0.5 * (1 - 0.25) * (0.5 + 0.75) / 2;
  EXPECT_DOUBLE_EQ(overlap(a, b), of_f + of_h);
  EXPECT_DOUBLE_EQ(overlap(b, a), of_f + of_h);
}

TEST(ProfileMath, SummaryCountsTheHottestLines) {
  std::string text = "f:0:9\n";
  for (int line = 1; line <= 100; ++line) {
    text += fmt::format(" {}: {}\n", line, line <= 90 ? 1 : 91);
  }
  const ProfileSummary summary = summary_of(parsed(text + "g:0:12\n 1: f:0\n  1: 0\n"));
  EXPECT_EQ(summary.total_count, 1000U);
  EXPECT_EQ(summary.max_count, 91U);
  EXPECT_EQ(summary.max_function_count, 12U);
  EXPECT_EQ(summary.lines, 101U);
  EXPECT_EQ(summary.functions, 2U);
  ASSERT_EQ(summary.entries.size(), 16U);
  const SummaryEntry& ninety = summary.entries.at(9);
  EXPECT_EQ(ninety.cutoff, 900'000U);
  EXPECT_EQ(ninety.min_count, 91U);
  EXPECT_EQ(ninety.lines, 10U);
  const SummaryEntry& hot = summary.entries.at(11);
  EXPECT_EQ(hot.cutoff, 990'000U);
  EXPECT_EQ(hot.min_count, 1U);
  EXPECT_EQ(hot.lines, 100U);
}

}  // namespace
}  // namespace plimsoll::fdo
