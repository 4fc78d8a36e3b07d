// Profiles of jemalloc, counts of stacks, and files that bring their symbols.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "formats/gperftools_writer.h"
#include "formats/jemalloc_heap.h"
#include "formats/legacy_count.h"
#include "formats/legacy_cpu.h"
#include "formats/read_profile.h"
#include "formats/symbolized.h"
#include "tests/unit/formats/profile_text.h"

namespace plimsoll::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(JemallocHeap, IsOfAllThreadsAndScaled) {
  const auto profile = read_jemalloc_heap(
      "heap_v2/524288\n"
      "  t*: 3: 1572864 [0: 0]\n"
      "  t0: 2: 1048576 [0: 0]\n"
      "@ 0x401001 0x402001\n"
      "  t*: 2: 1048576 [0: 0]\n"
      "  t0: 2: 1048576 [0: 0]\n"
      "@ 0x401101 0x402001\n"
      "  t*: 1: 524288 [0: 0]\n"
      "\n"
      "MAPPED_LIBRARIES:\n"
      "00400000-00480000 r-xp 00000000 08:01 1234 /srv/server\n");
  EXPECT_EQ(types_of(profile), "inuse_objects/count inuse_space/bytes");
  // Each object of as many bytes as the sampling interval stands for 1 / (1 - 1/e).
  EXPECT_EQ(text_of(profile),
            "3 1658822: 0x401000@/srv/server 0x402000@/srv/server\n"
            "1 829411: 0x401100@/srv/server 0x402000@/srv/server\n");
  EXPECT_EQ(profile->period, 524'288);
}

TEST(JemallocHeap, TellsWhatWasAllocatedWhereItWasCounted) {
  const auto profile = read_jemalloc_heap("heap_v2/1\n  t*: 1: 10 [3: 30]\n@ 0x11\n  t*: 1: 10 [3: 30]\n");
  EXPECT_EQ(types_of(profile), "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes");
  EXPECT_EQ(text_of(profile), "3 30 1 10: 0x10\n");
}

TEST(JemallocHeap, WhatIsWrongIsSaidWithItsLine) {
  for (const char* body :
       {"x\n", "  t*: 1: 10\n", "  t*: 1: 10 [0: 0]\n@ 0xzz\n", "  t*: 1: 10 [0: 0]\nx\n"}) {
    const auto profile = read_jemalloc_heap(std::string("heap_v2/524288\n") + body);
    ASSERT_FALSE(profile) << body;
    EXPECT_THAT(profile.error().message, HasSubstr("line ")) << body;
  }
}

TEST(LegacyCount, CountsGoroutines) {
  const auto profile = read_legacy_count(
      "goroutine profile: total 7\n"
      "5 @ 0x401001 0x402001\n"
      "#\t0x401000\tmain.work+0x1f\t/src/main.go:7\n\n"
      "2 @ 0x401101\n");
  EXPECT_EQ(types_of(profile), "goroutine/count");
  EXPECT_EQ(text_of(profile), "5: 0x401000 0x402000\n2: 0x401100\n");
}

TEST(LegacyCount, TakesProfilesOfAProgramsOwn) {
  EXPECT_EQ(types_of(read_legacy_count("sessions profile: total 0\n")), "sessions/count");
  EXPECT_FALSE(looks_like_legacy_count("heap profile: 2: 2048 [2: 2048] @ heap_v2/524288\n"));
  EXPECT_FALSE(looks_like_legacy_count("a profile: total many\n"));
}

// Words of a file, narrow or wide.
template <typename Word>
std::string cpu_file(std::initializer_list<Word> words, std::string_view maps = "") {
  std::string bytes;
  for (const Word word : words) {
    const auto parts = std::bit_cast<std::array<char, sizeof(Word)>>(word);
    bytes.append(parts.data(), parts.size());
  }
  return bytes.append(maps);
}

constexpr std::string_view kMaps = "00400000-00480000 r-xp 00000000 08:01 1234 /srv/server\n";

TEST(LegacyCpu, LeavesAreWhereTheProgramWasAndCallersWhereTheyReturnTo) {
  const std::string wide =
      cpu_file<uint64_t>({0, 3, 0, 10'000, 0, 7, 2, 0x401000, 0x402001, 3, 1, 0x402000, 0, 1, 0}, kMaps);
  const std::string narrow =
      cpu_file<uint32_t>({0, 3, 0, 10'000, 0, 7, 2, 0x401000, 0x402001, 3, 1, 0x402000, 0, 1, 0}, kMaps);
  for (const std::string& file : {wide, narrow}) {
    const auto profile = read_legacy_cpu(as_bytes(file));
    EXPECT_EQ(types_of(profile), "samples/count cpu/nanoseconds");
    EXPECT_EQ(text_of(profile),
              "7 70000000: 0x401000@/srv/server 0x402000@/srv/server\n"
              "3 30000000: 0x402000@/srv/server\n");
    EXPECT_EQ(profile->period, 10'000'000);
  }
}

// Once from the signal's context and once from unwinding.
TEST(LegacyCpu, ALeafThatStandsTwiceCountsOnce) {
  const std::string file =
      cpu_file<uint64_t>({0, 3, 0, 10'000, 0, 1, 3, 0x401000, 0x401000, 0x402001, 0, 1, 0});
  EXPECT_EQ(text_of(read_legacy_cpu(as_bytes(file))), "1 10000000: 0x401000 0x402000\n");
}

TEST(LegacyCpu, FilesThatAreCutOffAreRefused) {
  const std::string file = cpu_file<uint64_t>({0, 3, 0, 10'000, 0, 7, 2, 0x401000, 0x402001, 0, 1, 0});
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_FALSE(read_legacy_cpu(as_bytes(file).first(length))) << length;
  }
}

TEST(Symbolized, LocationsHaveTheNamesThatStandBeforeTheProfile) {
  const auto profile = read_symbolized(as_bytes(
      "--- symbol\nbinary=/srv/server\n0x0000000000000001 main\n0x0000000000000002 load--read(int)\n---\n"
      "--- heap\n"
      "heap profile:      2:     2048 [     2:     2048] @ heapprofile\n"
      "     2:     2048 [     2:     2048] @ 0x0000000000000002 0x0000000000000001\n\n"));
  ASSERT_TRUE(profile) << profile.error().text();
  std::vector<std::string> names;
  for (const Location& location : profile->locations) {
    for (uint32_t i = 0; i < location.frame_count; ++i) {
      names.push_back(
          profile->texts[profile->functions[profile->frames[location.first_frame + i].function].name]);
    }
  }
  EXPECT_THAT(names, ::testing::ElementsAre("read(int)", "load", "main"));
  ASSERT_EQ(profile->mappings.size(), 1);
  EXPECT_EQ(profile->mappings[0].path, "/srv/server");
}

TEST(Symbolized, WhatOurOwnWriterWritesIsRead) {
  GperftoolsWriter writer(1 << 20);
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>{"parse", "main"}, 7));
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>{"main"}, 2));
  const std::string file = writer.finish("server");
  const auto profile = read_profile(as_bytes(file));
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->samples.size(), 2);
  EXPECT_EQ(profile->samples.values(0)[0], 7);
  const Location& leaf = profile->locations[profile->samples.stack(0)[0]];
  EXPECT_EQ(profile->texts[profile->functions[profile->frames[leaf.first_frame].function].name], "parse");
}

TEST(ReadProfile, TextOfNoKnownFormatIsNotTakenForProtobuf) {
  const auto profile = read_profile(as_bytes("\nhello\n"));
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().text(),
              AllOf(HasSubstr("unknown profile format"), HasSubstr("jemalloc"), Not(HasSubstr("malformed"))));
}

}  // namespace
}  // namespace plimsoll::formats
