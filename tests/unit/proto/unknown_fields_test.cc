#include "proto/unknown_fields.h"

#include <gtest/gtest.h>

#include <random>

#include "base/hex.h"
#include "proto/parse_cost.h"
#include "proto/profile_codec.h"
#include "tests/framed.h"
#include "tests/sample_profile.h"

namespace plimsoll::wire {
namespace {

using namespace std::string_literals;

// Each is a field that no version knows, or one in another form than it has.
const std::vector<std::string> kUnknown{
    "\x98\x4b\x01"s,  // field 1203, a varint
    "\x9a\x4b\x03"
    "abc"s,                       // bytes
    "\x9d\x4b\x01\x02\x03\x04"s,  // fixed
    "\x9b\x4b\x08\x01\x9c\x4b"s,  // a group
    "\x40\x07"s,                  // processes as a number
};

std::string without(const std::string& message) {
  const auto left = without_unknown_fields(as_bytes(message), *RawProfile::descriptor());
  EXPECT_TRUE(left) << left.error().text();
  return left.value_or("");
}

bool has_unknown(const std::string& message) {
  const auto cost = parse_cost(as_bytes(message), *RawProfile::descriptor(), UINT64_MAX);
  EXPECT_TRUE(cost) << cost.error().text();
  return cost && cost->has_unknown_fields;
}

std::string parsed_by_protobuf(const std::string& message) {
  RawProfile parsed;
  EXPECT_TRUE(parsed.ParseFromString(message));
  parsed.DiscardUnknownFields();
  return parsed.SerializeAsString();
}

TEST(UnknownFields, AMessageWithoutThemStaysAsItIs) {
  const std::string message = sample_profile().SerializeAsString();
  EXPECT_FALSE(has_unknown(message));
  EXPECT_EQ(without(message), message);
  EXPECT_EQ(without(""), "");
}

TEST(UnknownFields, GoWhereverTheyStand) {
  const std::string sound = sample_profile().SerializeAsString();
  for (const std::string& unknown : kUnknown) {
    for (const std::string& message : {unknown + sound, sound + unknown}) {
      EXPECT_TRUE(has_unknown(message));
      EXPECT_EQ(without(message), sound);
    }
    // In a process.
    const std::string nested = "\x42"s + static_cast<char>(unknown.size()) + unknown;
    EXPECT_TRUE(has_unknown(nested));
    EXPECT_EQ(without(nested), "\x42\x00"s);
  }
}

// A nested message must not end elsewhere for us than for Protobuf: what follows would be taken as fields of the profile, which nothing has counted.
TEST(UnknownFields, WhatIsNoFieldIsRefused) {
  const std::string hidden = "\x92\x01\x02\x0a\x00"s;
  for (const std::string& wrong : {
           "\x9b\x4b\xa4\x4b"s,          // a group that ends as another
           "\x9b\x4b\x03\x04\x9c\x4b"s,  // a field of number 0 within a group
           "\x9b\x4b\x00\x01\x9c\x4b"s,  // the same, as a number
           "\x9c\x4b"s,                  // the end of no group
           "\x9b\x4b"s,                  // a group without an end
           "\x0a\x7f\x00"s,              // text that is longer than what is around it
           "\x00"s,                      // a tag of 0
           "\x06\x00"s,                  // a wire type that does not exist
       }) {
    for (const std::string& message :
         {wrong + hidden, "\x42"s + static_cast<char>(wrong.size() + hidden.size()) + wrong + hidden,
          "\x42"s + static_cast<char>(wrong.size()) + wrong}) {
      RawProfile parsed;
      EXPECT_FALSE(parsed.ParseFromString(message));
      EXPECT_FALSE(parse_cost(as_bytes(message), *RawProfile::descriptor(), UINT64_MAX));
      const auto left = without_unknown_fields(as_bytes(message), *RawProfile::descriptor());
      EXPECT_FALSE(left && left->find(hidden) != std::string::npos);
    }
  }
}

// Bytes that are changed at random: what is still a message is the one that Protobuf reads.
TEST(UnknownFields, WhatIsLeftIsWhatProtobufReads) {
  std::mt19937_64 random(20'261'128);
  const std::string sound = sample_profile().SerializeAsString();
  int messages = 0;
  int with_unknown = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string message = sound;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      message[random() % message.size()] = static_cast<char>(random());
    }
    RawProfile parsed;
    const auto cost = parse_cost(as_bytes(message), *RawProfile::descriptor(), UINT64_MAX);
    const bool is_parsed = parsed.ParseFromString(message);
    if (!cost) {
      continue;
    }
    // Of what Protobuf refuses text alone, which is not UTF-8, is not seen from outside.
    const auto whole = without_unknown_fields(as_bytes(message), *RawProfile::descriptor());
    ASSERT_TRUE(whole);
    if (!is_parsed) {
      EXPECT_FALSE(RawProfile().ParseFromString(*whole)) << to_hex(message) << " and " << to_hex(*whole);
      continue;
    }
    ++messages;
    with_unknown += cost->has_unknown_fields ? 1 : 0;
    RawProfile left;
    ASSERT_TRUE(left.ParseFromString(without(message)));
    EXPECT_EQ(left.SerializeAsString(), parsed_by_protobuf(message));
  }
  EXPECT_GT(messages, 1000);
  EXPECT_GT(with_unknown, 100);
}

// 6 MB of them, which Protobuf would keep in 100: nothing of them is refused, and nothing kept.
TEST(UnknownFields, CostAProfileNothing) {
  std::string many = sample_profile().SerializeAsString();
  for (int i = 0; i < 2'000'000; ++i) {
    many += kUnknown[0];
  }
  uint64_t reserved_bytes = 0;
  const auto profile = decode(as_bytes(framed(compressed(many))), {.max_parsed_bytes = uint64_t{1} << 20},
                              [&](uint64_t bytes) {
                                reserved_bytes += bytes;
                                return Status();
                              });
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->SerializeAsString(), sample_profile().SerializeAsString());
  EXPECT_LT(reserved_bytes, 5 * many.size());
}

}  // namespace
}  // namespace plimsoll::wire
