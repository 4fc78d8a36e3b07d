#include "formats/pprof_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <random>

#include "tests/gunzip.h"

namespace plimsoll::formats {
namespace {

using ::testing::ElementsAre;

// What is wrong with a message's references, as a strict reader would say; empty: nothing.
std::string first_problem(const pprof::Profile& profile) {
  const auto is_text = [&](int64_t index) { return index >= 0 && index < profile.string_table_size(); };
  if (profile.string_table_size() == 0 || !profile.string_table(0).empty()) {
    return "the first string is not empty";
  }
  for (int i = 0; i < profile.mapping_size(); ++i) {
    const auto& mapping = profile.mapping(i);
    const bool is_good = mapping.id() == i + 1 && mapping.memory_start() < mapping.memory_limit() &&
                         is_text(mapping.filename()) && is_text(mapping.build_id()) &&
                         (i == 0 || profile.mapping(i - 1).memory_limit() <= mapping.memory_start());
    if (!is_good) {
      return fmt::format("mapping {}", i);
    }
  }
  for (int i = 0; i < profile.function_size(); ++i) {
    const auto& function = profile.function(i);
    if (function.id() != i + 1 || !is_text(function.name()) || !is_text(function.filename())) {
      return fmt::format("function {}", i);
    }
  }
  for (int i = 0; i < profile.location_size(); ++i) {
    const auto& location = profile.location(i);
    bool is_good = location.id() == i + 1 && location.mapping_id() <= profile.mapping_size();
    if (is_good && location.mapping_id() != 0) {
      const auto& mapping = profile.mapping(static_cast<int>(location.mapping_id()) - 1);
      is_good = location.address() >= mapping.memory_start() && location.address() < mapping.memory_limit();
    }
    for (const auto& line : location.line()) {
      is_good &= line.function_id() >= 1 && line.function_id() <= profile.function_size();
    }
    if (!is_good) {
      return fmt::format("location {}", i);
    }
  }
  for (int i = 0; i < profile.sample_size(); ++i) {
    const auto& sample = profile.sample(i);
    bool is_good = sample.value_size() == profile.sample_type_size();
    for (const uint64_t location : sample.location_id()) {
      is_good &= location >= 1 && location <= profile.location_size();
    }
    for (const auto& label : sample.label()) {
      is_good &= is_text(label.key()) && is_text(label.str());
    }
    if (!is_good) {
      return fmt::format("sample {}", i);
    }
  }
  return {};
}

constexpr int64_t kOneValue[] = {1};

pprof::Profile finished(PprofWriter& writer) {
  const auto encoded = writer.finish();
  EXPECT_TRUE(encoded) << encoded.error().text();
  pprof::Profile profile;
  EXPECT_TRUE(encoded && profile.ParseFromString(testing::gunzip(*encoded)));
  return profile;
}

TEST(PprofWriter, ClonesOfOneNameAreFunctionsOfTheirOwn) {
  PprofWriter writer;
  writer.add_sample_type("cycles", "count");
  const std::vector<PprofLine> lines{{"parse()", "a.cc", 3, "_Z5parsev"},
                                     {"parse()", "a.cc", 4, "_Z5parsev.cold"},
                                     {"parse()", "a.cc", 5, "_Z5parsev"},
                                     {"main", "a.cc", 9, "main"},
                                     {"run", "a.cc", 9}};
  writer.add_location(writer.add_mapping({"/usr/bin/app", "abcd"}), 0x1234, lines);
  const pprof::Profile profile = finished(writer);
  std::vector<std::string> functions;
  for (const pprof::Function& function : profile.function()) {
    functions.push_back(profile.string_table(static_cast<int>(function.name())) + " = " +
                        profile.string_table(static_cast<int>(function.system_name())));
  }
  EXPECT_THAT(functions, ElementsAre("parse() = _Z5parsev", "parse() = _Z5parsev.cold", "main = ", "run = "));
}

TEST(PprofWriter, InternsTextsAndFunctions) {
  PprofWriter writer;
  writer.add_sample_type("cycles", "count");
  const uint64_t mapping = writer.add_mapping({"/usr/bin/app", "abcd"});
  const std::vector<PprofLine> inlined{{"inner", "a.h", 3}, {"outer", "a.cc", 7}};
  const uint64_t leaf = writer.add_location(mapping, 0x1234, inlined);
  const uint64_t caller = writer.add_location(mapping, 0x1300, std::vector<PprofLine>{{"outer", "a.cc", 9}});
  const std::vector<std::pair<std::string_view, std::string_view>> labels{{"app", "app"}};
  ASSERT_TRUE(writer.add_sample(std::vector{leaf, caller}, kOneValue, labels));
  const pprof::Profile profile = finished(writer);
  EXPECT_EQ(first_problem(profile), "");
  EXPECT_THAT(profile.string_table(), ElementsAre("", "cycles", "count", "/usr/bin/app", "abcd", "inner",
                                                  "a.h", "outer", "a.cc", "app"));
  ASSERT_EQ(profile.function_size(), 2);
  ASSERT_EQ(profile.location(0).line_size(), 2);
  EXPECT_EQ(profile.location(0).line(1).function_id(), profile.location(1).line(0).function_id());
  EXPECT_EQ(profile.location(0).line(1).line(), 7);
}

TEST(PprofWriter, GivesEachMappingItsOwnRangeAndKeepsLowAddressBits) {
  PprofWriter writer;
  const uint64_t first = writer.add_mapping({"a", ""});
  const uint64_t second = writer.add_mapping({"b", ""});
  writer.add_location(first, 0x401234, {});
  writer.add_location(first, 0x40ffff, {});
  writer.add_location(second, 0x401234, {});
  writer.add_location(0, 0x99, {});
  const pprof::Profile profile = finished(writer);
  EXPECT_EQ(first_problem(profile), "");
  EXPECT_EQ(profile.mapping(0).memory_start(), 0x100401000);
  EXPECT_EQ(profile.mapping(0).memory_limit(), 0x100410000);
  EXPECT_EQ(profile.mapping(0).file_offset(), 0x401000);
  EXPECT_EQ(profile.location(0).address(), 0x100401234);
  EXPECT_EQ(profile.location(2).address(), 0x200401234);
  EXPECT_EQ(profile.location(3).address(), 0x99);
}

TEST(PprofWriter, SaysOnlyWhatAllLocationsOfAMappingHave) {
  const std::vector<PprofLine> full{{"f", "f.cc", 1}};
  const std::vector<PprofLine> no_line{{"f", "f.cc", 0}};
  const std::vector<PprofLine> no_file{{"f", "", 0}};
  const auto flags = [](const std::vector<std::vector<PprofLine>>& locations) {
    PprofWriter writer;
    const uint64_t mapping = writer.add_mapping({"a", ""});
    for (const auto& lines : locations) {
      writer.add_location(mapping, 0x1000, lines);
    }
    const pprof::Profile profile = finished(writer);
    const auto& added = profile.mapping(0);
    return fmt::format("{:d}{:d}{:d}{:d}", added.has_functions(), added.has_filenames(),
                       added.has_line_numbers(), added.has_inline_frames());
  };
  EXPECT_EQ(flags({full}), "1111");
  EXPECT_EQ(flags({full, no_line}), "1100");
  EXPECT_EQ(flags({full, no_file}), "1000");
  EXPECT_EQ(flags({full, {}}), "0000");
}

TEST(PprofWriter, AddressesThatSpanTooMuchStayWithoutAMapping) {
  PprofWriter writer;
  const uint64_t damaged = writer.add_mapping({"damaged", ""});
  const uint64_t sound = writer.add_mapping({"sound", ""});
  writer.add_location(damaged, 0, {});
  writer.add_location(damaged, UINT64_MAX, {});
  writer.add_location(sound, 0x1000, {});
  const pprof::Profile profile = finished(writer);
  EXPECT_EQ(profile.location(1).mapping_id(), 0);
  EXPECT_EQ(profile.location(1).address(), UINT64_MAX);
  EXPECT_EQ(profile.location(2).mapping_id(), sound);
  EXPECT_GE(profile.location(2).address(), profile.mapping(1).memory_start());
}

TEST(PprofWriter, EveryReferenceHoldsInRandomProfiles) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    PprofWriter writer;
    writer.add_sample_type("cycles", "count");
    const uint64_t mappings = 1 + random() % 5;
    for (uint64_t i = 0; i < mappings; ++i) {
      writer.add_mapping({fmt::format("/bin/{}", i), fmt::format("{:x}", i)});
    }
    std::vector<uint64_t> locations;
    for (int i = 0; i < 30; ++i) {
      std::vector<PprofLine> lines(random() % 3);
      for (PprofLine& line : lines) {
        line = {fmt::format("f{}", random() % 9), fmt::format("{}.cc", random() % 2),
                static_cast<int64_t>(random() % 3)};
      }
      const uint64_t address = random() >> (random() % 2 == 0 ? 20U : 44U);
      locations.push_back(writer.add_location(1 + random() % mappings, address, lines));
    }
    for (int i = 0; i < 20; ++i) {
      const std::vector stack{locations[random() % 30], locations[random() % 30]};
      ASSERT_TRUE(writer.add_sample(stack, kOneValue, {}));
    }
    const pprof::Profile profile = finished(writer);
    ASSERT_EQ(first_problem(profile), "") << "seed " << seed;
  }
}

TEST(PprofWriter, EncodesAsGzipWithoutATime) {
  PprofWriter writer;
  writer.add_sample_type("cycles", "count");
  const auto encoded = writer.finish();
  ASSERT_TRUE(encoded) << encoded.error().text();
  EXPECT_EQ(encoded->substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(encoded->substr(4, 4), std::string(4, '\0')) << "the time in gzip's header";
}

// As messages they take 600 bytes each: 60 MB.
TEST(PprofWriter, KeepsSamplesCompressed) {
  constexpr int kSamples = 100'000;
  PprofWriter writer;
  writer.add_sample_type("cycles", "count");
  std::vector<uint64_t> stack;
  const uint64_t mapping = writer.add_mapping({"/usr/bin/app", "abcd"});
  for (uint64_t i = 0; i < 40; ++i) {
    stack.push_back(writer.add_location(mapping, 0x1000 + 16 * i, std::vector<PprofLine>{{"f", "f.cc", 3}}));
  }
  const std::vector<std::pair<std::string_view, std::string_view>> labels{{"app", "app"}, {"job", "job"}};
  const struct mallinfo2 before = ::mallinfo2();
  for (int i = 0; i < kSamples; ++i) {
    ASSERT_TRUE(writer.add_sample(stack, kOneValue, labels));
  }
  const struct mallinfo2 after = ::mallinfo2();
  EXPECT_LT(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + (size_t{8} << 20));
  const pprof::Profile profile = finished(writer);
  EXPECT_EQ(first_problem(profile), "");
  EXPECT_EQ(profile.sample_size(), kSamples);
  EXPECT_EQ(profile.location_size(), 40);
}

// A location takes a byte in the message.
TEST(PprofWriter, RefusesMoreBytesThanItMayWrite) {
  PprofWriter writer(1 << 20);
  writer.add_sample_type("cycles", "count");
  const std::vector<uint64_t> stack(100'000, writer.add_location(0, 0x1000, {}));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(writer.add_sample(stack, kOneValue, {}));
  }
  const Status eleventh = writer.add_sample(stack, kOneValue, {});
  ASSERT_FALSE(eleventh);
  EXPECT_THAT(eleventh.error().text(), ::testing::HasSubstr("the pprof profile has over 1048576 bytes"));
}

}  // namespace
}  // namespace plimsoll::formats
