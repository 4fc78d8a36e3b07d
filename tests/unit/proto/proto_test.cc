#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <functional>
#include <limits>

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

struct Rule {
  std::string field;  // that the error names
  std::function<void(RawProfile&)> violate;
};

const std::string kLongText(4097, 'x');

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules{
      {"format_version", [](RawProfile& p) { p.set_format_version(2); }},
      {"profile_id", [](RawProfile& p) { p.set_profile_id("short"); }},

      {"machine.id", [](RawProfile& p) { p.mutable_machine()->clear_id(); }},
      {"machine.id", [](RawProfile& p) { p.mutable_machine()->set_id(std::string(129, 'x')); }},
      {"machine.kernel_build_id",
       [](RawProfile& p) { p.mutable_machine()->set_kernel_build_id(std::string(65, 'x')); }},
      {"machine.hostname", [](RawProfile& p) { p.mutable_machine()->set_hostname(kLongText); }},
      {"machine.os", [](RawProfile& p) { p.mutable_machine()->set_os(std::string("a\0b", 3)); }},

      {"assignment.id", [](RawProfile& p) { p.mutable_assignment()->set_id(kLongText); }},
      {"assignment.events[0].name",
       [](RawProfile& p) { p.mutable_assignment()->mutable_events(0)->set_name(kLongText); }},
      {"assignment.bursts.events",
       [](RawProfile& p) { p.mutable_assignment()->mutable_bursts()->add_events(kLongText); }},
      {"assignment.bursts.events",
       [](RawProfile& p) {
         for (int i = 0; i < 100; ++i) {
           p.mutable_assignment()->mutable_bursts()->add_events("disk");
         }
       }},
      {"assignment.draw.stratum",
       [](RawProfile& p) { p.mutable_assignment()->mutable_draw()->set_stratum(kLongText); }},
      {"assignment.draw.inclusion_probability",
       [](RawProfile& p) { p.mutable_assignment()->mutable_draw()->set_inclusion_probability(0); }},
      {"assignment.draw.inclusion_probability",
       [](RawProfile& p) { p.mutable_assignment()->mutable_draw()->set_inclusion_probability(1.01); }},
      {"assignment.draw.inclusion_probability",
       [](RawProfile& p) {
         p.mutable_assignment()->mutable_draw()->set_inclusion_probability(
             std::numeric_limits<double>::quiet_NaN());
       }},
      {"assignment.draw.interval_ns",
       [](RawProfile& p) { p.mutable_assignment()->mutable_draw()->set_interval_ns(-1); }},

      {"window", [](RawProfile& p) { p.mutable_window()->clear_end(); }},
      {"window.end", [](RawProfile& p) { p.mutable_window()->mutable_end()->set_monotonic_ns(100); }},
      {"window", [](RawProfile& p) { p.mutable_window()->mutable_start()->set_wall_ns(0); }},
      {"window", [](RawProfile& p) { p.mutable_window()->mutable_end()->set_wall_ns(INT64_MAX); }},
      {"window", [](RawProfile& p) { p.mutable_window()->mutable_start()->set_monotonic_ns(-1); }},

      {"events[1].name", [](RawProfile& p) { p.mutable_events(1)->clear_name(); }},
      {"events[1].name", [](RawProfile& p) { p.mutable_events(1)->set_name("cpu-clock"); }},
      {"events[0].note", [](RawProfile& p) { p.mutable_events(0)->set_note(kLongText); }},
      {"events[0].unit", [](RawProfile& p) { p.mutable_events(0)->clear_unit(); }},
      {"events[0].unit", [](RawProfile& p) { p.mutable_events(0)->set_unit(static_cast<Unit>(9)); }},
      {"events[0].kind", [](RawProfile& p) { p.mutable_events(0)->clear_kind(); }},
      {"events[0].kind", [](RawProfile& p) { p.mutable_events(0)->set_kind(static_cast<Kind>(9)); }},
      {"events[0].counter_total", [](RawProfile& p) { p.mutable_events(0)->set_counter_total(-1); }},
      {"events[0].counter_total",
       [](RawProfile& p) {
         p.mutable_events(0)->set_counter_total(std::numeric_limits<double>::infinity());
       }},
      {"events[0].time_running_ns", [](RawProfile& p) { p.mutable_events(0)->set_time_running_ns(-1); }},
      {"events[0].time_running_ns", [](RawProfile& p) { p.mutable_events(0)->set_time_running_ns(101); }},
      {"events[0].lost", [](RawProfile& p) { p.mutable_events(0)->set_lost(uint64_t{1} << 57); }},
      {"events[0].lost", [](RawProfile& p) { p.mutable_events(0)->set_ticks_due(uint64_t{1} << 57); }},
      {"events[0].hits", [](RawProfile& p) { p.mutable_events(0)->set_hits(11); }},
      {"events[0].samples", [](RawProfile& p) { p.mutable_events(0)->set_samples(11); }},
      {"assignment.turn_ns", [](RawProfile& p) { p.mutable_assignment()->set_turn_ns(-1); }},
      {"missing_events[0].reason", [](RawProfile& p) { p.mutable_missing_events(0)->set_reason(kLongText); }},
      {"cost.cpu_time_ns", [](RawProfile& p) { p.mutable_cost()->set_cpu_time_ns(-1); }},
      {"cost.cut_short", [](RawProfile& p) { p.mutable_cost()->set_cut_short(kLongText); }},

      {"binaries[0].identity", [](RawProfile& p) { p.mutable_binaries(0)->clear_identity(); }},
      {"binaries[2].identity", [](RawProfile& p) { p.mutable_binaries(2)->set_identity("x"); }},
      {"binaries[1].identity",
       [](RawProfile& p) { p.mutable_binaries(1)->set_identity(std::string(65, 'x')); }},
      {"binaries[0].identity",
       [](RawProfile& p) { p.mutable_binaries(0)->set_identity_kind(static_cast<IdentityKind>(9)); }},
      {"binaries[2].path", [](RawProfile& p) { p.mutable_binaries(2)->set_path(kLongText); }},

      {"processes[1].binary_plus_1", [](RawProfile& p) { p.mutable_processes(1)->set_binary_plus_1(4); }},
      {"processes[1].comm", [](RawProfile& p) { p.mutable_processes(1)->set_comm(kLongText); }},
      {"processes[0].labels",
       [](RawProfile& p) { (*p.mutable_processes(0)->mutable_labels())[kLongText] = ""; }},
      {"processes[0].labels",
       [](RawProfile& p) { (*p.mutable_processes(0)->mutable_labels())["k"] = kLongText; }},
      {"threads[1].process", [](RawProfile& p) { p.mutable_threads(1)->set_process(2); }},
      {"threads[1].name", [](RawProfile& p) { p.mutable_threads(1)->set_name(kLongText); }},
      {"mappings[0]", [](RawProfile& p) { p.mutable_mappings(0)->set_process(2); }},
      {"mappings[0]", [](RawProfile& p) { p.mutable_mappings(0)->set_binary(3); }},
      {"mappings[0].size_bytes", [](RawProfile& p) { p.mutable_mappings(0)->set_size_bytes(UINT64_MAX); }},

      {"locations.owner", [](RawProfile& p) { p.mutable_locations()->add_owner(0); }},
      {"locations.address", [](RawProfile& p) { p.mutable_locations()->add_address(0); }},
      {"locations.kind[0]", [](RawProfile& p) { p.mutable_locations()->set_kind(0, LOCATION_UNSPECIFIED); }},
      {"locations.kind[7]",
       [](RawProfile& p) { p.mutable_locations()->set_kind(7, static_cast<LocationKind>(99)); }},
      {"locations.owner[0]", [](RawProfile& p) { p.mutable_locations()->set_owner(0, 3); }},
      {"locations.owner[5]", [](RawProfile& p) { p.mutable_locations()->set_owner(5, 2); }},
      {"locations.owner[7]", [](RawProfile& p) { p.mutable_locations()->set_owner(7, 1); }},
      {"locations.address[4]", [](RawProfile& p) { p.mutable_locations()->set_address(4, 3); }},
      {"locations.address[6]", [](RawProfile& p) { p.mutable_locations()->set_address(6, 3); }},
      {"locations.address[6]", [](RawProfile& p) { p.mutable_locations()->set_address(6, 1); }},
      {"frames[259]",
       [](RawProfile& p) {
         for (int i = 0; i < 300; ++i) {
           p.add_frames()->set_inlined_into_next(i < 299);
         }
       }},
      {"events[0].counter_total", [](RawProfile& p) { p.mutable_events(0)->set_counter_total(1e300); }},
      {"frames", [](RawProfile& p) { p.mutable_frames(2)->set_inlined_into_next(true); }},
      {"frames[0].function", [](RawProfile& p) { p.mutable_frames(0)->set_function(kLongText); }},

      {"stacks.location", [](RawProfile& p) { p.mutable_stacks()->add_location(0); }},
      {"stacks.location[2]", [](RawProfile& p) { p.mutable_stacks()->set_location(2, 8); }},
      {"stacks.parent[1]", [](RawProfile& p) { p.mutable_stacks()->set_parent(1, 2); }},

      {"samples[0].event", [](RawProfile& p) { p.mutable_samples(0)->clear_event(); }},
      {"samples[0].event[0]", [](RawProfile& p) { p.mutable_samples(0)->set_event(0, 4); }},
      {"samples[0].event[0]", [](RawProfile& p) { p.mutable_samples(0)->set_event(0, 2); }},
      {"samples[1].event[1]", [](RawProfile& p) { p.mutable_samples(1)->set_event(1, 3); }},
      {"samples[0].thread[1]", [](RawProfile& p) { p.mutable_samples(0)->set_thread(1, 2); }},
      {"samples[0].stack", [](RawProfile& p) { p.mutable_samples(0)->add_stack(0); }},
      {"samples[0].stack[1]", [](RawProfile& p) { p.mutable_samples(0)->set_stack(1, 4); }},
      {"samples[1].hits", [](RawProfile& p) { p.mutable_samples(1)->add_hits(1); }},
      {"samples[0].hits[1]",
       [](RawProfile& p) { p.mutable_samples(0)->set_hits(1, (uint64_t{1} << 56) + 1); }},
      {"samples[1].hits[0]",
       [](RawProfile& p) { p.mutable_samples(1)->set_hits(0, (uint64_t{1} << 56) - 4); }},
      {"samples[0].label_set", [](RawProfile& p) { p.mutable_samples(0)->add_label_set(0); }},
      {"samples[0].label_set[1]", [](RawProfile& p) { p.mutable_samples(0)->set_label_set(1, 2); }},
      {"label_sets[0]", [](RawProfile& p) { (*p.mutable_label_sets(0)->mutable_labels())["k"] = kLongText; }},

      {"branches[0].event", [](RawProfile& p) { p.mutable_branches(0)->set_event(5); }},
      {"branches[0].event", [](RawProfile& p) { p.mutable_branches(0)->set_event(1); }},
      {"branches[0].mispredicted_event_plus_1",
       [](RawProfile& p) { p.mutable_branches(0)->set_mispredicted_event_plus_1(6); }},
      {"branches[0].mispredicted_event_plus_1",
       [](RawProfile& p) { p.mutable_branches(0)->set_mispredicted_event_plus_1(3); }},
      {"branches[0].mispredicted",
       [](RawProfile& p) { p.mutable_branches(0)->clear_mispredicted_event_plus_1(); }},
      {"branches[0].thread[0]", [](RawProfile& p) { p.mutable_branches(0)->set_thread(0, 2); }},
      {"branches[0].from_location", [](RawProfile& p) { p.mutable_branches(0)->add_from_location(0); }},
      {"branches[0].from_location[0]", [](RawProfile& p) { p.mutable_branches(0)->set_from_location(0, 8); }},
      {"branches[0].to_location", [](RawProfile& p) { p.mutable_branches(0)->add_to_location(0); }},
      {"branches[0].to_location[0]", [](RawProfile& p) { p.mutable_branches(0)->set_to_location(0, 8); }},
      {"branches[0].hits", [](RawProfile& p) { p.mutable_branches(0)->add_hits(0); }},
      {"branches[0].hits[0]", [](RawProfile& p) { p.mutable_branches(0)->set_hits(0, uint64_t{1} << 57); }},
      {"branches[0].mispredicted", [](RawProfile& p) { p.mutable_branches(0)->add_mispredicted(0); }},
      {"branches[0].mispredicted[0]", [](RawProfile& p) { p.mutable_branches(0)->set_mispredicted(0, 10); }},
      {"branches[1].event",
       [](RawProfile& p) {
         p.mutable_branches(1)->set_mispredicted_event_plus_1(4);
         p.mutable_branches(1)->add_mispredicted(0);
       }},
      {"branches[1].event", [](RawProfile& p) { p.mutable_branches(1)->set_event(3); }},
      {"events[4].hits", [](RawProfile& p) { p.mutable_branches(1)->set_hits(0, 8); }},
      {"events[2].hits", [](RawProfile& p) { p.mutable_branches(0)->set_hits(0, 8); }},
      {"events[3].hits", [](RawProfile& p) { p.mutable_branches(0)->set_mispredicted(0, 2); }},

      {"kernel_symbols.images[0].binary",
       [](RawProfile& p) { p.mutable_kernel_symbols()->mutable_images(0)->set_binary(3); }},
      {"kernel_symbols.images[0].names",
       [](RawProfile& p) { p.mutable_kernel_symbols()->mutable_images(0)->add_offset_delta(1); }},
      {"kernel_symbols.images[0].names",
       [](RawProfile& p) { p.mutable_kernel_symbols()->mutable_images(0)->mutable_names()->append("open"); }},
      {"notes[0]", [](RawProfile& p) { p.set_notes(0, kLongText); }},
  };
  return kRules;
}

TEST(Validate, AcceptsTheSample) {
  const auto valid = validate(sample_profile());
  EXPECT_TRUE(valid.has_value()) << valid.error().text();
}

TEST(Validate, AcceptsAProfileWithoutADraw) {
  RawProfile profile = sample_profile();
  profile.clear_assignment();
  EXPECT_TRUE(validate(profile).has_value());
}

TEST(Validate, AcceptsBranchRecordsOfAMachineThatTellsNoMispredictions) {
  RawProfile profile = sample_profile();
  profile.mutable_branches(0)->clear_mispredicted();
  profile.mutable_branches(0)->clear_mispredicted_event_plus_1();
  profile.mutable_branches()->RemoveLast();
  profile.mutable_events()->RemoveLast();
  profile.mutable_events()->RemoveLast();
  const auto valid = validate(profile);
  EXPECT_TRUE(valid.has_value()) << valid.error().text();
}

TEST(Validate, NamesTheFieldThatBreaksARule) {
  for (const Rule& rule : rules()) {
    RawProfile profile = sample_profile();
    rule.violate(profile);
    const auto valid = validate(profile);
    ASSERT_FALSE(valid.has_value()) << rule.field;
    EXPECT_EQ(valid.error().field, rule.field) << valid.error().message;
  }
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
