// Which scope and which line each address has: ranges within one another, units' borders.
#include "symbolizer/dwarf/flatten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace plimsoll::symbolizer {
namespace {

using ::testing::ElementsAre;

const auto kEverywhere = [](uint64_t) { return true; };

// "10: 0" for scope 0 from address 10 on; "20: -" where there is none.
std::vector<std::string> scopes_of(const std::vector<CodeRow>& rows) {
  std::vector<std::string> texts;
  for (const CodeRow& row : rows) {
    texts.push_back(row.scope == kNoScope ? fmt::format("{}: -", row.from)
                                          : fmt::format("{}: {}", row.from, row.scope));
  }
  return texts;
}

TEST(Flatten, TheInnermostRangeHolds) {
  EXPECT_THAT(scopes_of(flatten({{10, 50, 0}, {20, 40, 1}, {25, 30, 2}}, nullptr, kEverywhere)),
              ElementsAre("10: 0", "20: 1", "25: 2", "30: 1", "40: 0", "50: -"));
}

TEST(Flatten, OfRangesThatBeginTogetherTheShortestHolds) {
  EXPECT_THAT(scopes_of(flatten({{10, 20, 1}, {10, 50, 0}}, nullptr, kEverywhere)),
              ElementsAre("10: 1", "20: 0", "50: -"));
}

TEST(Flatten, OfEqualRangesTheLastHolds) {
  EXPECT_THAT(scopes_of(flatten({{10, 20, 0}, {10, 20, 1}}, nullptr, kEverywhere)),
              ElementsAre("10: 1", "20: -"));
}

TEST(Flatten, LeavesOutWhatTheLinkerDropped) {
  const auto is_code = [](uint64_t from) { return from >= 1000; };
  EXPECT_THAT(scopes_of(flatten({{0, 50, 0}, {1000, 1010, 1}}, nullptr, is_code)),
              ElementsAre("1000: 1", "1010: -"));
}

// Ranges that lie within one another, as compilers write them: a scope's range is part of its parent's.
TEST(Flatten, AgreesWithAModelOnRandomTrees) {
  constexpr uint64_t kEnd = 300;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<ScopeRange> ranges{{0, kEnd, 0}};
    std::vector<uint32_t> model(kEnd, 0);
    for (uint32_t scope = 1; scope < 30; ++scope) {
      const ScopeRange parent = ranges[random() % ranges.size()];
      const uint64_t from = parent.from + random() % (parent.to - parent.from);
      const uint64_t to = from + 1 + random() % (parent.to - from);
      // A sibling's code is not another's: only what is still the parent's own may become the child's.
      bool is_parents = true;
      for (uint64_t address = from; address < to; ++address) {
        is_parents = is_parents && model[address] == parent.scope;
      }
      if (is_parents) {
        ranges.push_back({from, to, scope});
        std::fill(model.begin() + static_cast<long>(from), model.begin() + static_cast<long>(to), scope);
      }
    }
    const std::vector<CodeRow> rows = flatten(ranges, nullptr, kEverywhere);
    size_t row = 0;
    for (uint64_t address = 0; address < kEnd; ++address) {
      row += row + 1 < rows.size() && rows[row + 1].from == address ? 1 : 0;
      ASSERT_EQ(rows[row].scope, model[address]) << "seed " << seed << ", address " << address;
    }
    EXPECT_EQ(rows.back().from, kEnd);
  }
}

TEST(Clip, KeepsWhatLiesInTheUnit) {
  const std::vector<CodeRow> rows{{10, 0, 0}, {20, 1, 1}, {30, 2, 2}, {40, kNoScope, kNoLine}};
  EXPECT_THAT(scopes_of(clip(rows, {{15, 25}})), ElementsAre("15: 0", "20: 1", "25: -"));
  EXPECT_THAT(scopes_of(clip(rows, {{32, 35}, {5, 12}})), ElementsAre("10: 0", "12: -", "32: 2", "35: -"));
  EXPECT_THAT(scopes_of(clip(rows, {})), ElementsAre("10: 0", "20: 1", "30: 2", "40: -"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
