#include "proto/parse_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "proto/profile.pb.h"
#include "proto/profile_codec.h"
#include "tests/framed.h"
#include "tests/sample_profile.h"

namespace plimsoll::wire {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMuch = uint64_t{1} << 40;

Result<uint64_t> cost_of(std::string_view message, uint64_t max_bytes = kMuch) {
  const auto cost = parse_cost(as_bytes(message), *RawProfile::descriptor(), max_bytes);
  return cost ? Result<uint64_t>(cost->bytes) : propagate(cost);
}

// At least what the parsed message says that it takes, and not so much more that sound profiles would be refused.
void expect_fits(const RawProfile& profile) {
  const std::string message = profile.SerializeAsString();
  RawProfile parsed;
  ASSERT_TRUE(parsed.ParseFromString(message));
  const auto cost = cost_of(message);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_GE(*cost + sizeof(RawProfile), parsed.SpaceUsedLong());
  EXPECT_LE(*cost, 4 * parsed.SpaceUsedLong());
}

TEST(ParseCost, BoundsWhatAProfileTakes) {
  expect_fits(sample_profile());
  std::mt19937_64 random(20'261'127);
  for (int trial = 0; trial < 20; ++trial) {
    RawProfile profile = sample_profile();
    for (uint64_t i = 0; i < random() % 2000; ++i) {
      Process& process = *profile.add_processes();
      process.set_comm(std::string(random() % 40, 'c'));
      process.set_executable(std::string(random() % 100, 'e'));
      profile.add_notes(std::string(random() % 20, 'n'));
      profile.mutable_stacks()->add_location(static_cast<uint32_t>(random() >> (random() % 64)));
      profile.mutable_stacks()->add_parent(static_cast<uint32_t>(random() % 100));
    }
    expect_fits(profile);
  }
}

TEST(ParseCost, EmptyMessagesCountWhatTheyTake) {
  std::string message;
  for (int i = 0; i < 100'000; ++i) {
    Process empty;
    RawProfile one;
    *one.add_processes() = empty;
    message += one.SerializeAsString();
  }
  RawProfile parsed;
  ASSERT_TRUE(parsed.ParseFromString(message));
  EXPECT_GE(*cost_of(message) + sizeof(RawProfile), parsed.SpaceUsedLong());
}

TEST(ParseCost, WhatIsMalformedIsSaid) {
  EXPECT_EQ(*cost_of(""), 0);
  for (const std::string_view message : {std::string_view("\xff", 1), std::string_view("\x9a\x4b\x7f", 3),
                                         std::string_view("\x9b\x4b", 2) /* group */}) {
    const auto cost = cost_of(message);
    ASSERT_FALSE(cost);
    EXPECT_EQ(cost.error().code, ErrorCode::kCorrupt);
  }
  std::string nested;
  for (int i = 0; i < 200; ++i) {
    nested += "\x9b\x4b";
  }
  for (int i = 0; i < 200; ++i) {
    nested += "\x9c\x4b";
  }
  EXPECT_FALSE(cost_of(nested)) << "groups within groups";
}

TEST(ParseCost, BombsAreRefusedBeforeTheyAreParsed) {
  std::string bomb = sample_profile().SerializeAsString();
  for (int i = 0; i < 400'000; ++i) {
    bomb += std::string("\x42\x00", 2);  // an empty process
  }
  const auto refused = decode(as_bytes(framed(compressed(bomb))), {.max_parsed_bytes = uint64_t{16} << 20});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(refused.error().message, HasSubstr("bytes of memory"));
}

}  // namespace
}  // namespace plimsoll::wire
