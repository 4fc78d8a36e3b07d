#include "formats/maps_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::formats {
namespace {

using ::testing::SizeIs;

std::string brief(const std::vector<Mapping>& mappings) {
  std::string text;
  for (const Mapping& mapping : mappings) {
    text += fmt::format("{:x}-{:x} {:x} {} {}\n", mapping.start, mapping.end, mapping.file_offset,
                        mapping.path, mapping.build_id.size());
  }
  return text;
}

TEST(MapsText, ReadsWhatTheKernelWrites) {
  EXPECT_EQ(brief(parse_maps_text("55d0a000-55d0c000 r-xp 00001000 fe:01 1234    /usr/bin/my job\n"
                                  "55d0c000-55d0d000 rw-p 00003000 fe:01 1234    /usr/bin/my job\n"
                                  "7f00-7f10 r-xp 00000000 fe:01 9 /lib/old.so (deleted)\n"
                                  "7ff0-7fff r-xp 00000000 00:00 0                          [vdso]\n"
                                  "8000-9000 r-xp 00000000 00:00 0 \n",
                                  100)),
            "55d0a000-55d0c000 1000 /usr/bin/my job 0\n"
            "7f00-7f10 0 /lib/old.so 0\n"
            "7ff0-7fff 0 [vdso] 0\n"
            "8000-9000 0  0\n");
}

TEST(MapsText, ReadsTheShortForms) {
  EXPECT_EQ(brief(parse_maps_text("  0x40000-0x80000 /path/to/binary (@ff00) abc123456789abcd\n"
                                  "  00400000-00fcb000: server\n"
                                  "  90000-a0000\n",
                                  100)),
            "40000-80000 ff00 /path/to/binary 8\n"
            "400000-fcb000 0 server 0\n"
            "90000-a0000 0  0\n");
}

TEST(MapsText, AVariableStandsForAPath) {
  EXPECT_EQ(brief(parse_maps_text("build=/srv/release\n"
                                  "40000-80000 r-xp 0 00:00 1 $build/server\n"
                                  "80000-90000: $unknown/x\n",
                                  100)),
            "40000-80000 0 /srv/release/server 0\n"
            "80000-90000 0 $unknown/x 0\n");
}

TEST(MapsText, LeavesOutOtherLines) {
  EXPECT_THAT(parse_maps_text("\n# comment\nnonsense\n9-8: backwards\n-1-2: x\n1-: x\n", 100), SizeIs(0));
  EXPECT_THAT(parse_maps_text("1-2: a\n2-3: b\n3-4: c\n", 2), SizeIs(2));
}

TEST(MappingIndex, FindsTheMappingOfAnAddress) {
  const std::vector<Mapping> mappings{{.start = 0x1000, .end = 0x2000}, {.start = 0x3000, .end = 0x4000}};
  const MappingIndex index(mappings);
  EXPECT_EQ(index.find(0xfff), 0);
  EXPECT_EQ(index.find(0x1000), 1);
  EXPECT_EQ(index.find(0x1fff), 1);
  EXPECT_EQ(index.find(0x2000), 0);
  EXPECT_EQ(index.find(0x3800), 2);
  EXPECT_EQ(index.find(UINT64_MAX), 0);
}

TEST(MappingIndex, AFileThatIsPartlyListedCoversItsStart) {
  const std::vector<Mapping> mappings{{.start = 0x5000, .end = 0x6000, .file_offset = 0x2000},
                                      {.start = 0x3800, .end = 0x4000}};
  const MappingIndex index(mappings);
  EXPECT_EQ(index.find(0x3000), 1);
  EXPECT_EQ(index.find(0x3900), 2) << "what is listed goes before";
  EXPECT_EQ(index.find(0x4800), 1);
  EXPECT_EQ(index.find(0x2fff), 0);
}

TEST(MappingIndex, OfOverlappingMappingsTheFirstWins) {
  const std::vector<Mapping> mappings{{.start = 0x1000, .end = 0x3000}, {.start = 0x2000, .end = 0x4000}};
  EXPECT_EQ(MappingIndex(mappings).find(0x2800), 1);
  EXPECT_EQ(MappingIndex(mappings).find(0x3800), 2);
}

}  // namespace
}  // namespace plimsoll::formats
