#include "store/building/row_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/profile_codec.h"
#include "tests/profile_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using ::testing::ElementsAre;

class RowBuilderTest : public ::testing::Test {
 protected:
  static void add_location(wire::RawProfile& profile, wire::LocationKind kind, uint64_t first_frame) {
    wire::Locations& locations = *profile.mutable_locations();
    locations.add_kind(kind);
    locations.add_owner(0);
    locations.add_address(first_frame);
  }

  BuiltProfile build(const wire::RawProfile& profile) {
    const Status valid = wire::validate(profile);
    EXPECT_TRUE(valid) << valid.error().text();
    auto built = build_rows(profile, 1, dictionaries_);
    EXPECT_TRUE(built) << built.error().text();
    return built ? *std::move(built) : BuiltProfile();
  }

  DictionaryBuilder dictionaries_{Dictionaries()};
};

TEST_F(RowBuilderTest, CopiesTheNamesOfLocationsThatShareAFrameOnce) {
  wire::RawProfile profile = make_profile({.stacks = "main 1\n"});
  profile.mutable_frames(0)->set_function(std::string(4'000, 'f'));
  for (int i = 1; i < 1'000; ++i) {
    add_location(profile, wire::NAMED, 0);
  }
  const BuiltProfile built = build(profile);
  size_t bytes = 0;
  for (const NamedLocation& named : built.named) {
    for (const wire::NamedFrame& frame : named.frames) {
      bytes += frame.function().size();
    }
  }
  EXPECT_EQ(built.named.size(), 1);
  EXPECT_EQ(bytes, 4'000);
  EXPECT_EQ(dictionaries_.mark().locations, 2) << "the empty one, and this";
  EXPECT_EQ(built.rows.size(), 1);
}

TEST_F(RowBuilderTest, LocationsOfAnotherKindOrWithOtherFramesStayApart) {
  wire::RawProfile profile = make_profile({.stacks = "outer>inner 1\n"});
  add_location(profile, wire::BPF, 0);
  profile.add_frames()->set_function("alone");
  add_location(profile, wire::NAMED, 2);
  add_location(profile, wire::NAMED, 0);
  std::vector<std::string> names;
  for (const BuiltProfile built = build(profile); const NamedLocation& named : built.named) {
    const LocationEntry& location = dictionaries_.entries().locations[named.location];
    names.push_back(fmt::format("{} {}: {}", location.kind == wire::BPF ? "BPF" : "named",
                                named.frames.size(), named.frames.front().function()));
  }
  EXPECT_THAT(names, ElementsAre("named 2: inner", "BPF 2: inner", "named 1: alone"));
}

}  // namespace
}  // namespace plimsoll::store
