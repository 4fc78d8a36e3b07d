#include "formats/legacy_contention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/formats/profile_text.h"

namespace plimsoll::formats {
namespace {

using ::testing::HasSubstr;

TEST(LegacyContention, CyclesBecomeNanosecondsAndSamplesBecomeContentions) {
  const auto profile = read_legacy_contention(
      "--- contentionz 1 ---\n"
      "cycles/second = 2000000000\n"
      "sampling period = 100\n"
      "ms since reset = 16502830\n"
      "discarded samples = 7\n"
      "  19490305       27 @ 0xbccc97 0xc61202\n"
      "         0        1 @ 0xbccc97\n");
  EXPECT_EQ(types_of(profile), "contentions/count delay/nanoseconds");
  EXPECT_EQ(text_of(profile),
            "2700 974515250: 0xbccc96 0xc61201\n"
            "100 0: 0xbccc96\n");
  EXPECT_EQ(profile->duration_ns, 16'502'830'000'000);
  EXPECT_EQ(profile->discarded, 7);
}

TEST(LegacyContention, GoWritesItsOwnHeadings) {
  for (const char* heading : {"--- mutex:", "--- contention:"}) {
    EXPECT_EQ(text_of(read_legacy_contention(std::string(heading) +
                                             "\ncycles/second=1000000000\nsampling period=1\n"
                                             "80 2 @ 0x11\n"
                                             "\n# comment\n")),
              "2 80: 0x10\n");
  }
}

TEST(LegacyContention, WithoutAFrequencyDelaysStayAsTheyAre) {
  EXPECT_EQ(text_of(read_legacy_contention("--- contention:\nsampling period=10\n80 2 @ 0x11\n")),
            "20 80: 0x10\n");
}

TEST(LegacyContention, TheMemoryMapEndsTheRows) {
  EXPECT_EQ(text_of(read_legacy_contention("--- contention:\n"
                                           "80 2 @ 0x401001 0x7f0000001001\n"
                                           "--- Memory map: ---\n"
                                           "  00400000-00fcb000: cppbench_server_main\n"
                                           "  7f0000001000-7f0000002000: /libc-2.15.so (@1000) 3f4e1c7a\n")),
            "2 80: 0x401000@cppbench_server_main 0x7f0000001000@/libc-2.15.so\n");
}

TEST(LegacyContention, AProfileWithoutRowsIsOne) {
  EXPECT_EQ(text_of(read_legacy_contention("--- contention:\ncycles/second=1\n")), "");
}

TEST(LegacyContention, WhatIsWrongIsSaidWithItsLine) {
  for (const char* body :
       {"format = java\n", "cycles/second = x\n", "sampling period = -1\n", "resolution = 5\n", "80 2\n",
        "80 @ 0x11\n", "-80 2 @ 0x11\n", "80 2 @ zz\n", "cycles/second = 1\n\n80 2 x\n"}) {
    const auto profile = read_legacy_contention("--- contention:\n" + std::string(body));
    ASSERT_FALSE(profile) << body;
    EXPECT_EQ(profile.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(profile.error().message, HasSubstr("line ")) << body;
  }
}

TEST(LegacyContention, WhatHasNoRoomIsRefused) {
  EXPECT_FALSE(read_legacy_contention(
      "--- contention:\nsampling period=9000000000000000000\n80 9000000000000000000 @ 0x1\n"));
  EXPECT_FALSE(read_legacy_contention(
      "--- contention:\ncycles/second=1\nsampling period=9000000000\n9000000000000000000 1 @ 0x1\n"));
}

}  // namespace
}  // namespace plimsoll::formats
