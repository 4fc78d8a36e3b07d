#include "query/export/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "proto/pprof.pb.h"
#include "tests/gunzip.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

pprof::Profile export_of(const Fleet& fleet, const Parameters& parameters = {}) {
  const auto request = parse_export(parameters, 0);
  const auto snapshot = Snapshot::load(fleet.path());
  pprof::Profile profile;
  if (!request || !snapshot) {
    ADD_FAILURE() << (!request ? request.error().text() : snapshot.error().text());
    return profile;
  }
  const auto encoded = export_pprof(*request, **snapshot);
  EXPECT_TRUE(encoded) << encoded.error().text();
  EXPECT_TRUE(profile.ParseFromString(testing::gunzip(encoded.value_or(""))));
  return profile;
}

const std::string& text(const pprof::Profile& profile, int64_t index) {
  return profile.string_table(static_cast<int>(index));
}

// "lex;parse;main": leaf first, inlined functions before those that they are in; "[binary]" without a name.
std::string stack_text(const pprof::Profile& profile, const pprof::Sample& sample) {
  std::string stack;
  for (const uint64_t id : sample.location_id()) {
    const auto& location = profile.location(static_cast<int>(id) - 1);
    for (const auto& line : location.line()) {
      stack += (stack.empty() ? "" : ";") +
               text(profile, profile.function(static_cast<int>(line.function_id()) - 1).name());
    }
    if (location.line().empty()) {
      stack +=
          fmt::format("{}[{}]", stack.empty() ? "" : ";",
                      text(profile, profile.mapping(static_cast<int>(location.mapping_id()) - 1).filename()));
    }
  }
  return stack;
}

// "lex;main 4 0 app=db thread=io machine=m1": a line for each sample.
std::string brief(const pprof::Profile& profile) {
  std::string lines;
  for (const auto& sample : profile.sample()) {
    lines += stack_text(profile, sample);
    for (const int64_t value : sample.value()) {
      lines += fmt::format(" {}", value);
    }
    for (const auto& label : sample.label()) {
      lines += fmt::format(" {}={}", text(profile, label.key()), text(profile, label.str()));
    }
    lines += "\n";
  }
  return lines;
}

TEST(ExportPprof, SamplesCarryValuesAndLabels) {
  Fleet fleet;
  fleet.add({.machine = "m1",
             .events = {{.name = "cycles", .scale = 2.6}},
             .process = "db",
             .job = "storage",
             .stacks = "main;read>checksum 3\nthread=io main;scan;scan 2\n\"\" 1\n"});
  fleet.add({.seed = 2, .machine = "m2", .process = "web", .stacks = "main 5\n"});
  EXPECT_EQ(brief(export_of(fleet)),
            "[no stack] 3 job=storage app=db thread=db machine=m1\n"
            "checksum;read;main 8 job=storage app=db thread=db machine=m1\n"
            "scan;scan;main 5 job=storage app=db thread=io machine=m1\n"
            "main 5 app=web thread=web machine=m2\n");
}

TEST(ExportPprof, HiddenFramesAreNotWritten) {
  Fleet fleet;
  fleet.add({.stacks = "main;wrap;read>checksum 3\nmain;wrap 2\nwrap 1\n"});
  EXPECT_EQ(brief(export_of(fleet, {{"hide", "wrap|read"}})),
            "main 2 app=app thread=app machine=m1\n"
            "checksum;main 3 app=app thread=app machine=m1\n");
}

TEST(ExportPprof, FunctionsHaveTheirLinkageNames) {
  Fleet fleet;
  fleet.add({.stacks = "hot 20\n"});
  fleet.bind({{1, {{.function = "parse()", .linkage_name = "_Z5parsev.cold"}}}});
  const pprof::Profile profile = export_of(fleet);
  ASSERT_EQ(profile.function_size(), 1);
  EXPECT_EQ(text(profile, profile.function(0).name()), "parse()");
  EXPECT_EQ(text(profile, profile.function(0).system_name()), "_Z5parsev.cold");
}

TEST(ExportPprof, EachEventIsASampleType) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cycles"}, {.name = "wait", .scale = 1000, .unit = wire::NANOSECONDS}},
             .stacks = "main;a 4\nevent=wait main;a 2\nevent=wait main;b 1\n"});
  const auto both = export_of(fleet, {{"event", "wait"}, {"event", "cycles"}});
  EXPECT_EQ(brief(both),
            "a;main 2000 4 app=app thread=app machine=m1\n"
            "b;main 1000 0 app=app thread=app machine=m1\n");
  ASSERT_EQ(both.sample_type_size(), 2);
  EXPECT_EQ(text(both, both.sample_type(0).type()), "wait");
  EXPECT_EQ(text(both, both.sample_type(0).unit()), "nanoseconds");
  EXPECT_EQ(text(both, both.sample_type(1).unit()), "count");
  EXPECT_EQ(text(both, both.default_sample_type()), "wait");
  EXPECT_EQ(both.period(), 1000);
  EXPECT_EQ(brief(export_of(fleet)), "a;main 4 app=app thread=app machine=m1\n");
}

TEST(ExportPprof, TimesAreThoseOfTheWindows) {
  Fleet fleet;
  fleet.add({.seed = 1, .from_ns = 1'000, .length_ns = 500});
  fleet.add({.seed = 2, .from_ns = 2'000, .length_ns = 500});
  const auto profile = export_of(fleet);
  EXPECT_EQ(profile.time_nanos(), 1'000);
  EXPECT_EQ(profile.duration_nanos(), 1'500);
}

TEST(ExportPprof, AnEventWithoutAProfileInTheRangeHasNoPartInTheTimes) {
  Fleet fleet;
  fleet.add({.seed = 1, .from_ns = 1'000, .length_ns = 500});
  fleet.add({.seed = 2,
             .from_ns = 2'000'000'000'000,
             .length_ns = 500'000'000'000,
             .events = {{.name = "wait", .unit = wire::NANOSECONDS}},
             .stacks = "event=wait main 1\n"});
  const auto profile =
      export_of(fleet, {{"event", "cycles"}, {"event", "wait"}, {"since", "1970-01-01T00:30:00Z"}});
  EXPECT_EQ(profile.time_nanos(), 2'000'000'000'000);
  EXPECT_EQ(profile.duration_nanos(), 500'000'000'000);
}

TEST(ExportPprof, MappingsAreBinariesAndTheBusiestProgramComesFirst) {
  Fleet fleet;
  wire::RawProfile profile = make_profile({.process = "app", .stacks = "main 1\n"});
  wire::Binary library;
  library.set_path("/usr/lib/libz.so.1");
  library.set_identity_kind(wire::GNU_BUILD_ID);
  library.set_identity("\xab\xcd");
  wire::Binary kernel;
  kernel.set_path("[kernel]");
  wire::Binary program;
  program.set_path("/usr/bin/app");
  add_sample(profile, library, wire::ELF, 0x1000, 40);
  add_sample(profile, kernel, wire::KERNEL, 0x10, 16);
  add_sample(profile, program, wire::ELF, 0x401000, 8);
  add_sample(profile, library, wire::ELF, 0x2000, 4);
  fleet.add(profile);
  const auto exported = export_of(fleet);
  ASSERT_EQ(exported.mapping_size(), 3);
  EXPECT_EQ(text(exported, exported.mapping(0).filename()), "/usr/bin/app");
  EXPECT_EQ(text(exported, exported.mapping(1).filename()), "/usr/lib/libz.so.1");
  EXPECT_EQ(text(exported, exported.mapping(1).build_id()), "abcd");
  EXPECT_EQ(text(exported, exported.mapping(2).filename()), "[kernel]");
  EXPECT_FALSE(exported.mapping(0).has_functions()) << "there are no names yet";
  EXPECT_THAT(brief(exported), HasSubstr("[/usr/lib/libz.so.1] 40 "));
  EXPECT_THAT(brief(exported), HasSubstr("main 1 "));
}

TEST(ExportPprof, SelectsAsTopDoesAndNamesWhatItDoesNotKnow) {
  Fleet fleet;
  fleet.add({.stacks = "process=db main;read 4\nprocess=web main;render 6\n"});
  EXPECT_EQ(brief(export_of(fleet, {{"where", "app=db"}})), "read;main 4 app=db thread=db machine=m1\n");
  EXPECT_EQ(brief(export_of(fleet, {{"where", "app=nobody"}})), "");
  EXPECT_THAT(parse_export({{"by", "app"}}, 0).error().text(),
              HasSubstr("the parameters are where, focus, ignore, hide, since, until, event"));
  EXPECT_THAT(parse_export({{"event", "a"}, {"event", "a"}}, 0).error().text(), HasSubstr("listed twice"));
  const auto request = parse_export({{"event", "wait"}}, 0);
  EXPECT_THAT(export_pprof(*request, **Snapshot::load(fleet.path())).error().text(),
              HasSubstr("events with samples: cycles"));
}

TEST(ExportPprof, EqualDataGiveEqualBytes) {
  Fleet fleet;
  fleet.add({.stacks = "main;a 4\nmain;b 3\nthread=io main;a 2\n"});
  const auto request = parse_export({}, 0);
  const auto snapshot = *Snapshot::load(fleet.path());
  EXPECT_EQ(*export_pprof(*request, *snapshot), *export_pprof(*request, *snapshot));
}

// Sums by function, as any reader makes them, are those of top.
TEST(ExportPprof, AgreesWithTop) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    std::string stacks;
    for (int line = 0; line < 50; ++line) {
      std::string stack = "main";
      for (auto depth = random() % 5; depth > 0; --depth) {
        stack += fmt::format("{}f{}", random() % 3 == 0 ? '>' : ';', random() % 6);
      }
      stacks += fmt::format("process=p{} {} {}\n", random() % 3, stack, 1 + random() % 9);
    }
    Fleet fleet;
    fleet.add({.seed = seed, .events = {{.name = "cycles", .scale = 10}}, .stacks = stacks});
    const auto profile = export_of(fleet);
    std::map<std::string, std::pair<int64_t, int64_t>> sums;  // self and total
    for (const auto& sample : profile.sample()) {
      std::string rest = stack_text(profile, sample) + ";";
      sums[rest.substr(0, rest.find(';'))].first += sample.value(0);
      std::map<std::string, bool> seen;
      for (; !rest.empty(); rest.erase(0, rest.find(';') + 1)) {
        const std::string name = rest.substr(0, rest.find(';'));
        if (!std::exchange(seen[name], true)) {
          sums[name].second += sample.value(0);
        }
      }
    }
    std::map<std::string, std::pair<int64_t, int64_t>> expected;
    const auto table = fleet.top({{"limit", "1000"}});
    for (const auto& row : table->rows) {
      expected[std::get<std::string>(row[0])] = {
          std::llround(std::get<double>(row[1])),
          std::llround(std::get<double>(row[column_of(*table, "total")]))};
    }
    EXPECT_EQ(sums, expected) << "seed " << seed;
  }
}

// The format has no place for what else tells samples apart.
TEST(ExportGperftools, StacksOfAllMachinesAndThreadsAreOne) {
  Fleet fleet;
  fleet.add({.machine = "m1", .stacks = "main;a 4\nthread=io main;a 2\n"});
  fleet.add({.seed = 2, .machine = "m2", .stacks = "main;a 5\n"});
  const auto written = export_gperftools(*parse_export({}, 0), **Snapshot::load(fleet.path()));
  ASSERT_TRUE(written) << written.error().text();
  const std::string mark = "--- profile\n";
  std::vector<uint64_t> words((written->size() - written->find(mark) - mark.size()) / sizeof(uint64_t));
  std::memcpy(words.data(), written->data() + written->find(mark) + mark.size(),
              words.size() * sizeof(uint64_t));
  EXPECT_THAT(words, ElementsAre(0, 3, 0, 1, 0,            // header
                                 11, 2, 0x10000, 0x10010,  // count, depth, leaf first
                                 0, 1, 0));
}

TEST(ExportGperftools, HoldsOneEvent) {
  Fleet fleet;
  fleet.add({.stacks = "main;a 4\n"});
  const auto snapshot = *Snapshot::load(fleet.path());
  const auto written = export_gperftools(*parse_export({}, 0), *snapshot);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_THAT(*written, HasSubstr("--- symbol\nbinary=plimsoll cycles\n"));
  const auto refused = export_gperftools(*parse_export({{"event", "a"}, {"event", "b"}}, 0), *snapshot);
  EXPECT_THAT(refused.error().text(), HasSubstr("has one event, not 2"));
}

}  // namespace
}  // namespace plimsoll::query
