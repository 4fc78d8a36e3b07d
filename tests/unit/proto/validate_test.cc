// What a profile must be to be taken. A table for each part of the profile: a change that breaks a rule, and the field that the error names.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "proto/profile_codec.h"
#include "tests/sample_profile.h"

namespace plimsoll::wire {
namespace {

struct Rule {
  std::string field;  // that the error names
  std::function<void(RawProfile&)> violate;
};

const std::string kLongText(4097, 'x');

// Where the profile comes from.
std::vector<Rule> origin_rules() {
  return {
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
      {"assignment.turn_ns", [](RawProfile& p) { p.mutable_assignment()->set_turn_ns(-1); }},
  };
}

// What was counted and what it cost.
std::vector<Rule> event_rules() {
  return {
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
      {"missing_events[0].reason", [](RawProfile& p) { p.mutable_missing_events(0)->set_reason(kLongText); }},
      {"cost.cpu_time_ns", [](RawProfile& p) { p.mutable_cost()->set_cpu_time_ns(-1); }},
      {"cost.cut_short", [](RawProfile& p) { p.mutable_cost()->set_cut_short(kLongText); }},
      {"events[0].counter_total", [](RawProfile& p) { p.mutable_events(0)->set_counter_total(1e300); }},
  };
}

// What ran.
std::vector<Rule> process_rules() {
  return {
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
  };
}

// Code that was seen.
std::vector<Rule> code_rules() {
  return {
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
      {"frames", [](RawProfile& p) { p.mutable_frames(2)->set_inlined_into_next(true); }},
      {"frames[0].function", [](RawProfile& p) { p.mutable_frames(0)->set_function(kLongText); }},
      {"stacks.location", [](RawProfile& p) { p.mutable_stacks()->add_location(0); }},
      {"stacks.location[2]", [](RawProfile& p) { p.mutable_stacks()->set_location(2, 8); }},
      {"stacks.parent[1]", [](RawProfile& p) { p.mutable_stacks()->set_parent(1, 2); }},
  };
}

std::vector<Rule> sample_rules() {
  return {
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
  };
}

std::vector<Rule> branch_rules() {
  return {
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
  };
}

// Symbols of kernels, and notes.
std::vector<Rule> kernel_rules() {
  return {
      {"kernel_symbols.images[0].binary",
       [](RawProfile& p) { p.mutable_kernel_symbols()->mutable_images(0)->set_binary(3); }},
      {"kernel_symbols.images[0].names",
       [](RawProfile& p) { p.mutable_kernel_symbols()->mutable_images(0)->add_offset_delta(1); }},
      {"kernel_symbols.images[0].names",
       [](RawProfile& p) { p.mutable_kernel_symbols()->mutable_images(0)->mutable_names()->append("open"); }},
      {"notes[0]", [](RawProfile& p) { p.set_notes(0, kLongText); }},
  };
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
  for (const auto rules_of :
       {origin_rules, event_rules, process_rules, code_rules, sample_rules, branch_rules, kernel_rules}) {
    for (const Rule& rule : rules_of()) {
      RawProfile profile = sample_profile();
      rule.violate(profile);
      const auto valid = validate(profile);
      ASSERT_FALSE(valid.has_value()) << rule.field;
      EXPECT_EQ(valid.error().field, rule.field) << valid.error().message;
    }
  }
}

}  // namespace
}  // namespace plimsoll::wire
