#include "formats/legacy_java.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "base/file.h"
#include "formats/decompress.h"
#include "formats/import_profile.h"
#include "formats/pprof_reader.h"
#include "formats/read_profile.h"
#include "tests/temporary_directory.h"
#include "tests/unit/formats/profile_text.h"

namespace plimsoll::formats {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kJavaHeap =
    "--- heapz 1 ---\n"
    "format = java\n"
    "resolution = bytes\n"
    "       7048         1 @ 0x0000000d 0x00000019\n"
    "    4752296        17 @ 0x0000000d 0x0000001a 0x0000001b 0x0000001c\n"
    "    1048576         1 @ 0x0000001d 0x00000019\n"
    "    1048576         1 @ 0x0000001d 0x00000019\n"
    "\n"
    "      0x0000000d com.example.Cache.fill (Cache.java:31)\n"
    "      0x00000019 com.example.Main.<init> (Main.java:-1)\n"
    "      0x0000001a read (/usr/lib/jvm/libnio.so)\n"
    "      0x0000001b generated stub/JIT\n"
    "      0x0000001c GC\n"
    "      0x0000001d com.example.Cache.fill (Cache.java:40)\n"
    "      0x000000ff com.example.Unused.of (Unused.java:1)\n";

constexpr std::string_view kJavaContention =
    "--- contentionz 1 ---\n"
    "format = java\n"
    "resolution = microseconds\n"
    "sampling period = 100\n"
    "ms since reset = 6019923\n"
    "            1     1 @ 0x00000003 0x00000004\n"
    "           14     2 @ 0x0000000d 0x00000004\n"
    "            0     3 @ 0x00000004\n"
    "      0x00000003 com.example.Lock.take (Lock.java:03)\n"
    "      0x00000004 com.example.Main.run (Main.java:12)\n"
    "      0x0000000d com.example.Queue.poll (Unknown Source)\n";

TEST(LegacyJava, BytesAreSamplesOfEvery512KiB) {
  const auto profile = read_legacy_java(kJavaHeap);
  EXPECT_EQ(types_of(profile), "inuse_objects/count inuse_space/bytes");
  // 7048 / (1 - exp(-7048/524288)) = 527819.9; 17 objects and their bytes, divided by
  // 1 - exp(-4752296/17/524288), are 41.1 and 11499207.8.
  EXPECT_EQ(text_of(profile),
            "74 527819: com.example.Cache.fill@Cache.java:31 com.example.Main.<init>@Main.java:0\n"
            "41 11499207: com.example.Cache.fill@Cache.java:31 read@libnio.so:0 STUB@:0 GC@:0\n"
            "1 1212696: com.example.Cache.fill@Cache.java:40 com.example.Main.<init>@Main.java:0\n"
            "1 1212696: com.example.Cache.fill@Cache.java:40 com.example.Main.<init>@Main.java:0\n");
  EXPECT_EQ(profile->period_type, (ValueType{"space", "bytes"}));
  EXPECT_EQ(profile->period, 524'288);
}

TEST(LegacyJava, DelaysAndContentionsAreMultipliedByTheSamplingPeriod) {
  const auto profile = read_legacy_java(kJavaContention);
  EXPECT_EQ(types_of(profile), "contentions/count delay/microseconds");
  EXPECT_EQ(text_of(profile),
            "100 100: com.example.Lock.take@Lock.java:3 com.example.Main.run@Main.java:12\n"
            "200 1400: com.example.Queue.poll@Unknown Source:0 com.example.Main.run@Main.java:12\n"
            "300 0: com.example.Main.run@Main.java:12\n");
  EXPECT_EQ(profile->duration_ns, 6'019'923'000'000);
  EXPECT_EQ(profile->period, 100);
}

TEST(LegacyJava, WithoutASamplingPeriodValuesStayAsTheyAre) {
  for (const char* period : {"", "sampling period = 0\n"}) {
    EXPECT_EQ(text_of(read_legacy_java("--- contentionz 1 ---\nresolution = milliseconds\n" +
                                       std::string(period) + "14 2 @ 0x1\n0x1 f (F.java:7)\n")),
              "2 14: f@F.java:7\n");
  }
}

// What C++ programs write begins with the same line.
TEST(LegacyJava, ContentionIsOfJavaWhereTheHeaderHasAFormatOrAResolution) {
  EXPECT_TRUE(looks_like_legacy_java(kJavaHeap));
  EXPECT_TRUE(looks_like_legacy_java(kJavaContention));
  EXPECT_TRUE(looks_like_legacy_java("--- contentionz 1 ---\nsampling period = 1\n\nresolution = seconds\n"));
  EXPECT_FALSE(
      looks_like_legacy_java("--- contentionz 1 ---\nsampling period = 1\n14 2 @ 0x1\nformat = java\n"));
  EXPECT_FALSE(looks_like_legacy_java("--- contentionz 1 ---\ncycles/second = 1000\n"));
  EXPECT_FALSE(looks_like_legacy_java("--- contention:\nformat = java\n"));
  EXPECT_FALSE(looks_like_legacy_java("heap profile: 1: 1 [1: 1] @ heap_v2/1\n"));
  EXPECT_EQ(
      text_of(read_profile(as_bytes("--- contentionz 1 ---\ncycles/second = 1000000000\n80 2 @ 0x11\n"))),
      "2 80: 0x10\n");
}

TEST(LegacyJava, ImportKnowsItsEvents) {
  const auto heap = import_profile(as_bytes(kJavaHeap), {.file_name = "heapz", .modified_ns = 1});
  ASSERT_TRUE(heap) << heap.error().text();
  EXPECT_EQ(heap->events(0).name(), "heap-inuse-objects");
  EXPECT_EQ(heap->events(0).counter_total(), 74 + 41 + 1 + 1);
  EXPECT_EQ(heap->events(1).name(), "heap-inuse-bytes");
  EXPECT_EQ(heap->events(1).counter_total(), 527'819 + 11'499'207 + 2 * 1'212'696);
  const auto waits =
      import_profile(as_bytes(kJavaContention), {.file_name = "contentionz", .modified_ns = 1});
  ASSERT_TRUE(waits) << waits.error().text();
  EXPECT_EQ(waits->events(0).name(), "lock-contentions");
  EXPECT_EQ(waits->events(0).counter_total(), 600);
  EXPECT_EQ(waits->events(1).name(), "lock-wait-ns");
  EXPECT_EQ(waits->events(1).counter_total(), 1'500'000);
}

// Of the first line of names on.
std::string names_of(const std::string& names) {
  return text_of(read_legacy_java("--- contentionz 1 ---\nresolution = seconds\n7 1 @ 0x1 0x2\n" + names));
}

TEST(LegacyJava, AddressesWithoutANameKeepTheirNumber) {
  EXPECT_EQ(names_of(""), "1 7: 0x1 0x2\n");
  EXPECT_EQ(names_of("0x2 f (F.java:7)\n0x1\n"), "1 7: 0x1 f@F.java:7\n");
}

// The daemon takes differences stack by stack: the next text may number the same function otherwise.
TEST(LegacyJava, NumbersAreForgottenWhereThereIsAName) {
  const auto profile =
      read_legacy_java("--- contentionz 1 ---\nresolution = seconds\n7 1 @ 0x1 0x2\n0x1 f\n");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->locations[0].address, 0);
  EXPECT_EQ(profile->locations[1].address, 2);
}

TEST(LegacyJava, NamesAndPlacesMayHaveParenthesesAndColons) {
  EXPECT_EQ(names_of("0x1 (unknown)\n0x2 f(int, long) (F.java:7)\n"),
            "1 7: (unknown)@:0 f(int, long)@F.java:7\n");
  EXPECT_EQ(names_of("0x1 f (C:\\F.java:7)\n0x2 g (a:b)\n"), "1 7: f@C:\\F.java:7 g@a:b:0\n");
  EXPECT_EQ(names_of("0x1 f (:7)\n0x2 g\t(dir c(d:3)\r\n"), "1 7: f@:7:0 g@dir c(d:3\n");
}

TEST(LegacyJava, LinesThatAreNoneAreNotKnown) {
  EXPECT_EQ(names_of("0x1 f (F.java:-2)\n0x2 g (G.java:99999999999)\n"), "1 7: f@F.java:0 g@G.java:0\n");
}

TEST(LegacyJava, OfTwoNamesOfAnAddressTheLastCounts) {
  EXPECT_EQ(names_of("0x1 f (F.java:7)\n0x2 g\n0x1 h (H.java:8)\n"), "1 7: h@H.java:8 g@:0\n");
}

TEST(LegacyJava, OtherLinesBetweenNamesArePassedOver) {
  EXPECT_EQ(names_of("0x1 f\n# me@example.com\nthread 7\n0x2 g\n"), "1 7: f@:0 g@:0\n");
}

TEST(LegacyJava, WhatIsWrongIsSaidWithItsLine) {
  const std::string heap = "--- heapz 1 ---\nformat = java\nresolution = bytes\n";
  const std::string waits = "--- contentionz 1 ---\nformat = java\nresolution = microseconds\n";
  for (const auto& [text, line] : std::vector<std::pair<std::string, int>>{
           {"--- heapz 2 ---\n", 1},
           {"--- heapz 1 ---\nformat = go\n", 2},
           {"--- heapz 1 ---\nresolution = microseconds\n", 2},
           {"--- heapz 1 ---\nsampling period = 1\n", 2},
           {"--- heapz 1 ---\nformat = java\n7 1 @ 0x1\n", 3},  // no resolution
           {"--- contentionz 1 ---\nresolution = bytes\n", 2},
           {waits + "sampling period = -1\n", 4},
           {waits + "sampling period = x\n", 4},
           {waits + "ms since reset = 1 2\n", 4},
           {waits + "cycles/second = 7\n", 4},
           {waits + "7 1\n", 4},
           {waits + "7 @ 0x1\n", 4},
           {waits + "-7 1 @ 0x1\n", 4},
           {waits + "7 -1 @ 0x1\n", 4},
           {waits + "7 1 @ 1\n", 4},
           {waits + "7 1 @ 0x1\n\nx\n", 6},
           {waits + "7 1 @ 0x1\n0x1 f\n7 1 @ 0x1\n", 6},
           {waits + "7 1 @ 0x1\n0xg f\n", 5},
           {waits + "7 1 @ 0x1\n0x12345678123456781 f\n", 5},
           {waits + "sampling period = 9000000000000000000\n7 2 @ 0x1\n", 5},
           {heap + "7 0 @ 0x1\n", 4},
           {heap + "9000000000000000000 9000000000000000000 @ 0x1\n", 4}}) {
    const auto profile = read_legacy_java(text);
    ASSERT_FALSE(profile) << text;
    EXPECT_EQ(profile.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(profile.error().message, HasSubstr("line " + std::to_string(line))) << text;
  }
}

TEST(LegacyJava, RowsAndNamesAreBounded) {
  const auto code_with = [](const Limits& limits) {
    const auto profile = read_legacy_java(kJavaHeap, limits);
    return profile ? "read"
                   : std::string(profile.error().code == ErrorCode::kTooLarge ? "too large" : "wrong");
  };
  EXPECT_EQ(code_with({.max_entries = 9, .max_stack_entries = 10}), "read");
  EXPECT_EQ(code_with({.max_entries = 3}), "too large");  // rows
  EXPECT_EQ(code_with({.max_entries = 8}), "too large");  // names
  EXPECT_EQ(code_with({.max_stack_entries = 9}), "too large");
}

// Of all sizes, on stacks of a few functions.
std::string random_java_text(bool is_heap) {
  std::mt19937_64 random(38);
  std::string text = is_heap ? "--- heapz 1 ---\nformat = java\nresolution = bytes\n"
                             : "--- contentionz 1 ---\nformat = java\nresolution = nanoseconds\n"
                               "sampling period = 7\nms since reset = 12\n";
  constexpr uint64_t kFunctions = 20;
  for (int row = 0; row < 300; ++row) {
    const uint64_t count = 1 + random() % 1000;
    text += fmt::format("{:>12} {:>8} @", count * (random() >> (40 + random() % 24)), count);
    for (uint64_t depth = 1 + random() % 12; depth > 0; --depth) {
      text += fmt::format(" 0x{:08x}", 1 + random() % kFunctions);
    }
    text += "\n";
  }
  for (uint64_t function = 1; function <= kFunctions; ++function) {
    text += fmt::format("  0x{:08x} com.example.Class{}.method (Class{}.java:{})\n", function, function,
                        function, function * 10);
  }
  return text;
}

// The values of every type by the names of a stack's functions, with files and lines. Without rows of nothing: pprof
// leaves them out.
std::map<std::string, std::vector<int64_t>> values_by_names(const ApplicationProfile& profile) {
  std::map<std::string, std::vector<int64_t>> values;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    std::string names;
    for (const uint32_t index : profile.samples.stack(i)) {
      const Location& location = profile.locations[index];
      const Frame frame = location.frame_count == 0 ? Frame() : profile.frames.at(location.first_frame);
      const Function& function = profile.functions.at(frame.function);
      names +=
          fmt::format("{}@{}:{} ", profile.texts[function.name], profile.texts[function.file], frame.line);
    }
    auto& sums = values[names];
    sums.resize(profile.types.size());
    for (size_t type = 0; type < sums.size(); ++type) {
      sums[type] += profile.samples.values(i)[type];
    }
  }
  std::erase_if(values,
                [](const auto& row) { return std::ranges::count(row.second, 0) == std::ssize(row.second); });
  return values;
}

// What `go tool pprof` makes of a text, written in its own format.
Result<ApplicationProfile> by_pprof(std::string_view text) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string input = folder / "profile.txt";
  const std::string output = folder / "profile.pb.gz";
  std::ofstream(input) << text;
  const std::string command = "HOME=" + folder.path() + " PPROF_TMPDIR=" + folder.path() +
                              " go tool pprof -symbolize=none -proto -output=" + output + " " + input + " >" +
                              (folder / "log") + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder / "log", 1 << 16).value_or("");
  const auto compressed = read_file(output, 1 << 20);
  const auto content = compressed ? decompress(as_bytes(*compressed), 1 << 26) : propagate(compressed);
  return content ? read_pprof(as_bytes(*content)) : propagate(content);
}

TEST(LegacyJava, HasTheValuesThatPprofReads) {
  if (std::system("go version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "go is not installed";
  }
  for (const std::string& text : {std::string(kJavaHeap), std::string(kJavaContention),
                                  random_java_text(true), random_java_text(false)}) {
    const auto ours = read_legacy_java(text);
    const auto theirs = by_pprof(text);
    ASSERT_TRUE(ours) << ours.error().text();
    ASSERT_TRUE(theirs) << theirs.error().text();
    ASSERT_EQ(ours->types.size(), theirs->types.size());
    for (size_t type = 0; type < ours->types.size(); ++type) {
      EXPECT_EQ(ours->types[type].type, theirs->types[type].type);
    }
    const auto our_values = values_by_names(*ours);
    const auto their_values = values_by_names(*theirs);
    EXPECT_EQ(our_values.size(), their_values.size());
    for (const auto& [names, values] : our_values) {
      const auto same = their_values.find(names);
      ASSERT_NE(same, their_values.end()) << names << values[0] << " " << values[1];
      EXPECT_EQ(values, same->second) << names;
    }
    EXPECT_EQ(ours->duration_ns, theirs->duration_ns);
  }
}

}  // namespace
}  // namespace plimsoll::formats
