// Which binary a function means, and what the store counts for it.
#include "query/annotate/counts/function_builds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "query/annotate/counts/annotate_request.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::annotate::function_builds_test {
namespace {

using query::Fleet;
using query::Snapshot;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kSearchId = "\x4f\x5a\x11\x22\x33\x44\x55\x66";
const std::string kOtherId = "\x4f\xff\x11\x22\x33\x44\x55\x66";

wire::Binary binary_of(const std::string& build_id, const std::string& path) {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(build_id);
  binary.set_path(path);
  return binary;
}

// parse() at 0x10 of two binaries, and inlined into another function at 0x20 of one.
class FunctionBuilds : public ::testing::Test {
 protected:
  FunctionBuilds() {
    wire::RawProfile profile =
        query::make_profile({.seed = 1, .stacks = "main;work 1\nevent=faults work 2\n"});
    query::add_sample(profile, binary_of(kSearchId, "/srv/search"), wire::ELF, 0x10, 3);
    query::add_sample(profile, binary_of(kSearchId, "/srv/search"), wire::ELF, 0x20, 4);
    query::add_sample(profile, binary_of(kOtherId, "/srv/other"), wire::ELF, 0x10, 5);
    fleet_.add(profile);
    const auto snapshot = *Snapshot::load(fleet_.path());
    std::vector<store::Binding> bindings;
    for (uint32_t id = 1; id < snapshot->dictionaries.locations.size(); ++id) {
      const store::LocationEntry& location = snapshot->dictionaries.locations[id];
      if (location.kind != wire::ELF) {
        continue;
      }
      std::vector<store::Frame> frames{{.function = "parse()", .linkage_name = "_Z5parsev"}};
      if (location.address == 0x20) {
        frames[0].is_inlined = true;
        frames.push_back({.function = "read()", .linkage_name = "_Z4readv"});
      }
      bindings.push_back({id, std::move(frames)});
    }
    fleet_.bind(bindings);
  }

  Result<FunctionBuild> chosen(const std::string& function, const std::string& binary = {}) const {
    const auto snapshot = Snapshot::load(fleet_.path());
    return choose_build(function, binary, {}, **snapshot);
  }

  Result<MeasuredFunction> measured(const query::Parameters& parameters) const {
    const auto request = parse_annotate(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return measure_function(*request, parameters, 0, **snapshot);
  }

  Fleet fleet_;
};

TEST_F(FunctionBuilds, TheOnlyBinaryIsMeant) {
  for (const char* name : {"read()", "_Z4readv"}) {
    const auto build = chosen(name);
    ASSERT_TRUE(build) << build.error().text();
    EXPECT_EQ(build->build_id, "4f5a112233445566");
    EXPECT_EQ(build->path, "/srv/search");
    EXPECT_EQ(build->value, 4);
  }
}

TEST_F(FunctionBuilds, SeveralAreListedByTheirSamples) {
  const auto several = chosen("parse()");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(several.error().field, "binary");
  EXPECT_THAT(several.error().text(),
              AllOf(HasSubstr("2 binaries have samples in a function called parse()"),
                    HasSubstr("/srv/search (build ID 4f5a112233445566, 58.3 %), /srv/other (build ID "
                              "4fff112233445566, 41.7 %)")));
}

TEST_F(FunctionBuilds, ABinaryIsChosenByIdPathOrName) {
  for (const char* binary : {"4fff", "4FFF11", "/srv/other", "other"}) {
    const auto build = chosen("parse()", binary);
    ASSERT_TRUE(build) << binary << ": " << build.error().text();
    EXPECT_EQ(build->path, "/srv/other");
  }
  EXPECT_EQ(chosen("parse()", "4f").error().code, ErrorCode::kInvalid) << "two begin with it";
  EXPECT_THAT(chosen("parse()", "abcd").error().text(),
              AllOf(HasSubstr("parse() has no samples in abcd"), HasSubstr("/srv/search")));
}

TEST_F(FunctionBuilds, ABuildIsKnownByEachOfItsPaths) {
  wire::RawProfile profile = query::make_profile({.seed = 2, .stacks = "main;work 1\n"});
  query::add_sample(profile, binary_of(kSearchId, "/opt/finder"), wire::ELF, 0x30, 1);
  fleet_.add(profile);
  const auto snapshot = *Snapshot::load(fleet_.path());
  for (uint32_t id = 1; id < snapshot->dictionaries.locations.size(); ++id) {
    if (snapshot->dictionaries.locations[id].address == 0x30) {
      fleet_.bind({{id, {{.function = "parse()"}}}});
    }
  }
  for (const char* binary : {"/opt/finder", "finder", "/srv/search", "search"}) {
    const auto build = chosen("parse()", binary);
    ASSERT_TRUE(build) << binary << ": " << build.error().text();
    EXPECT_EQ(build->build_id, "4f5a112233445566");
  }
}

TEST_F(FunctionBuilds, AnUnknownFunctionHasNone) {
  const auto unknown = chosen("prase()");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().field, "function");
  EXPECT_THAT(unknown.error().text(), HasSubstr("called prase()"));
}

TEST_F(FunctionBuilds, EachEventHasItsCounts) {
  const auto counts = measured({{"function", "read()"}, {"event", "cycles,faults"}});
  ASSERT_TRUE(counts) << counts.error().text();
  ASSERT_EQ(counts->counts.size(), 2);
  EXPECT_EQ(counts->counts[0].value, 7) << "of the whole binary";
  EXPECT_EQ(counts->counts[0].addresses.size(), 2);
  EXPECT_EQ(counts->counts[1].event, "faults");
  EXPECT_EQ(counts->counts[1].value, 0) << "it has none of those";
  EXPECT_EQ(measured({{"function", "read()"}, {"event", "nonsense"}}).error().field, "event");
}

TEST(MeasuredFunction, SaysWhichRowsAreMissing) {
  Fleet fleet({.max_profiles = 1});
  wire::RawProfile profile = query::make_profile({.seed = 1, .stacks = "main;work 1\n"});
  query::add_sample(profile, binary_of(kSearchId, "/srv/search"), wire::ELF, 0x10, 3);
  fleet.add(profile);
  const auto before = *Snapshot::load(fleet.path());
  for (uint32_t id = 1; id < before->dictionaries.locations.size(); ++id) {
    if (before->dictionaries.locations[id].kind == wire::ELF) {
      fleet.bind({{id, {{.function = "parse()"}}}});
    }
  }
  // Blocks of their own.
  fleet.add({.seed = 2, .stacks = "main;work 1\n"});
  fleet.add({.seed = 3, .stacks = "main;work 1\n"});
  const std::string segment =
      std::filesystem::directory_iterator(fleet.path() + "/blocks/000002/segments")->path().string();
  std::string bytes = *read_file(segment, 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(segment, std::ios::binary) << bytes;

  const query::Parameters parameters{{"function", "parse()"}};
  const auto measured =
      measure_function(*parse_annotate(parameters, 0), parameters, 0, **Snapshot::load(fleet.path()));
  ASSERT_TRUE(measured) << measured.error().text();
  EXPECT_EQ(measured->counts[0].samples, 3);
  EXPECT_THAT(measured->counts[0].notes, ::testing::Contains(HasSubstr("missing from this answer")));
}

TEST_F(FunctionBuilds, BadParametersAreRefused) {
  for (const auto& [name, text] : {std::pair("order", "size"),
                                   {"format", "xml"},
                                   {"event", "branch-records"},
                                   {"event", "cycles,cycles"},
                                   {"event", ","},
                                   {"where", "nonsense"}}) {
    const auto refused = measured({{"function", "read()"}, {name, text}});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(refused.error().field, name);
  }
  EXPECT_EQ(measured({}).error().field, "function");
}

TEST(SplitEvents, KeepsTheTermsOfAnEventTogether) {
  EXPECT_THAT(split_events("cycles,cache-misses"), ElementsAre("cycles", "cache-misses"));
  EXPECT_THAT(split_events("cpu/event=0x3c,umask=1/,cycles"),
              ElementsAre("cpu/event=0x3c,umask=1/", "cycles"));
  EXPECT_THAT(split_events(""), ElementsAre(""));
}

}  // namespace
}  // namespace plimsoll::annotate::function_builds_test
