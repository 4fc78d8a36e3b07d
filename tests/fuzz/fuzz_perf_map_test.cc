#include <gtest/gtest.h>

#include "daemon/jit/perf_map.h"
#include "tests/fuzz/mutate.h"

namespace plimsoll::identity {
namespace {

constexpr int kMutations = 10'000;

// Whatever the text: names lie within it, and hold no line end.
TEST(FuzzPerfMap, DamagedTextsGiveNamesOfTheirOwnOrNone) {
  const std::string text =
      "7f0000001000 40 LazyCompile:*parse /app/main.js:12\n"
      "7f0000001040 1c0 Builtin:Call\n"
      "0x7f0000001200 0x80 again\n"
      "7f0000001000 20 moved\n";
  const std::vector<uint64_t> addresses{
      0, 0x7f0000001000, 0x7f0000001030, 0x7f0000001040, 0x7f0000001210, UINT64_MAX};
  std::mt19937_64 random(1);
  int named = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string damaged = fuzz::mutated(text, random);
    const auto found = look_up_perf_map(damaged, addresses);
    ASSERT_EQ(found.names.size(), addresses.size());
    for (const std::string_view name : found.names) {
      ASSERT_NE(damaged.find(name), std::string::npos);
      ASSERT_EQ(name.find('\n'), std::string_view::npos);
      named += name.empty() ? 0 : 1;
    }
  }
  // Most damage leaves most lines as they are.
  EXPECT_GT(named, kMutations);
}

}  // namespace
}  // namespace plimsoll::identity
