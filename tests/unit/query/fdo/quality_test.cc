// What a report on a compiler profile says, and what it refuses.
#include "query/fdo/quality/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace plimsoll::fdo {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// One that nothing is wrong with.
QualityReport good_report() {
  QualityReport report{
      .binary = "search", .build_ids = {"4f5a"}, .event = "cycles", .samples = 5000, .machines = 3};
  report.lines = MatchedShares{.matched = 0.95, .no_line = 0.05};
  report.hot = {{.name = "find", .share = 0.9, .samples = 4500}};
  return report;
}

// The quality, then the reasons, a line each.
std::string graded(QualityReport report) {
  grade(report);
  std::string text(name_of(report.usefulness));
  for (const std::string& reason : report.reasons) {
    text += "\n" + reason.substr(0, reason.find_first_of(":;"));
  }
  return text;
}

TEST(Quality, AGoodProfileHasNoReasonsAgainstIt) {
  EXPECT_EQ(graded(good_report()), "good");
}

TEST(Quality, FewSamplesLowerIt) {
  QualityReport report = good_report();
  for (const auto& [samples, text] : {std::pair(99, "none\n99 samples"), std::pair(100, "poor\n100 samples"),
                                      std::pair(300, "fair\n300 samples"), std::pair(2000, "good")}) {
    report.samples = samples;
    EXPECT_EQ(graded(report), text);
  }
}

TEST(Quality, SamplesWithoutLinesLowerIt) {
  QualityReport report = good_report();
  report.lines = MatchedShares{.matched = 0.7, .no_function = 0.3};
  EXPECT_EQ(graded(report), "fair\n70.0 % of the samples belong to lines");
  report.lines = MatchedShares{.matched = 0.3, .no_start_line = 0.7};
  EXPECT_EQ(graded(report), "poor\n30.0 % of the samples belong to lines");
  report.lines = MatchedShares{.matched = 0, .no_start_line = 1};
  grade(report);
  EXPECT_EQ(report.usefulness, Usefulness::kNone);
  EXPECT_THAT(report.reasons.at(0), HasSubstr("-gmlt -fdebug-info-for-profiling"));
  report.lines = {};
  EXPECT_EQ(graded(report), "good");
}

TEST(Quality, ThinHotFunctionsAndUnlikeHalvesLowerIt) {
  QualityReport report = good_report();
  report.thin = report.hot;
  EXPECT_EQ(graded(report), "fair\n1 of 1 hot functions have fewer than 20 samples");
  report = good_report();
  report.halves = HalvesCompared{.distance = 0.5, .distance_by_chance = 0.1};
  EXPECT_EQ(graded(report), "fair\ntwo halves of the machines differ by 0.50 (chance explains 0.10)");
  report.halves->distance_by_chance = 0.3;
  EXPECT_EQ(graded(report), "good");
}

TEST(Quality, AnInterpreterIsRefusedUnlessBranchesWereRecorded) {
  QualityReport report = good_report();
  report.switch_heavy = SwitchHeavy{.function = "interpret", .share = 0.8, .targets = 500};
  grade(report);
  EXPECT_EQ(report.usefulness, Usefulness::kNone);
  const Status refused = check_quality(report, Usefulness::kPoor);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("interpret has 80 % of the samples and jumps to 500 places"));
  EXPECT_TRUE(check_quality(report, Usefulness::kNone));
  report.is_of_branches = true;
  report.branch_records = 16 * report.samples;
  EXPECT_EQ(graded(report), "good");
}

// A function of one-instruction blocks, ten bytes apart: the first jumps through a table to `targets` of them.
FunctionCode interpreter(uint32_t targets) {
  FunctionCode code{.name = "interpret", .entry = 0x1000};
  for (uint32_t block = 0; block <= targets; ++block) {
    const uint64_t from = 0x1000 + uint64_t{block} * 10;
    code.instructions.push_back({.address = from, .bytes = 10});
    code.blocks.push_back({.from = from,
                           .to = from + 10,
                           .last = from,
                           .first_instruction = block,
                           .instructions = 1,
                           .first_edge = block == 0 ? 0 : targets,
                           .edges = block == 0 ? targets : 0,
                           .end = block == 0 ? BlockEnd::kTable : BlockEnd::kReturn});
    if (block > 0) {
      code.edges.push_back({.from = 0, .to = block, .is_taken = true});
    }
  }
  code.parts = {{.from = 0x1000, .to = 0x1000 + uint64_t{targets + 1} * 10}};
  return code;
}

FunctionCode leaf_function(const std::string& name, uint64_t from) {
  return {
      .name = name,
      .entry = from,
      .parts = {{.from = from, .to = from + 10}},
      .instructions = {{.address = from, .bytes = 10}},
      .blocks = {{.from = from, .to = from + 10, .last = from, .instructions = 1, .end = BlockEnd::kReturn}}};
}

ProgramCode program_of(std::vector<FunctionCode> functions) {
  ProgramCode code{.functions = std::move(functions)};
  for (uint32_t i = 0; i < code.functions.size(); ++i) {
    code.parts.push_back({.range = code.functions[i].parts[0], .function = i});
  }
  return code;
}

QualityReport measured(const BinaryCounts& counts, const ProgramCode& code, const Execution& execution = {}) {
  return measure_quality({.counts = counts, .execution = execution, .code = code, .binary = "app"});
}

BinaryCounts counts_of(const std::vector<AddressSamples>& addresses) {
  BinaryCounts counts{.build_id = "4f5a", .event = "cycles", .addresses = addresses};
  for (const AddressSamples& at : addresses) {
    counts.value += at.value;
    counts.samples += at.samples;
    counts.value_of_half += at.value_of_half;
  }
  counts.machines = 4;
  return counts;
}

TEST(Quality, AnInterpreterIsFoundByItsJump) {
  const BinaryCounts counts = counts_of(
      {{.address = 0x1000, .value = 60, .samples = 60}, {.address = 0x9000, .value = 40, .samples = 40}});
  EXPECT_TRUE(measured(counts, program_of({interpreter(500), leaf_function("other", 0x9000)})).switch_heavy);
  EXPECT_FALSE(measured(counts, program_of({interpreter(50), leaf_function("other", 0x9000)})).switch_heavy);
  const BinaryCounts elsewhere = counts_of(
      {{.address = 0x1000, .value = 40, .samples = 40}, {.address = 0x9000, .value = 60, .samples = 60}});
  EXPECT_FALSE(
      measured(elsewhere, program_of({interpreter(500), leaf_function("other", 0x9000)})).switch_heavy);
}

// Neither an x86 function with one unread jump nor most of AArch64's is an interpreter for that.
TEST(Quality, JumpsToUnknownPlacesAreAWarning) {
  FunctionCode large = interpreter(500);
  large.blocks[0].end = BlockEnd::kUnknownJump;
  large.has_unknown_jumps = true;
  BinaryCounts counts = counts_of({{.address = 0x1000, .value = 6000, .samples = 6000},
                                   {.address = 0x9000, .value = 4000, .samples = 4000}});
  const QualityReport report = measured(counts, program_of({large, leaf_function("other", 0x9000)}));
  EXPECT_FALSE(report.switch_heavy);
  EXPECT_DOUBLE_EQ(report.in_unknown_jumps, 0.6);
  EXPECT_EQ(graded(report),
            "fair\n60 % of the samples are in functions with indirect jumps whose targets are unknown");
}

TEST(Quality, SamplesOutsideOfAllFunctionsLowerIt) {
  const auto report_of = [&](double elsewhere) {
    ProgramCode code = program_of({leaf_function("a", 0x1000)});
    code.addresses_elsewhere = 1;
    code.addresses_over_limit = 2;
    return measured(counts_of({{.address = 0x1000, .value = 10000 - elsewhere, .samples = 10000 - elsewhere},
                               {.address = 0x9000, .value = elsewhere, .samples = elsewhere}}),
                    code);
  };
  EXPECT_EQ(graded(report_of(2000)), "good");
  EXPECT_THAT(graded(report_of(4000)), HasSubstr("fair\n60.0 % of the samples are in functions"));
  EXPECT_THAT(graded(report_of(9000)), HasSubstr("none\n10.0 % of the samples are in functions"));
  EXPECT_THAT(
      report_of(2000).notes,
      ElementsAre("1 sampled addresses are in no function that symbols name",
                  "2 sampled addresses are in functions that are too large, or too many, to be read"));
}

TEST(Quality, FunctionsOfOneNameAreApart) {
  const BinaryCounts counts = counts_of({{.address = 0x1000, .value = 30, .samples = 30},
                                         {.address = 0x2000, .value = 30, .samples = 30},
                                         {.address = 0x3000, .value = 40, .samples = 40}});
  const QualityReport report = measured(
      counts,
      program_of({leaf_function("init", 0x1000), leaf_function("init", 0x2000), leaf_function("c", 0x3000)}));
  EXPECT_EQ(report.functions, 3);
  ASSERT_EQ(report.hot.size(), 3);
  EXPECT_EQ(report.hot[0].name, "c");
}

TEST(Quality, BranchRecordsCountByRecordings) {
  QualityReport report = good_report();
  report.is_of_branches = true;
  report.samples = 1'000'000;
  report.branch_records = 1599;
  EXPECT_EQ(graded(report), "none\n100 recordings of branches");
  report.branch_records = 32'000;
  EXPECT_EQ(graded(report), "good");
  // All ranges and branches of a recording are one half of it that cannot be.
  Execution execution;
  execution.counts.from_branches = true;
  execution.bogus.over_jump = 10;
  execution.bogus.not_a_branch = 20;
  execution.ranges_kept = 10;
  execution.branches_kept = 20;
  BinaryCounts counts{.build_id = "4f5a", .event = "branch-records"};
  counts.branches = {{.from = 0x1000, .to = 0x1000, .value = 160, .samples = 160}};
  report = measured(counts, program_of({leaf_function("a", 0x1000)}), execution);
  EXPECT_DOUBLE_EQ(report.bogus_share, 0.5);
  ASSERT_EQ(report.thin.size(), 1);
  EXPECT_EQ(report.thin[0].samples, 10);
}

TEST(Quality, SaysWhichOlderBuildsWereNotMerged) {
  const BinaryCounts counts{.build_id = "4f5a"};
  const Execution execution;
  const ProgramCode code;
  const QualityReport report = measure_quality(
      {.counts = counts,
       .execution = execution,
       .code = code,
       .older = {{.name = "5f5a", .samples = 200, .has_other_basis = true}, {.name = "6f5a"}}});
  EXPECT_THAT(
      report.notes,
      ::testing::ElementsAre("5f5a was not merged: it goes by branch records, and the newer build by samples",
                             "6f5a has no samples in the selection"));
  EXPECT_THAT(to_text(report), Not(HasSubstr("carried over")));
}

// What the profile's counts lost on the way.
TEST(Quality, CodeThatBecameNoLinesIsNoted) {
  ProfileReport profile;
  profile.counted.weight = 100;
  profile.no_line.weight = 30;
  profile.no_call_line.weight = 0.5;
  profile.rounded_to_zero = 7;
  const BinaryCounts counts = counts_of({{.address = 0x1000, .value = 30, .samples = 30}});
  const ProgramCode code = program_of({leaf_function("a", 0x1000)});
  const Execution execution;
  const QualityReport report =
      measure_quality({.counts = counts, .execution = execution, .code = code, .profile = &profile});
  EXPECT_THAT(report.notes, ElementsAre("30.0 % of the code that was counted has no line",
                                        "7 lines ran so rarely that their count is 0"));
}

TEST(Quality, TextOfAServerTellsATerminalNothing) {
  QualityReport report = good_report();
  report.event = "cycles\x1b[2J";
  report.build_ids = {"4f\x1b[2J"};
  report.reasons = {"a\x1b[2J"};
  report.notes = {"\u009b2J"};
  report.binary = "\u202e";
  EXPECT_THAT(to_text(report), Not(AnyOf(HasSubstr("\x1b"), HasSubstr("\u009b"), HasSubstr("\u202e"))));
  EXPECT_THAT(to_json(report), Not(AnyOf(HasSubstr("\x1b"), HasSubstr("\u009b"), HasSubstr("\u202e"))));
}

TEST(Quality, DensitiesAndHotFunctionsAreOfSamples) {
  const BinaryCounts counts = counts_of({{.address = 0x1000, .value = 90, .samples = 30},
                                         {.address = 0x2000, .value = 8, .samples = 10},
                                         {.address = 0x3000, .value = 2, .samples = 2}});
  Execution execution;
  for (const uint64_t at : {0x1000, 0x2000, 0x3000}) {
    execution.counts.ranges.push_back({.first = at, .last = at, .count = 1});
  }
  const QualityReport report = measured(
      counts,
      program_of({leaf_function("a", 0x1000), leaf_function("b", 0x2000), leaf_function("c", 0x3000)}),
      execution);
  EXPECT_EQ(report.functions, 3);
  EXPECT_DOUBLE_EQ(report.samples_per_function, 14);
  EXPECT_DOUBLE_EQ(report.profile_density, 0.2);  // c: the third function is needed for 99 %
  ASSERT_EQ(report.hot.size(), 1);
  EXPECT_EQ(report.hot[0].name, "a");
  EXPECT_DOUBLE_EQ(report.hot[0].share, 0.9);
  EXPECT_THAT(report.thin, IsEmpty());
}

TEST(Quality, HalvesAreComparedFunctionByFunction) {
  const ProgramCode code = program_of({leaf_function("a", 0x1000), leaf_function("b", 0x2000)});
  const auto distance = [&](double half_of_a, double half_of_b) {
    return measured(
               counts_of({{.address = 0x1000, .value = 1000, .samples = 1000, .value_of_half = half_of_a},
                          {.address = 0x2000, .value = 1000, .samples = 1000, .value_of_half = half_of_b}}),
               code)
        .halves;
  };
  EXPECT_DOUBLE_EQ(distance(500, 500)->distance, 0);
  EXPECT_FALSE(distance(500, 500)->differ());
  EXPECT_DOUBLE_EQ(distance(1000, 0)->distance, 2);
  EXPECT_TRUE(distance(1000, 0)->differ());
  EXPECT_NEAR(distance(500, 500)->entropy, 1, 1e-12);
  EXPECT_FALSE(distance(0, 0));
}

TEST(Quality, TheDocumentHasEveryFigure) {
  QualityReport report = good_report();
  grade(report);
  const auto document = nlohmann::json::parse(to_json(report), nullptr, false);
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document["usefulness"], "good");
  EXPECT_EQ(document["lines"]["matched_share"], 0.95);
  EXPECT_EQ(document["hot_functions"][0]["function"], "find");
  EXPECT_TRUE(document["halves"].is_null());
  EXPECT_THAT(to_text(report), HasSubstr("Quality of the profile of search: good\n"));
}

}  // namespace
}  // namespace plimsoll::fdo
