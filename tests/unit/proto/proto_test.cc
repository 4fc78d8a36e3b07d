#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <functional>

#include "base/checksum.h"
#include "proto/profile_codec.h"
#include "tests/framed.h"
#include "tests/sample_profile.h"

namespace plimsoll::wire {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

constexpr size_t kHeaderBytes = 32;

Result<RawProfile> decode_text(std::string_view encoded, const ProfileLimits& limits = {}) {
  return decode(as_bytes(encoded), limits);
}

// Whether every field of the message, and of the messages in it, holds something.
void expect_all_set(const google::protobuf::Message& message) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  EXPECT_EQ(set.size(), message.GetDescriptor()->field_count()) << message.GetDescriptor()->full_name();
}

TEST(Codec, BringsBackEveryField) {
  const RawProfile profile = sample_profile();
  expect_all_set(profile);
  expect_all_set(profile.machine());
  expect_all_set(profile.assignment());
  expect_all_set(profile.assignment().events(0));
  expect_all_set(profile.assignment().bursts());
  expect_all_set(profile.assignment().draw());
  expect_all_set(profile.window());
  expect_all_set(profile.events(0));
  expect_all_set(profile.binaries(0));
  expect_all_set(profile.processes(0));
  expect_all_set(profile.frames(0));
  expect_all_set(profile.samples(0));
  expect_all_set(profile.branches(0));
  expect_all_set(profile.missing_events(0));
  expect_all_set(profile.cost());
  const auto decoded = decode_text(encode(profile));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().text();
  EXPECT_TRUE(MessageDifferencer::Equals(*decoded, profile));
}

TEST(Codec, InAnArenaAProfileIsTheSame) {
  const RawProfile profile = sample_profile();
  auto decoded = decode_in_arena(as_bytes(encode(profile)), {}, {});
  ASSERT_TRUE(decoded.has_value()) << decoded.error().text();
  EXPECT_TRUE(MessageDifferencer::Equals(**decoded, profile));
  const ProfileInArena moved = std::move(*decoded);
  EXPECT_TRUE(MessageDifferencer::Equals(*moved, profile));
  EXPECT_FALSE(decode_in_arena(as_bytes(encode(profile).substr(1)), {}, {}).has_value());
}

TEST(Codec, TellsProfilesByTheirMagic) {
  EXPECT_TRUE(looks_like_profile(as_bytes(encode(sample_profile()))));
  EXPECT_TRUE(looks_like_profile(as_bytes("PLIMPROF")));
  EXPECT_FALSE(looks_like_profile(as_bytes("PLIMPRO")));
  EXPECT_FALSE(looks_like_profile({}));
}

struct Framing {
  std::string name;
  std::function<void(std::string&)> damage;
  ErrorCode code;
  std::string field;
  std::string says;
};

TEST(Codec, SaysWhatIsWrongWithTheFraming) {
  const std::vector<Framing> cases{
      {"empty", [](std::string& e) { e.clear(); }, ErrorCode::kCorrupt, "magic", "PLIMPROF"},
      {"another format", [](std::string& e) { e[0] = 'p'; }, ErrorCode::kCorrupt, "magic",
       "not a raw profile"},
      {"a later version", [](std::string& e) { e[8] = 9; }, ErrorCode::kUnsupported, "format_version",
       "format version 9; this program reads 1 to 1"},
      {"version 0", [](std::string& e) { e[8] = 0; }, ErrorCode::kUnsupported, "format_version",
       "format version 0; this program reads 1 to 1"},
      {"reserved bits", [](std::string& e) { e[12] = 1; }, ErrorCode::kCorrupt, "reserved", "is 1, not 0"},
      {"more follows", [](std::string& e) { e += "x"; }, ErrorCode::kCorrupt, "length",
       "longer than declared"},
      {"an endless length", [](std::string& e) { e.replace(16, 8, 8, '\xff'); }, ErrorCode::kCorrupt,
       "length", "truncated"},
      {"another checksum", [](std::string& e) { e[24] ^= 1; }, ErrorCode::kCorrupt, "checksum", "damaged"},
      {"no zstd", [](std::string& e) { e = framed("plain text"); }, ErrorCode::kCorrupt, "body", "zstd"},
      {"no message", [](std::string& e) { e = framed(compressed("\xff\xff\xff")); }, ErrorCode::kCorrupt,
       "body", "malformed"},
      {"an empty message", [](std::string& e) { e = framed(compressed("")); }, ErrorCode::kUnsupported,
       "format_version", "format version 0"},
  };
  for (const Framing& framing : cases) {
    std::string encoded = encode(sample_profile());
    framing.damage(encoded);
    const auto decoded = decode_text(encoded);
    ASSERT_FALSE(decoded.has_value()) << framing.name;
    EXPECT_EQ(decoded.error().code, framing.code) << framing.name;
    EXPECT_EQ(decoded.error().field, framing.field) << framing.name;
    EXPECT_THAT(decoded.error().message, HasSubstr(framing.says)) << framing.name;
  }
}

TEST(Codec, CheckingTheFramingAloneLooksAtNothingInside) {
  const std::string encoded = framed("plain text");
  const auto body = check_framing(as_bytes(encoded));
  ASSERT_TRUE(body.has_value()) << body.error().text();
  EXPECT_EQ(body->data(), as_bytes(encoded).data() + kHeaderBytes) << "borrowed";
  EXPECT_EQ(body->size(), 10);
  EXPECT_EQ(check_framing(as_bytes(encoded), {.max_encoded_bytes = encoded.size() - 1}).error().code,
            ErrorCode::kTooLarge);
}

TEST(Codec, NoticesTruncationAtEveryByte) {
  const std::string encoded = encode(sample_profile());
  for (size_t size = 0; size < encoded.size(); ++size) {
    const auto decoded = decode_text(encoded.substr(0, size));
    ASSERT_FALSE(decoded.has_value()) << size;
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(decoded.error().field, size < 8 ? "magic" : size < kHeaderBytes ? "header" : "length") << size;
  }
}

TEST(Codec, NoticesEveryFlippedBitOfTheBody) {
  const std::string encoded = encode(sample_profile());
  for (size_t at = kHeaderBytes; at < encoded.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = encoded;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      const auto decoded = decode_text(damaged);
      ASSERT_FALSE(decoded.has_value()) << at;
      EXPECT_EQ(decoded.error().field, "checksum") << at;
    }
  }
}

TEST(Codec, NoticesAFrameCutWithinTheRightChecksum) {
  const std::string body = encode(sample_profile()).substr(kHeaderBytes);
  const auto decoded = decode_text(framed(body.substr(0, body.size() - 1)));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().field, "body");
}

TEST(Codec, RefusesWhatIsTooLarge) {
  const std::string encoded = encode(sample_profile());
  const uint64_t decoded_bytes = sample_profile().ByteSizeLong();
  EXPECT_TRUE(decode_text(encoded, {encoded.size(), decoded_bytes}).has_value());
  EXPECT_EQ(decode_text(encoded, {encoded.size() - 1, decoded_bytes}).error().code, ErrorCode::kTooLarge);
  const auto swollen = decode_text(encoded, {encoded.size(), decoded_bytes - 1});
  EXPECT_EQ(swollen.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(swollen.error().field, "body");
}

TEST(Codec, BelievesNoContentSizeBeforeAllocating) {
  // A zstd frame header that promises 2^62 bytes (8-byte content size, single segment), and nothing after it.
  const std::string promise = std::string("\x28\xb5\x2f\xfd\xe0", 5) + std::string(7, '\0') + '\x40';
  const auto decoded = decode_text(framed(promise));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(decoded.error().message, HasSubstr("4611686018427387904 bytes"));
}

// `count` times an empty message in the field of that number: two bytes each.
std::string empty_messages(int field, size_t count) {
  std::string message;
  for (size_t i = 0; i < count; ++i) {
    message += static_cast<char>(field << 3 | 2);
    message += '\0';
  }
  return message;
}

// The bytes of one field of type message or bytes, numbered below 16 or not.
std::string field_bytes(int field, const std::string& content) {
  std::string bytes;
  for (uint64_t part : {static_cast<uint64_t>(field << 3 | 2), static_cast<uint64_t>(content.size())}) {
    for (; part >= 0x80; part >>= 7U) {
      bytes += static_cast<char>(part | 0x80);
    }
    bytes += static_cast<char>(part);
  }
  return bytes + content;
}

TEST(Codec, CountsListsBeforeBuildingThem) {
  struct Case {
    std::string message;
    std::string field;
  };
  const std::vector<Case> cases{
      {empty_messages(RawProfile::kEventsFieldNumber, 1001), "events"},
      {empty_messages(RawProfile::kBinariesFieldNumber, 200'001), "binaries"},
      {empty_messages(RawProfile::kProcessesFieldNumber, 1'000'001), "processes"},
      {empty_messages(RawProfile::kSamplesFieldNumber, 1001), "samples"},
      {field_bytes(RawProfile::kNotesFieldNumber, std::string((1 << 20) + 1, 'x')), "notes"},
      {field_bytes(RawProfile::kAssignmentFieldNumber, empty_messages(2, 1 << 20)), "assignment"},
      {field_bytes(RawProfile::kKernelSymbolsFieldNumber, empty_messages(1, 1'000'000)), "kernel_symbols"},
  };
  for (const Case& c : cases) {
    const auto decoded = decode_text(framed(compressed(c.message)));
    ASSERT_FALSE(decoded.has_value()) << c.field;
    EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge) << c.field << decoded.error().text();
    EXPECT_EQ(decoded.error().field, c.field);
  }
}

TEST(Codec, ValidatesWhatItDecodes) {
  RawProfile profile = sample_profile();
  profile.mutable_samples(0)->set_stack(0, 99);
  EXPECT_EQ(decode_text(encode(profile)).error().field, "samples[0].stack[0]");
}

TEST(Scale, IsTheCounterOverTheHits) {
  struct Case {
    std::string name;
    double counter_total;
    uint64_t hits, ticks_due, lost;
    int64_t enabled_ns, running_ns;
    double scale;
  };
  const std::vector<Case> cases{
      {"plain", 1000, 10, 0, 0, 100, 100, 100},
      {"multiplexed half of the time", 1000, 10, 0, 0, 100, 50, 200},
      {"never ran", 1000, 10, 0, 0, 100, 0, 100},
      {"no times told", 1000, 10, 0, 0, 0, 0, 100},
      {"no hit", 1000, 0, 0, 0, 100, 100, 0},
      {"a clock on a machine idle three quarters", 1000, 10, 40, 0, 100, 100, 25},
      {"a clock that lost samples of busy time", 1000, 10, 40, 20, 100, 100, 75},
      {"a clock that counted fewer ticks than came", 1000, 10, 9, 0, 100, 100, 100},
      {"a clock that lost more than was due", 1000, 10, 40, 50, 100, 100, 100},
      {"lost samples of a counter: the others stand for them", 1000, 10, 0, 90, 100, 100, 100},
  };
  for (const Case& c : cases) {
    Event event;
    event.set_counter_total(c.counter_total);
    event.set_hits(c.hits);
    event.set_ticks_due(c.ticks_due);
    event.set_lost(c.lost);
    event.set_time_enabled_ns(c.enabled_ns);
    event.set_time_running_ns(c.running_ns);
    EXPECT_DOUBLE_EQ(scale_of(event), c.scale) << c.name;
  }
}

}  // namespace
}  // namespace plimsoll::wire
