#include <gtest/gtest.h>

#include "query/fdo/profile/gcov.h"
#include "query/fdo/profile/llvm_binary.h"
#include "query/fdo/profile/llvm_text.h"
#include "query/fdo/profile/profile_math.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::fdo {
namespace {

constexpr int kMutations = 10'000;

constexpr std::string_view kText =
    "main:184019:0\n"
    " 4: 534\n"
    " 4.2: 534\n"
    " 9: 2064 _Z3bari:1471 _Z3fooi:631\n"
    " 10: inline1:1000\n"
    "  1: 1000\n"
    "  3: inline3:500\n"
    "   1: 500\n"
    " 10: inline2:2000\n"
    "  1: 2000\n"
    "# a comment\n"
    "_Z3bari:20301:1437\n"
    " 1: 1437\n"
    "_ZN1AC4Ev.__uniq.1:7711:18446744073709551615\n"
    " 65535.4294967295: 610\n";

// An error that says something, or a profile that is written and read back the same.
TEST(FuzzSampleProfile, DamagedTextIsReadOrRefused) {
  std::mt19937_64 random(fuzz::seed(1));
  SampleProfile all;
  int read_well = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string text = fuzz::mutated(kText, random);
    const auto profile = read_llvm_text(text);
    if (!profile) {
      ASSERT_FALSE(profile.error().message.empty());
      continue;
    }
    ++read_well;
    const auto again = read_llvm_text(write_llvm_text(*profile));
    ASSERT_TRUE(again) << again.error().text() << "\n" << text;
    ASSERT_EQ(*again, *profile) << text;
    ASSERT_FALSE(write_llvm_binary(*profile).empty());
    ASSERT_FALSE(write_gcov(*profile).empty());
    const double similarity = overlap(*profile, *again);
    ASSERT_GE(similarity, 0);
    ASSERT_LE(similarity, 1.000001);
    (void)summary_of(*profile);
    merge(all, *profile, 0.5);
  }
  EXPECT_GT(read_well, kMutations / 20) << "some of the damage leaves a profile";
  EXPECT_LT(read_well, kMutations);
}

}  // namespace
}  // namespace plimsoll::fdo
