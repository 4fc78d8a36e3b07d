#include "query/fdo/code/execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "query/fdo/code/read_code.h"
#include "query/fdo/code/sample_execution.h"
#include "tests/unit/query/fdo/made_elf.h"

namespace plimsoll::fdo::execution_test {
namespace {

using fdo::testing::from_hex;
using fdo::testing::kCodeAddress;
using fdo::testing::made_elf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// f: 1000 test, je 100b; 1004 call g, jmp 100d; 100b inc; 100d sub, jne 1000; 1012 ret. g: 1013 nop, ret.
ProgramCode example() {
  const std::string code = from_hex("85 ff 74 07 e8 0a 00 00 00 eb 02 ff c0 83 ef 01 75 ee c3 90 c3");
  const std::string file = made_elf(code, {{"f", kCodeAddress, 19}, {"g", 0x1013, 2}});
  const auto binary = elf::ElfFile::parse(as_bytes(file));
  return *read_code(*binary, function_extents(*binary), std::vector<uint64_t>{0x1000, 0x1013});
}

AddressPair pair(uint64_t from, uint64_t to, double value) {
  return {from, to, value, value, 0};
}

TEST(Execution, KeepsRangesThatCanBe) {
  BinaryCounts counts;
  counts.ranges = {pair(0x1000, 0x1009, 5), pair(0x1013, 0x1014, 7)};
  counts.branches = {pair(0x1004, 0x1013, 7), pair(0x1010, 0x1000, 3)};
  const Execution execution = execution_of(example(), counts);
  EXPECT_TRUE(execution.counts.from_branches);
  ASSERT_EQ(execution.counts.ranges.size(), 2);
  EXPECT_EQ(execution.ranges_kept, 12);
  EXPECT_EQ(execution.bogus.sum(), 0);
  ASSERT_EQ(execution.counts.entries.size(), 1) << "a jump back to the first instruction enters nothing";
  EXPECT_EQ(execution.counts.entries[0].first, 0x1013);
  EXPECT_EQ(execution.counts.entries[0].last, 0x1014);
  EXPECT_EQ(execution.counts.entries[0].count, 7);
}

TEST(Execution, DropsAndCountsBogusRecords) {
  BinaryCounts counts;
  counts.ranges = {pair(0x1000, 0x100d, 1),    // over jmp 100d
                   pair(0x1000, 0x1014, 2),    // out of f
                   pair(0x1009, 0x1004, 4),    // backwards
                   pair(0x1001, 0x1002, 8),    // from within an instruction
                   pair(0x1013, 0x1004, 16)};  // of a branch that was recorded twice
  counts.branches = {pair(0x1000, 0x1013, 32), pair(0x1004, 0x1013, 64)};
  const Execution execution = execution_of(example(), counts);
  EXPECT_EQ(execution.bogus.over_jump, 1);
  EXPECT_EQ(execution.bogus.outside, 2);
  EXPECT_EQ(execution.bogus.backwards, 4);
  EXPECT_EQ(execution.bogus.not_a_branch, 8 + 32);
  EXPECT_EQ(execution.bogus.repeated, 16);
  EXPECT_TRUE(execution.counts.ranges.empty());
  ASSERT_EQ(execution.counts.branches.size(), 1);
}

TEST(Execution, AFewBranchRecordsDoNotDisplaceTheSamples) {
  BinaryCounts counts;
  counts.addresses = {{0x1000, 900, 900, 0}, {0x1013, 100, 100, 0}};
  counts.branches = {pair(0x1010, 0x1000, 8000)};
  EXPECT_THAT(execution_of(example(), counts).notes, ElementsAre(HasSubstr("what ran between two branches")));
  counts.ranges = {pair(0x1000, 0x1009, 7999)};
  Execution execution = execution_of(example(), counts);
  EXPECT_FALSE(execution.counts.from_branches);
  EXPECT_THAT(execution.notes,
              ElementsAre("branch records were left out: 7999 records are too few beside 1000 samples"));
  counts.ranges = {pair(0x1013, 0x1014, 8000)};
  EXPECT_THAT(execution_of(example(), counts).notes,
              ElementsAre(HasSubstr("they are of functions with 10 %")));
  counts.ranges = {pair(0x1000, 0x1009, 8000)};
  execution = execution_of(example(), counts);
  EXPECT_TRUE(execution.counts.from_branches);
  EXPECT_THAT(execution.notes, IsEmpty());
  EXPECT_EQ(execution.branches_kept, 8000);
}

TEST(Execution, OfSamplesIsConsistent) {
  BinaryCounts counts;
  for (const auto& [address, value] : std::vector<std::pair<uint64_t, double>>{
           {0x1000, 50}, {0x1004, 90}, {0x100b, 20}, {0x100d, 100}, {0x1012, 2}, {0x9000, 30}}) {
    counts.addresses.push_back({address, 1000 * value, value, 0});
  }
  const Execution execution = execution_of(example(), counts);
  EXPECT_FALSE(execution.counts.from_branches);
  EXPECT_EQ(execution.functions, 1) << "g has no samples";
  EXPECT_NEAR(execution.value_matched, 262'000, 1e-6);
  EXPECT_NEAR(execution.value_elsewhere, 30'000, 1e-6);
  ASSERT_EQ(execution.counts.ranges.size(), 5);
  const auto& ranges = execution.counts.ranges;
  EXPECT_EQ(ranges[0].last, 0x1002);
  EXPECT_EQ(ranges[0].count, ranges[1].count + ranges[2].count);
  EXPECT_EQ(ranges[3].count, ranges[0].count);
  EXPECT_LT(ranges[4].count, 0.3 * ranges[0].count);
  ASSERT_EQ(execution.counts.entries.size(), 1);
  EXPECT_EQ(execution.counts.entries[0].count, ranges[4].count);
  EXPECT_EQ(execution.counts.entries[0].last, 0x1012);
}

// f: 1000 call *rax, 1002 call g, 1007 ret. g: 1008 nop, ret. h: 100a nop, ret.
TEST(Execution, OfSamplesShowsWhereIndirectCallsWent) {
  const std::string code = from_hex("ff d0 e8 01 00 00 00 c3 90 c3 90 c3");
  const std::string file = made_elf(code, {{"f", kCodeAddress, 8}, {"g", 0x1008, 2}, {"h", 0x100a, 2}});
  const auto binary = elf::ElfFile::parse(as_bytes(file));
  BinaryCounts counts;
  counts.addresses = {{0x1000, 70, 70, 0}, {0x1008, 30, 30, 0}, {0x100a, 10, 10, 0}};
  const ProgramCode program = *read_code(*binary, function_extents(*binary), sampled_addresses(counts));
  // By return addresses, and by addresses within the call.
  counts.calls = {pair(0x1001, 0x1009, 20), pair(0x1002, 0x1008, 10), pair(0x1002, 0x100a, 10),
                  pair(0x1007, 0x1008, 50)};
  Execution execution = execution_of(program, counts);
  const double runs_of_f = execution.counts.ranges.front().count;
  ASSERT_GT(runs_of_f, 0);
  ASSERT_EQ(execution.counts.branches.size(), 2) << "that of the call that names g is known";
  for (size_t i = 0; i < 2; ++i) {
    const CountedBranch& branch = execution.counts.branches[i];
    EXPECT_EQ(branch.from, 0x1000);
    EXPECT_EQ(branch.to, i == 0 ? 0x1008 : 0x100a);
    EXPECT_DOUBLE_EQ(branch.count, runs_of_f * (i == 0 ? 0.75 : 0.25));
  }
  // Too few to tell.
  counts.calls = {pair(0x1002, 0x1008, 3)};
  EXPECT_THAT(execution_of(program, counts).counts.branches, IsEmpty());
}

// The function with the most samples is smoothed; for the other the work is spent.
TEST(Execution, LimitsTheWorkOfAllFunctions) {
  BinaryCounts counts;
  for (const auto& [address, value] :
       std::vector<std::pair<uint64_t, double>>{{0x1000, 40}, {0x1004, 10}, {0x1013, 60}, {0x1014, 3}}) {
    counts.addresses.push_back({address, value, value, 0});
  }
  const auto count_at = [](const Execution& execution, uint64_t first) {
    const auto found = std::ranges::find(execution.counts.ranges, first, &CountedRange::first);
    return found == execution.counts.ranges.end() ? 0 : found->count;
  };
  const Execution limited = execution_within(example(), counts, {}, 1);
  const Execution whole = execution_of(example(), counts);
  EXPECT_EQ(limited.functions, 2);
  EXPECT_EQ(limited.functions_raw, 1);
  EXPECT_EQ(whole.functions_raw, 0);
  EXPECT_EQ(count_at(limited, 0x1013), count_at(whole, 0x1013));
  EXPECT_EQ(count_at(limited, 0x100d), 0) << "no samples, and none by smoothing";
  EXPECT_GT(count_at(whole, 0x100d), 0);
  EXPECT_THAT(limited.notes, ::testing::ElementsAre(::testing::HasSubstr("1 functions with fewer samples")));
  EXPECT_TRUE(whole.notes.empty());
  ASSERT_EQ(limited.counts.entries.size(), 2);
  EXPECT_EQ(limited.counts.entries[0].first, 0x1000);
}

}  // namespace
}  // namespace plimsoll::fdo::execution_test
