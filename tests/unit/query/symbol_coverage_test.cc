#include "query/views/symbol_coverage.h"

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

TEST(SymbolCoverage, CodeOfNoFileIsNamedByItsKind) {
  Fleet fleet;
  fleet.add({.stacks = "\"\" 2\nmain 2\n"});
  const auto table = *fleet.top({});
  ASSERT_EQ(table.coverage.unsymbolized_by.size(), 1);
  EXPECT_EQ(table.coverage.unsymbolized_by[0].binary, "[no stack]");
}

}  // namespace
}  // namespace plimsoll::query
