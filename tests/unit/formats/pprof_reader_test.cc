#include "formats/pprof_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "formats/read_profile.h"
#include "tests/unit/formats/compressed.h"
#include "tests/unit/formats/pprof_message.h"
#include "tests/unit/formats/profile_text.h"

namespace plimsoll::formats {
namespace {

using ::testing::HasSubstr;

const std::string kHeapText =
    "3 300: 0x401234@/srv/server main@main.cc:12\n"
    "1 50: parse@parse.cc:7>main@main.cc:20\n";

TEST(PprofReader, ReadsSamplesWithTheirStacks) {
  const auto profile = read_pprof(as_bytes(pprof_heap().SerializeAsString()));
  EXPECT_EQ(types_of(profile), "inuse_objects/count inuse_space/bytes");
  EXPECT_EQ(text_of(profile), kHeapText);
  EXPECT_EQ(profile->time_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(profile->duration_ns, 5'000'000'000);
  EXPECT_EQ(profile->period, 524288);
  EXPECT_EQ(profile->period_type, (ValueType{"space", "bytes"}));
  EXPECT_EQ(profile->mappings.at(0).build_id, "\x3f\x4e\x1c\x7a\x9b\x0d\x3f\x4e");
}

TEST(PprofReader, ReadsItGzippedAsWell) {
  EXPECT_EQ(text_of(read_profile(as_bytes(gzipped(pprof_heap().SerializeAsString())))), kHeapText);
}

TEST(PprofReader, PartsMayComeInAnyOrder) {
  const pprof::Profile whole = pprof_heap();
  pprof::Profile samples;
  *samples.mutable_sample() = whole.sample();
  pprof::Profile rest = whole;
  rest.clear_sample();
  EXPECT_EQ(text_of(read_pprof(as_bytes(samples.SerializeAsString() + rest.SerializeAsString()))), kHeapText);
}

TEST(PprofReader, ValuesAreBoundedWhateverTheNumberOfTypes) {
  pprof::Profile profile;
  profile.add_string_table("");
  const auto result = [&profile] {
    return text_of(read_pprof(as_bytes(profile.SerializeAsString()), {.max_entries = 25}));
  };
  for (int type = 0; type < 25; ++type) {
    profile.add_sample_type();
  }
  for (int sample = 0; sample < 4; ++sample) {
    profile.add_sample()->mutable_value()->Resize(25, 1);
  }
  EXPECT_EQ(result().substr(0, 4), "1 1 ");
  profile.add_sample()->mutable_value()->Resize(25, 1);
  EXPECT_THAT(result(), HasSubstr("over 100 values"));
}

TEST(PprofReader, ALinkedNameStandsInForAMissingOne) {
  pprof::Profile profile = pprof_heap();
  profile.mutable_function(0)->set_system_name(text(profile, "_Z4mainv"));
  profile.mutable_function(0)->set_name(0);
  EXPECT_THAT(text_of(read_pprof(as_bytes(profile.SerializeAsString()))), HasSubstr("_Z4mainv@main.cc:12"));
}

TEST(PprofReader, NamesAreMadePrintable) {
  pprof::Profile profile = pprof_heap();
  std::string bytes = profile.SerializeAsString();
  bytes.replace(bytes.find("parse.cc"), 8,
                "par\xff"
                "e\ncc");
  EXPECT_THAT(text_of(read_pprof(as_bytes(bytes))), HasSubstr("parse@par?e?cc:7"));
}

TEST(PprofReader, ABuildIdThatIsNoHexadecimalNumberIsNone) {
  pprof::Profile profile = pprof_heap();
  profile.mutable_mapping(0)->set_build_id(text(profile, "go/abc/def"));
  const auto read = read_pprof(as_bytes(profile.SerializeAsString()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->mappings.at(0).build_id, "");
}

TEST(PprofReader, WhatPointsNowhereIsNamed) {
  struct Case {
    const char* field;
    std::function<void(pprof::Profile&)> damage;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"sample_type[1].unit", [](auto& p) { p.mutable_sample_type(1)->set_unit(1000); }},
           {"sample_type[0].type", [](auto& p) { p.mutable_sample_type(0)->set_type(-1); }},
           {"sample_type", [](auto& p) { p.clear_sample_type(); }},
           {"mapping[0].filename", [](auto& p) { p.mutable_mapping(0)->set_filename(1000); }},
           {"mapping[0].id", [](auto& p) { p.mutable_mapping(0)->set_id(0); }},
           {"function[1].name", [](auto& p) { p.mutable_function(1)->set_name(1000); }},
           {"function[1].id", [](auto& p) { p.mutable_function(1)->set_id(9'000'000'000); }},
           {"location[1].mapping_id", [](auto& p) { p.mutable_location(1)->set_mapping_id(71); }},
           {"location[1].line.function_id",
            [](auto& p) { p.mutable_location(1)->mutable_line(0)->set_function_id(6); }},
           {"location[2].id", [](auto& p) { p.mutable_location(1)->set_id(2); }},
           {"sample[0].location_id", [](auto& p) { p.mutable_sample(0)->set_location_id(0, 4); }},
           {"sample[0].value", [](auto& p) { p.mutable_sample(0)->add_value(1); }},
           {"period_type.unit", [](auto& p) { p.mutable_period_type()->set_unit(1000); }},
       }) {
    pprof::Profile profile = pprof_heap();
    c.damage(profile);
    const auto read = read_pprof(as_bytes(profile.SerializeAsString()));
    ASSERT_FALSE(read) << c.field;
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt) << c.field;
    EXPECT_THAT(read.error().field,
                HasSubstr(c.field == std::string("period_type.unit") ? "period_type" : c.field));
  }
}

TEST(PprofReader, MoreThanTheLimitsIsRefused) {
  const std::string bytes = pprof_heap().SerializeAsString();
  const auto code = [&](const Limits& limits) {
    const auto read = read_pprof(as_bytes(bytes), limits);
    return read ? "read" : name_of(read.error().code);
  };
  EXPECT_EQ(code({}), "read");
  const auto too_large = name_of(ErrorCode::kTooLarge);
  EXPECT_EQ(code({.max_encoded_bytes = bytes.size() - 1}), too_large);
  EXPECT_EQ(code({.max_entries = 2}), too_large);
  EXPECT_EQ(code({.max_stack_entries = 2}), too_large);
}

TEST(PprofReader, TruncatedMessagesAreRefused) {
  const std::string bytes = pprof_heap().SerializeAsString();
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    refused += read_pprof(as_bytes(bytes.substr(0, size))) ? 0 : 1;
  }
  // A cut between two parts may leave a smaller profile, once everything that samples refer to is there.
  EXPECT_GT(refused, static_cast<int>(bytes.size()) * 9 / 10);
}

TEST(ReadProfile, TellsFormatsApartByContentCompressedOrNot) {
  const std::string heap = "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x11\n";
  const std::string contention = "--- mutex:\n80 2 @ 0x11\n";
  const std::string pprof = pprof_heap().SerializeAsString();
  const auto as_it_is = [](std::string_view content) { return std::string(content); };
  for (const auto& compress : {+as_it_is, &testing::gzipped, &testing::xz_compressed,
                               &testing::zstd_compressed, &testing::bzip2_compressed}) {
    const auto read = [&](const std::string& content) {
      return types_of(read_profile(as_bytes(compress(content))));
    };
    EXPECT_EQ(read(heap), "inuse_objects/count inuse_space/bytes");
    EXPECT_EQ(read(contention), "contentions/count delay/nanoseconds");
    EXPECT_EQ(read(pprof), "inuse_objects/count inuse_space/bytes");
  }
}

TEST(ReadProfile, OtherContentIsRefusedWithTheFormatsThereAre) {
  for (const std::string& content : {std::string(), std::string("\0\0", 2), std::string("<html>"),
                                     std::string("--- threadz 1 ---\n"), gzipped(gzipped("x"))}) {
    const auto profile = read_profile(as_bytes(content));
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_THAT(read_profile(as_bytes("<html>")).error().hint, HasSubstr("pprof"));
}

}  // namespace
}  // namespace plimsoll::formats
