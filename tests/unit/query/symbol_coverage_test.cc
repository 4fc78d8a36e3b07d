#include "query/rows/symbol_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

wire::Binary binary(wire::IdentityKind kind, const std::string& identity, const std::string& path) {
  wire::Binary made;
  made.set_identity_kind(kind);
  made.set_identity(identity);
  made.set_path(path);
  return made;
}

// A fleet with 6 of 16 samples named.
void fill(Fleet& fleet) {
  auto profile = make_profile({.stacks = "main;work 6\n"});
  add_sample(profile, binary(wire::GNU_BUILD_ID, "\x12\xab", "/usr/bin/gzip"), wire::ELF, 0x10, 3);
  add_sample(profile, binary(wire::GNU_BUILD_ID, "\x12\xab", "/usr/bin/gzip"), wire::ELF, 0x20, 1);
  add_sample(profile, binary(wire::GNU_BUILD_ID, "\x12\xab", "/bin/gunzip"), wire::ELF, 0x20, 1);
  add_sample(profile, binary(wire::CONTENT_HASH, "\x01\x02", "/opt/tool"), wire::ELF, 0x20, 4);
  add_sample(profile, binary(wire::IDENTITY_UNKNOWN, "", "/opt/gone"), wire::ELF, 0x20, 1);
  fleet.add(profile);
}

TEST(SymbolCoverage, NamesTheBuildsToBlameByTheirShares) {
  Fleet fleet;
  fill(fleet);
  for (const char* by : {"function", "app", "machine", "line"}) {
    const auto table = fleet.top({{"by", by}});
    ASSERT_TRUE(table) << table.error().text();
    const Coverage& coverage = table->coverage;
    EXPECT_DOUBLE_EQ(coverage.unsymbolized_share, 10.0 / 16);
    ASSERT_EQ(coverage.unsymbolized_by.size(), 3);
    EXPECT_EQ(coverage.unsymbolized_by[0].binary, "gunzip");  // one build under two names
    EXPECT_EQ(coverage.unsymbolized_by[0].build_id, "12ab");
    EXPECT_DOUBLE_EQ(coverage.unsymbolized_by[0].share, 5.0 / 16);
    EXPECT_EQ(coverage.unsymbolized_by[1].build_id, "xxh3:0102");
    EXPECT_EQ(coverage.unsymbolized_by[2].binary, "gone");
    EXPECT_EQ(coverage.unsymbolized_by[2].build_id, "");
  }
}

TEST(SymbolCoverage, StandsInTheTextAndSurvivesJson) {
  Fleet fleet;
  fill(fleet);
  const auto table = *fleet.top({});
  EXPECT_THAT(to_text(table),
              HasSubstr("no symbols for: gunzip 31.2 % (build ID 12ab), tool 25.0 % (build ID "
                        "xxh3:0102), gone 6.2 %\n"));
  const auto parsed = *from_json(to_json(table));
  ASSERT_EQ(parsed.coverage.unsymbolized_by.size(), 3);
  EXPECT_EQ(to_text(parsed), to_text(table));
}

TEST(SymbolCoverage, SaysNothingWhereEverythingHasNames) {
  Fleet fleet;
  fleet.add({.stacks = "main;work 6\n"});
  EXPECT_THAT(to_text(*fleet.top({})), Not(HasSubstr("no symbols")));
}

// `hits` of the function `name` in the first thread, without the callers of the function.
void add_stackless(wire::RawProfile& profile, const std::string& name, uint64_t hits) {
  wire::Locations& locations = *profile.mutable_locations();
  wire::Stacks& stacks = *profile.mutable_stacks();
  const auto add = [&](wire::LocationKind kind, uint64_t address, uint32_t parent) {
    stacks.add_parent(parent);
    stacks.add_location(static_cast<uint32_t>(locations.kind_size()));
    locations.add_kind(kind);
    locations.add_owner(0);
    locations.add_address(address);
    return static_cast<uint32_t>(stacks.parent_size());
  };
  const uint32_t unfinished = add(wire::UNFINISHED, wire::STACK_NOT_TAKEN, 0);
  const uint32_t leaf = add(wire::NAMED, static_cast<uint64_t>(profile.frames_size()), unfinished);
  profile.add_frames()->set_function(name);
  profile.mutable_samples(0)->add_thread(0);
  profile.mutable_samples(0)->add_stack(leaf);
  profile.mutable_samples(0)->add_hits(hits);
  profile.mutable_events(0)->set_hits(profile.events(0).hits() + hits);
}

TEST(SymbolCoverage, SaysHowManySamplesCameWithoutTheirStacks) {
  Fleet fleet;
  auto profile = make_profile({.stacks = "main;work 6\nidle 2\n"});
  add_stackless(profile, "work", 24);
  profile.mutable_events(0)->set_counter_total(64);  // 2 for each hit
  fleet.add(profile);
  const auto table = *fleet.top({});
  EXPECT_EQ(brief(table),
            "work 60 60\n"
            "idle 4 4\n"
            "[unfinished: stack not taken] 0 48\n"
            "main 0 12\n");
  EXPECT_DOUBLE_EQ(table.coverage.stackless_share, 0.75);
  EXPECT_THAT(to_text(table), HasSubstr("; 75.0 % without stacks"));
  EXPECT_EQ(to_text(*from_json(to_json(table))), to_text(table));
  EXPECT_DOUBLE_EQ(fleet.top({{"where", "function=idle"}})->coverage.stackless_share, 0);
}

TEST(SymbolCoverage, CodeOfNoFileIsNamedByItsKind) {
  Fleet fleet;
  fleet.add({.stacks = "\"\" 2\nmain 2\n"});
  const auto table = *fleet.top({});
  ASSERT_EQ(table.coverage.unsymbolized_by.size(), 1);
  EXPECT_EQ(table.coverage.unsymbolized_by[0].binary, "[no stack]");
}

}  // namespace
}  // namespace plimsoll::query
