#include "elf/build_id.h"

#include <gtest/gtest.h>

namespace plimsoll::elf {
namespace {

TEST(BuildId, OfZerosIsNone) {
  EXPECT_EQ(build_id_or_none(std::string_view("\0\0\0\0", 4)), "");
  EXPECT_EQ(build_id_or_none(""), "");
  EXPECT_EQ(build_id_or_none(std::string_view("\0\0\1\0", 4)), std::string_view("\0\0\1\0", 4));
}

// mold and lld write 32 bytes of SHA-256 where they are asked to.
TEST(BuildId, ThatPerfHasCutIsTheBeginningOfALongerOne) {
  constexpr std::string_view kLong = "01234567890123456789 and more";
  EXPECT_TRUE(is_build(kLong, kLong));
  EXPECT_TRUE(is_build(kLong, kLong.substr(0, 20)));
  EXPECT_FALSE(is_build(kLong, kLong.substr(0, 19))) << "perf cuts nothing that is as short";
  EXPECT_FALSE(is_build(kLong.substr(0, 20), kLong));
  EXPECT_FALSE(is_build(kLong, "01234567890123456780"));
}

}  // namespace
}  // namespace plimsoll::elf
