#include "query/views/flame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<Flame> ask(const Fleet& fleet, const Parameters& parameters = {}) {
  const auto request = parse_flame(parameters, 0);
  const auto snapshot = Snapshot::load(fleet.path());
  if (!request || !snapshot) {
    return !request ? propagate(request) : propagate(snapshot);
  }
  return flame(*request, **snapshot);
}

std::string folded(const Result<Flame>& flame) {
  return flame ? to_folded(*flame).value_or("too large") : flame.error().text();
}

// "all 10/0": name, total, self, indented by its depth.
std::string line_of(const Flame& flame, const FlameNode& node) {
  return fmt::format("{:{}}{} {}/{}\n", "", node.depth, flame.names[node.name], node.total, node.self);
}

// A line for each node.
std::string brief(const Result<Flame>& flame) {
  if (!flame) {
    return flame.error().text();
  }
  std::string text;
  for (const FlameNode& node : flame->nodes) {
    text += line_of(*flame, node);
  }
  return text;
}

// Stacks of up to six of three functions; each with 1 to 9 hits.
std::map<std::string, uint64_t> random_stacks(std::mt19937_64& random, int lines) {
  std::map<std::string, uint64_t> stacks;
  for (int line = 0; line < lines; ++line) {
    std::string stack(1, static_cast<char>('a' + random() % 3));
    for (auto depth = random() % 6; depth > 0; --depth) {
      stack += fmt::format(";{}", static_cast<char>('a' + random() % 3));
    }
    stacks[stack] += 1 + random() % 9;
  }
  return stacks;
}

std::string text_of(const std::map<std::string, uint64_t>& stacks) {
  std::string text;
  for (const auto& [stack, hits] : stacks) {
    text += fmt::format("{} {}\n", stack, hits);
  }
  return text;
}

TEST(Flame, AFunctionCalledAllIsNotTheRoot) {
  Fleet fleet;
  fleet.add({.stacks = "all;work 2\nall 1\n"});
  EXPECT_EQ(brief(ask(fleet)),
            "all 3/0\n"
            " all 3/1\n"
            "  work 2/2\n");
}

TEST(Flame, MergesStacksOfAllMachinesIntoOneTree) {
  Fleet fleet;
  fleet.add({.seed = 1, .machine = "m1", .stacks = "main;parse;lex 4\nmain;parse 2\nmain;write 3\n"});
  fleet.add({.seed = 2, .machine = "m2", .stacks = "main;parse;lex 1\nidle 1\n"});
  EXPECT_EQ(brief(ask(fleet)),
            "all 11/0\n"
            " main 10/0\n"
            "  parse 7/2\n"
            "   lex 5/5\n"
            "  write 3/3\n"
            " idle 1/1\n");
}

TEST(Flame, InlinedFramesAreNodesAndRecursionGoesDeeper) {
  Fleet fleet;
  fleet.add({.stacks = "main;read>checksum 3\nmain;scan;scan 2\n"});
  EXPECT_EQ(folded(ask(fleet)), "main;read;checksum 3\nmain;scan;scan 2\n");
}

TEST(Flame, EqualFunctionsInlinedOrCalledAreOneNode) {
  Fleet fleet;
  fleet.add({.stacks = "main;read>checksum 3\nmain;read;checksum 4\n"});
  EXPECT_EQ(folded(ask(fleet)), "main;read;checksum 7\n");
}

TEST(Flame, CountsInTheEventsUnit) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cycles"}, {.name = "wait", .scale = 2.5, .unit = wire::NANOSECONDS}},
             .stacks = "main 1\nevent=wait main;lock 3\n"});
  const auto waits = ask(fleet, {{"event", "wait"}});
  EXPECT_EQ(waits->event, "wait");
  EXPECT_EQ(waits->unit, "ns");
  EXPECT_EQ(waits->nodes[0].total, 7.5);
  EXPECT_EQ(folded(waits), "main;lock 8\n");
}

TEST(Flame, SelectsAsTopDoes) {
  Fleet fleet;
  fleet.add({.stacks = "process=db main;read 4\nprocess=web main;render 6\n"});
  EXPECT_EQ(folded(ask(fleet, {{"where", "app=db"}})), "main;read 4\n");
  EXPECT_EQ(folded(ask(fleet, {{"where", "app=nobody"}})), "");
  EXPECT_THAT(folded(ask(fleet, {{"event", "wait"}})), HasSubstr("events with samples: cycles"));
  EXPECT_THAT(
      folded(ask(fleet, {{"by", "app"}})),
      HasSubstr("the parameters are event, where, focus, ignore, hide, since, until, min_share, limit"));
}

TEST(Flame, SamplesWithoutAStackAndLocationsWithoutANameHaveANode) {
  Fleet fleet;
  wire::RawProfile profile = make_profile({.stacks = "main 1\n\"\" 2\n"});
  wire::Binary library;
  library.set_path("/usr/lib/libz.so.1");
  add_sample(profile, library, wire::ELF, 0x1000, 4);
  fleet.add(profile);
  const auto answer = ask(fleet);
  EXPECT_EQ(folded(answer), "[no stack] 2\n[no symbol in libz.so.1] 4\nmain 1\n");
  EXPECT_EQ(answer->coverage.samples, 7);
  EXPECT_DOUBLE_EQ(answer->coverage.unsymbolized_share, 6.0 / 7);
}

TEST(Flame, WhatIsCutStaysInTheTotals) {
  Fleet fleet;
  fleet.add({.stacks = "main;hot 90\nmain;warm;deep 8\nmain;cold 2\n"});
  const auto cut = ask(fleet, {{"min_share", "5%"}});
  EXPECT_EQ(brief(cut), "all 100/0\n main 100/0\n  hot 90/90\n  warm 8/0\n   deep 8/8\n");
  EXPECT_THAT(cut->notes,
              ElementsAre("showing the 5 largest nodes; 2 % of the total is in nodes that are cut"));
  EXPECT_EQ(folded(cut), "main 2\nmain;hot 90\nmain;warm;deep 8\n");
  EXPECT_EQ(brief(ask(fleet, {{"limit", "3"}})), "all 100/0\n main 100/0\n  hot 90/90\n");
  EXPECT_EQ(folded(ask(fleet, {{"limit", "1"}})), "[cut off] 100\n");
}

// Of three callers of one function, whose parts are small each: merged they are large.
TEST(Flame, WhatIsCutIsJudgedMerged) {
  Fleet fleet;
  fleet.add(
      {.stacks = "main;step@a.cc:1 2\nmain;step@a.cc:2 2\nmain;step@a.cc:3;leaf 2\nmain;other 3\nidle 91\n"});
  EXPECT_EQ(brief(ask(fleet, {{"min_share", "5%"}})), "all 100/0\n idle 91/91\n main 9/0\n  step 6/4\n");
}

// Every cut of random trees: the whole tree without what is too small, and without all but the largest.
TEST(Flame, ACutTreeIsTheLargestPartOfTheWhole) {
  std::mt19937_64 random(7);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Fleet fleet;
    fleet.add({.seed = seed, .stacks = text_of(random_stacks(random, 60))});
    const auto whole = ask(fleet);
    for (const double share : {0.01, 0.05, 0.2}) {
      std::string expected;
      for (const FlameNode& node : whole->nodes) {
        if (node.total >= share * whole->nodes[0].total) {
          expected += line_of(*whole, node);
        }
      }
      ASSERT_EQ(brief(ask(fleet, {{"min_share", fmt::format("{}", share)}})), expected) << "seed " << seed;
    }
    std::vector<double> totals;
    for (const FlameNode& node : whole->nodes) {
      totals.push_back(node.total);
    }
    std::ranges::sort(totals, std::greater<>());
    for (const size_t limit : {1, 2, 5, 20}) {
      const auto cut = ask(fleet, {{"limit", fmt::format("{}", limit)}});
      std::vector<double> shown;
      for (const FlameNode& node : cut->nodes) {
        shown.push_back(node.total);
      }
      std::ranges::sort(shown, std::greater<>());
      ASSERT_EQ(shown, std::vector(totals.begin(), totals.begin() + std::min(limit, totals.size())));
    }
  }
}

TEST(Flame, SharesAreFractionsOrPercentages) {
  EXPECT_EQ(parse_flame({{"min_share", "0.5%"}}, 0)->min_share, 0.005);
  EXPECT_EQ(parse_flame({{"min_share", "0.25"}}, 0)->min_share, 0.25);
  EXPECT_EQ(parse_flame({{"min_share", "100%"}}, 0)->min_share, 1);
  for (const char* text : {"", "%", "-1%", "101%", "2", "nan", "half", "5 %"}) {
    const auto parsed = parse_flame({{"min_share", text}}, 0);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().field, "min_share");
  }
}

TEST(Flame, NamesCannotBreakTheLinesOfFoldedStacks) {
  Flame flame;
  flame.names = {"all", "a;b\nc", "d e"};
  flame.nodes = {{0, 0, 3, 0}, {1, 1, 3, 1}, {2, 2, 2, 2}};
  EXPECT_EQ(*to_folded(flame), "a:b c 1\na:b c;d e 2\n");
}

TEST(Flame, TextShowsSharesAndIndents) {
  Fleet fleet;
  fleet.add({.stacks = "main;parse 3\nmain 1\n"});
  const std::string text = to_text(*ask(fleet));
  EXPECT_THAT(text, HasSubstr("           4  100.00 %    0.00 %  all\n"
                              "           4  100.00 %   25.00 %    main\n"
                              "           3   75.00 %   75.00 %      parse\n"));
}

TEST(Flame, MarginsStandBehindShares) {
  Fleet fleet;
  fleet.add({.stacks = "main;parse 60\nmain 40\n"});
  const std::string text = to_text(*ask(fleet));
  EXPECT_THAT(text, HasSubstr("         100  100.00 %           0.00 %  all\n"));
  EXPECT_THAT(text, HasSubstr("          60   60.00 % ±9.49    60.00 %      parse\n"));
  EXPECT_THAT(text, HasSubstr("± is a 95 % margin; of the values, 1 cover sampling noise on one machine "
                              "only, 1 have none (too few samples).\n"));
  EXPECT_THAT(to_text(*ask(fleet, {{"margins", "no"}})), Not(HasSubstr("±")));
}

TEST(Flame, OnlyTheLargestNodesHaveMargins) {
  Fleet fleet;
  std::string stacks;
  for (size_t function = 0; function < 2 * kMaxFlameMargins; ++function) {
    stacks += fmt::format("f{} {}\n", function, function == 7 ? 500 : 100);
  }
  fleet.add({.stacks = stacks});
  const auto answer = ask(fleet);
  EXPECT_EQ(
      std::ranges::count_if(answer->nodes, [](const FlameNode& node) { return node.share.has_value(); }),
      kMaxFlameMargins);
  EXPECT_EQ(answer->names[answer->nodes[1].name], "f7");
  EXPECT_TRUE(answer->nodes[1].share);
  EXPECT_THAT(answer->notes, ElementsAre("margins are for the 500 largest nodes"));
}

TEST(Flame, StacksOfAnyDepthNeedNoDeepRecursion) {
  constexpr size_t kDepth = 100'000;
  std::string stack = "f0";
  for (size_t i = 1; i < kDepth; ++i) {
    stack += fmt::format(";f{}", i % 7);
  }
  Fleet fleet;
  fleet.add({.stacks = stack + " 5\n"});
  const auto answer = ask(fleet);
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->nodes.size(), kDepth + 1);
  EXPECT_EQ(answer->nodes.back().self, 5);
  EXPECT_EQ(folded(answer), stack + " 5\n");
  EXPECT_THAT(to_text(*answer), HasSubstr(fmt::format("{}: f", kDepth)));
  const auto read_back = flame_from_json(to_json(*answer));
  ASSERT_TRUE(read_back) << read_back.error().text();
  EXPECT_EQ(folded(read_back), stack + " 5\n");
}

TEST(Flame, JsonReadsBackAsItWas) {
  Fleet fleet;
  fleet.add({.stacks = "main;a \"q\"\\;b 4\nmain;c 2\nmain;a \"q\"\\ 1\nother 9\n"});
  const auto answer = ask(fleet);
  const auto read_back = flame_from_json(to_json(*answer));
  ASSERT_TRUE(read_back) << read_back.error().text();
  EXPECT_EQ(brief(read_back), brief(answer));
  EXPECT_EQ(read_back->unit, "count");
  EXPECT_EQ(read_back->coverage.samples, 16);
}

// "main m.cc:3 app native": name, source, binary, kind and whether it is inlined, indented by depth.
std::string frames_of(const Flame& flame) {
  std::string text;
  for (size_t i = 1; i < flame.nodes.size(); ++i) {
    const FlameFrame& frame = flame.frames[i];
    text +=
        fmt::format("{:{}}{} {}:{} {} {}{}\n", "", flame.nodes[i].depth - 1, flame.names[flame.nodes[i].name],
                    flame.files[frame.file], frame.line, flame.binaries[frame.binary], name_of(frame.kind),
                    frame.is_inlined ? " inlined" : "");
  }
  return text;
}

// Two calls of work, the more frequent one inlined; code of a binary and of a kernel without names.
void add_kinds(Fleet& fleet) {
  wire::RawProfile profile =
      make_profile({.stacks = "main@m.cc:3;run@r.cc:9>work@w.cc:7 5\nmain@m.cc:4;run;work@w.cc:8 2\n"});
  wire::Binary kernel;
  kernel.set_identity_kind(wire::GNU_BUILD_ID);
  kernel.set_identity("\x01\x02");
  kernel.set_path("[kernel]");
  add_sample(profile, kernel, wire::KERNEL, 0x10, 3);
  wire::Binary library;
  library.set_identity_kind(wire::GNU_BUILD_ID);
  library.set_identity("\x03\x04");
  library.set_path("/usr/lib/libz.so.1");
  add_sample(profile, library, wire::ELF, 0x20, 1);
  fleet.add(profile);
}

TEST(Flame, ColumnsSayWhereTheCodeOfANodeIs) {
  Fleet fleet;
  add_kinds(fleet);
  const auto answer = ask(fleet, {{"form", "columns"}});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(frames_of(*answer),
            "main m.cc:3  native\n"
            " run r.cc:9  native\n"
            "  work w.cc:7  native inlined\n"
            "[no symbol in [kernel]] :0 [kernel] kernel\n"
            "[no symbol in libz.so.1] :0 libz.so.1 unknown\n");
}

TEST(Flame, ColumnsKnowTheFrameBehindAHiddenOne) {
  Fleet fleet;
  add_kinds(fleet);
  const auto answer = ask(fleet, {{"form", "columns"}, {"hide", "^work$"}, {"where", "function=main"}});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(frames_of(*answer),
            "main m.cc:3  native\n"
            " run r.cc:9  native\n");
}

TEST(Flame, ColumnsReadBackAsTheyWere) {
  Fleet fleet;
  add_kinds(fleet);
  const auto answer = ask(fleet, {{"form", "columns"}});
  const auto read_back = flame_from_json(to_json(*answer));
  ASSERT_TRUE(read_back) << read_back.error().text();
  EXPECT_EQ(brief(read_back), brief(answer));
  EXPECT_EQ(frames_of(*read_back), frames_of(*answer));
  EXPECT_EQ(to_json(*read_back), to_json(*answer));
  EXPECT_EQ(read_back->nodes[1].share.has_value(), answer->nodes[1].share.has_value());
}

TEST(Flame, ColumnsThatDoNotFitTogetherAreRefused) {
  Fleet fleet;
  add_kinds(fleet);
  const std::string sound = to_json(*ask(fleet, {{"form", "columns"}}));
  ASSERT_TRUE(flame_from_json(sound));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("depth":[0,1,)", R"("depth":[0,2,)"},
                                                        {R"("depth":[0,1,)", R"("depth":[0,0,)"},
                                                        {R"("depth":[0,1,)", R"("depth":[0,1,1,)"},
                                                        {R"("name":[0,)", R"("name":[99,)"},
                                                        {R"("kind":[)", R"("kind":[9)"},
                                                        {R"("binary":[0,)", R"("binary":[-1,)"},
                                                        {R"("node":[)", R"("node":["x",)"},
                                                        {R"("nodes":{)", R"("nodes":[],"more":{)"},
                                                        {R"("margins":{)", R"("margins":0,"more":{)"}}) {
    std::string broken = sound;
    const size_t place = broken.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    EXPECT_FALSE(flame_from_json(broken.replace(place, from.size(), to))) << to;
  }
}

TEST(Flame, JsonOfAnotherShapeIsRefused) {
  for (
      const char* text :
      {"", "[]", "{}", R"({"event":"e","unit":"u","notes":[],"coverage":{},"tree":[]})",
       R"({"event":"e","unit":"u","notes":[],"coverage":{},"tree":{"name":"all","self":0,"total":1,"children":[1]}})",
       R"({"event":"e","unit":"u","notes":[],"coverage":{},"tree":{"name":"all","self":"0","total":1,"children":[]}})"}) {
    EXPECT_FALSE(flame_from_json(text)) << text;
  }
}

// Random stacks against the plainest possible merging: a map from the folded stack to its hits.
TEST(Flame, AgreesWithAMapOfStacks) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto stacks = random_stacks(random, 40);
    Fleet fleet;
    fleet.add({.seed = seed, .stacks = text_of(stacks)});
    EXPECT_EQ(folded(ask(fleet)), text_of(stacks)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace plimsoll::query
