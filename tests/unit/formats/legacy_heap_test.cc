#include "formats/legacy_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/heap_text.h"
#include "tests/unit/formats/profile_text.h"

namespace plimsoll::formats {
namespace {

using ::testing::HasSubstr;

TEST(LegacyHeap, RowsOfEachCallSiteAreInUse) {
  const auto profile = read_legacy_heap(
      "heap profile:      3:     3072 [     3:     3072] @ heapprofile\n"
      "     2:     2048 [     2:     2048] @ 0x401137 0x401171\n"
      "     1:     1024 [     1:     1024] @ 0x401137\n");
  EXPECT_EQ(types_of(profile), "inuse_objects/count inuse_space/bytes");
  EXPECT_EQ(text_of(profile),
            "2 2048: 0x401136 0x401170\n"
            "1 1024: 0x401136\n")
      << "addresses are those of the calls, one before where they return to";
}

TEST(LegacyHeap, SampledRowsStandForWhatWasNotSampled) {
  // 1/(1 - exp(-1024/524288)) = 512.5; 1/(1 - exp(-1)) = 1.5820.
  const char* const rows =
      "1: 1024 [1: 1024] @ 0x11\n"
      "2: 1048576 [2: 1048576] @ 0x21\n";
  EXPECT_EQ(text_of(read_legacy_heap("heap profile: 3: 1049600 [3: 1049600] @ heap_v2/524288\n" +
                                     std::string(rows))),
            "512 524800: 0x10\n"
            "3 1658822: 0x20\n");
  EXPECT_EQ(text_of(read_legacy_heap("heap profile: 3: 1049600 [3: 1049600] @ heapz_v2/524288\n" +
                                     std::string(rows))),
            "512 524800: 0x10\n"
            "3 1658822: 0x20\n");
}

TEST(LegacyHeap, ObjectsOfOneSizeAreSummedBeforeTheyAreScaled) {
  // gperftools writes each sampled object: 1.58 of each must not become 1 of each.
  std::string text = "heap profile: 100: 52428800 [100: 52428800] @ heap_v2/524288\n";
  for (int i = 0; i < 100; ++i) {
    text += "1: 524288 [1: 524288] @ 0x11 0x21\n";
  }
  EXPECT_EQ(text_of(read_legacy_heap(text + "1: 1024 [1: 1024] @ 0x11 0x21\n")),
            "158 82941140: 0x10 0x20\n"
            "512 524800: 0x10 0x20\n");
}

TEST(LegacyHeap, OldGoProgramsWriteTwiceTheirPeriod) {
  EXPECT_EQ(text_of(read_legacy_heap("heap profile: 1: 1024 [1: 1024] @ heap/1048576\n"
                                     "1: 1024 [1: 1024] @ 0x11\n")),
            "512 524800: 0x10\n");
}

TEST(LegacyHeap, WithoutAPeriodNothingIsScaled) {
  for (const char* dialect : {"heap_v2", "heap_v2/1", "heap_v2/0", "heapprofile/524288", "heap"}) {
    EXPECT_EQ(text_of(read_legacy_heap("heap profile: 1: 1024 [1: 1024] @ " + std::string(dialect) +
                                       "\n1: 1024 [1: 1024] @ 0x11\n")),
              "1 1024: 0x10\n")
        << dialect;
  }
}

TEST(LegacyHeap, AllocationsComeBeforeWhatIsInUse) {
  const auto profile = read_legacy_heap(
      "heap profile: 1: 100 [5: 500] @ heapprofile\n"
      "1: 100 [4: 400] @ 0x11\n"
      "0: 0 [1: 100] @ 0x21\n");
  EXPECT_EQ(types_of(profile), "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes");
  EXPECT_EQ(text_of(profile),
            "4 400 1 100: 0x10\n"
            "1 100 0 0: 0x20\n");
}

TEST(LegacyHeap, ZerosForAllocationsMeanThatTheyWereNotCounted) {
  EXPECT_EQ(types_of(read_legacy_heap("heap profile: 1: 100 [0: 0] @ heapprofile\n1: 100 [0: 0] @ 0x11\n")),
            "inuse_objects/count inuse_space/bytes");
}

TEST(LegacyHeap, GrowthIsCountedNotSampled) {
  const auto profile = read_legacy_heap(
      "heap profile:     85: 178257920 [    85: 178257920] @ growthz\n"
      "     1:  2097152 [     1:  2097152] @ 0xb83003 0xb87d50\n");
  EXPECT_EQ(types_of(profile), "growth_objects/count growth_space/bytes");
  EXPECT_EQ(text_of(profile), "1 2097152: 0xb83002 0xb87d4f\n");
}

TEST(LegacyHeap, TheMemoryMapSaysWhichFile) {
  for (const char* heading : {"MAPPED_LIBRARIES:", "--- Memory map: ---"}) {
    EXPECT_EQ(text_of(read_legacy_heap("heap profile: 1: 100 [1: 100] @ heapprofile\n"
                                       "# a comment, and an empty line\n\n"
                                       "1: 100 [1: 100] @ 0x401001 0x7f0000000010 0x5\n\n" +
                                       std::string(heading) +
                                       "\n"
                                       "00400000-00402000 r-xp 00000000 fd:01 1234    /srv/server\n"
                                       "7f0000000000-7f0000001000 r-xp 00002000 fd:01 12 /lib/libc.so.6\n")),
              "1 100: 0x401000@/srv/server 0x7f000000000f@/lib/libc.so.6 0x4\n");
  }
}

TEST(LegacyHeap, WindowsLineEndsAreSpaces) {
  EXPECT_EQ(text_of(read_legacy_heap("heap profile: 1: 1 [1: 1] @ heapprofile\r\n1: 1 [1: 1] @ 0x11\r\n")),
            "1 1: 0x10\n");
}

TEST(LegacyHeap, WhatIsWrongIsSaidWithItsLine) {
  const std::string header = "heap profile: 1: 1 [1: 1] @ heap_v2/524288\n";
  for (const char* row : {"1: 1 [1: 1]", "1: 1 [1: 1] 0x11", "1: 1 1: 1 @ 0x11", "x: 1 [1: 1] @ 0x11",
                          "1: 1 [1: 1] @ 11", "1: 1 [1: 1] @ 0x", "1: 1 [1: 1] @ 0x10000000000000000",
                          "1: 99999999999999999999 [1: 1] @ 0x11", "1", ":"}) {
    const auto profile = read_legacy_heap(header + row);
    ASSERT_FALSE(profile) << row;
    EXPECT_EQ(profile.error().code, ErrorCode::kCorrupt) << row;
    EXPECT_THAT(profile.error().message, HasSubstr("line 2")) << row;
  }
  EXPECT_THAT(text_of(read_legacy_heap(header + "0: 5 [0: 5] @ 0x11")),
              HasSubstr("line 2 of the profile is not bytes in objects"));
}

TEST(LegacyHeap, OtherHeadersAreNotGuessedAt) {
  for (const char* header :
       {"", "heap profile:", "heap profile: 1: 1 [1: 1]", "heap profile: 1: 1 [1: 1] @ heap_v3/1",
        "heap profile: 1: 1 [1: 1] @ heap_v2/x", "heap profile: 1: 1 [1: 1] @ fragmentationz"}) {
    EXPECT_FALSE(read_legacy_heap(header)) << header;
  }
}

TEST(LegacyHeap, ScalingNeverLeavesTheNumbersThereAre) {
  constexpr int64_t kMax = INT64_MAX;
  EXPECT_FALSE(scaled_heap_values({kMax, kMax}, kMax).has_value());
  EXPECT_EQ(*scaled_heap_values({0, 0}, 524288), (HeapValues{0, 0}));
  EXPECT_EQ(*scaled_heap_values({5, 0}, 524288), (HeapValues{0, 0}));
  EXPECT_EQ(*scaled_heap_values({-2, -1048576}, 524288), (HeapValues{-3, -1658822}));
}

TEST(LegacyHeap, MoreThanTheLimitsIsRefused) {
  const std::string text =
      "heap profile: 1: 1 [1: 1] @ heapprofile\n"
      "1: 1 [1: 1] @ 0x11\n1: 1 [1: 1] @ 0x21 0x31\n";
  EXPECT_TRUE(read_legacy_heap(text, {.max_entries = 4}));
  EXPECT_EQ(read_legacy_heap(text, {.max_entries = 2}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(read_legacy_heap(text, {.max_stack_entries = 2}).error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace plimsoll::formats
