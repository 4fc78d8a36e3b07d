#include "elf/build_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::elf {
namespace {

using ::testing::ElementsAre;

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

TEST(PlacesOfCopies, ArePathsBelowRootsAndThenBuildIds) {
  EXPECT_THAT(places_of_copies({"/", "/copy"}, {"/debug"}, {"/bin/a", "relative"}, "\x12\x34"),
              ElementsAre("/copy/bin/a", "/debug/.build-id/12/34/elf", "/debug/.build-id/12/34",
                          "//.build-id/12/34/elf", "//.build-id/12/34", "/copy/.build-id/12/34/elf",
                          "/copy/.build-id/12/34"));
  EXPECT_THAT(places_of_copies({"/copy"}, {"/debug"}, {"/bin/a"}, ""), ElementsAre("/copy/bin/a"));
}

}  // namespace
}  // namespace plimsoll::elf
