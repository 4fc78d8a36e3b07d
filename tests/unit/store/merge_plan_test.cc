// Which blocks become one.
#include "store/merging/merge_plan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::store::merge_plan_test {
namespace {

constexpr int64_t kDayNs = RetentionLimits::kDayNs;
constexpr MergeLimits kLimitsOfTable{.max_span_ns = 40 * kDayNs, .max_bytes = 1000};

// "7": block 7, of day 7 alone and of 10 bytes, which is fit; "5-8" was made of four. "7@3,9" is of the days 3 to 9, "7?" has no profile,
// "7*500" takes 500 bytes, "7!" is not fit.
MergeCandidate block_of(const std::string& text) {
  MergeCandidate block{.is_fit = true};
  char* at = nullptr;
  block.first = block.last = std::strtoll(text.c_str(), &at, 10);
  if (*at == '-') {
    block.last = std::strtoll(at + 1, &at, 10);
  }
  block.from_ns = (block.first - 1) * kDayNs;
  block.to_ns = block.last * kDayNs;
  block.bytes = 10 * (block.last - block.first + 1);
  while (*at != '\0') {
    const char what = *at++;
    if (what == '@') {
      block.from_ns = std::strtoll(at, &at, 10) * kDayNs;
      block.to_ns = std::strtoll(at + 1, &at, 10) * kDayNs;
    } else if (what == '*') {
      block.bytes = std::strtoll(at, &at, 10);
    } else if (what == '?') {
      block.from_ns = INT64_MAX;
      block.to_ns = INT64_MIN;
    } else {
      block.is_fit = false;
    }
  }
  return block;
}

std::vector<MergeCandidate> blocks_of(const std::string& text) {
  std::vector<MergeCandidate> blocks;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    blocks.push_back(block_of(word));
  }
  return blocks;
}

// "1-4"; empty: none are due.
std::string merged(const std::string& text) {
  const std::vector<MergeCandidate> blocks = blocks_of(text);
  const std::optional<size_t> first = next_merge(blocks, kLimitsOfTable);
  return first.has_value() ? std::to_string(blocks[*first].first) + "-" +
                                 std::to_string(blocks[*first + kMergedBlocks - 1].last)
                           : "";
}

TEST(MergePlan, FourNeighboursOfALevelBecomeOneTheOldestFirst) {
  struct Case {
    const char* blocks;
    const char* merged;
  };
  const std::vector<Case> cases{
      {"", ""},
      {"1 2 3", ""},
      {"1 2 3 4", "1-4"},
      {"3 4 5 6 7 8 9 10", "3-6"},
      // Of one level.
      {"1-4 5 6 7", ""},
      {"1-4 5 6 7 8", "5-8"},
      {"1-4 5-8 9-12 13 14 15", ""},
      {"1-4 5-8 9-12 13-16", "1-16"},
      {"1-4 5-8 9-12 13-16 17 18 19 20", "1-16"},
      {"1-16 17-20 21-24 25-28 29 30", ""},
      {"1-5 6-9 10-16 17-20", "1-20"},
      // All of them fit.
      {"1 2 3 4!", ""},
      {"1 2! 3 4 5 6", "3-6"},
      {"1 2 3! 4 5 6! 7 8 9", ""},
      // Not too long.
      {"1@0,1 2@1,2 3@2,3 4@39,40", "1-4"},
      {"1@0,1 2@1,2 3@2,3 4@39,41", ""},
      {"1@0,41 2@1,2 3@2,3 4@3,4", ""},
      {"1@0,1 2@38,39 3@39,40 4@40,41 5@41,42", "2-5"},
      {"1@30,31 2@0,1 3@2,3 4@3,4", "1-4"},
      {"1? 2? 3? 4?", "1-4"},
      {"1@0,1 2? 3@1,2 4@39,40", "1-4"},
      {"1@0,1 2? 3@1,2 4@39,41", ""},
      {"1@-90000,-89999 2@1,2 3@2,3 4@90000,90001", ""},
      // Nor too large.
      {"1*250 2*250 3*250 4*250", "1-4"},
      {"1*250 2*250 3*250 4*251", ""},
      {"1*999 2 3 4 5", "2-5"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(merged(each.blocks), each.merged) << each.blocks;
  }
}

// A day a block, for a year: each day is written again twice at most, since the third time would be over 40 days.
TEST(MergePlan, ABlockIsWrittenAgainOnceALevel) {
  std::vector<MergeCandidate> blocks;
  int64_t rewritten = 0;
  for (int64_t day = 1; day <= 365; ++day) {
    blocks.push_back(block_of(std::to_string(day) + "*1"));
    while (true) {
      const std::optional<size_t> first = next_merge(blocks, kLimitsOfTable);
      if (!first.has_value()) {
        break;
      }
      const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(*first);
      const auto end = begin + static_cast<std::ptrdiff_t>(kMergedBlocks);
      MergeCandidate made = *begin;
      made.last = (end - 1)->last;
      made.to_ns = (end - 1)->to_ns;
      made.bytes = made.last - made.first + 1;
      rewritten += made.bytes;
      *begin = made;
      blocks.erase(begin + 1, end);
    }
  }
  EXPECT_EQ(blocks.size(), 365 / 16 + 3 + 1) << "22 of sixteen days, then 3 of four, then a day";
  EXPECT_EQ(rewritten, 22 * 16 * 2 + 3 * 4);
}

TEST(MergePlan, LimitsAreAPartOfWhatIsKept) {
  const auto limits_of = [](int64_t max_age_days, int64_t max_bytes) {
    const MergeLimits limits = merge_limits(
        {.rows_max_age_ns = max_age_days * kDayNs, .rows_max_bytes = max_bytes, .min_free_bytes = 7});
    EXPECT_EQ(limits.min_free_bytes, 7);
    return std::pair(limits.max_span_ns / kDayNs, limits.max_bytes >> 20);
  };
  constexpr int64_t kGiB = int64_t{1} << 30;
  EXPECT_EQ(limits_of(400, 16 * kGiB), std::pair(int64_t{40}, int64_t{1024}));
  EXPECT_EQ(limits_of(30, kGiB), std::pair(int64_t{3}, int64_t{64}));
  EXPECT_EQ(limits_of(4000, 1024 * kGiB), std::pair(int64_t{40}, int64_t{4096}));
}

}  // namespace
}  // namespace plimsoll::store::merge_plan_test
