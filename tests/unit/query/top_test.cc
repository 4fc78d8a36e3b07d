#include "query/views/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

const std::string kColumns =
    "function,self,self_share,self_share_margin,self_share_low,self_share_high,self_margin_kind,"
    "total,total_share,total_share_margin,total_share_low,total_share_high,total_margin_kind\n";

// Two machines, three jobs' worth of processes, threads, two events, and every shape of stack.
class TopTest : public ::testing::Test {
 protected:
  TopTest() {
    fleet_.add({.seed = 1,
                .machine = "m1",
                .events = {{.name = "cycles", .scale = 10},
                           {.name = "wait", .scale = 1000, .unit = wire::NANOSECONDS}},
                .process = "db",
                .job = "storage",
                .stacks = "main;read 4\n"
                          "main;scan;scan;scan 2\n"           // recursion
                          "thread=io main;read>checksum 3\n"  // checksum was inlined into read
                          "thread=io event=wait main;read 5\n"});
    fleet_.add({.seed = 2,
                .machine = "m2",
                .process = "web",
                .job = "serving",
                .stacks = "main;render 6\n"
                          "main 1\n"
                          "\"\" 3\n"
                          "process=db main;read 10\n"});
  }

  std::string ask(const Parameters& parameters) const { return brief(fleet_.top(parameters)); }

  Fleet fleet_;
};

TEST_F(TopTest, FunctionsCountSelfAtTheLeafAndTotalOnceForEachStack) {
  EXPECT_EQ(ask({}),
            "read 50 80\n"      // 40 on m1 (hits of 10 cycles) and 10 on m2; with checksum's total 30 more
            "checksum 30 30\n"  // the innermost inlined frame has the self
            "scan 20 20\n"      // three times on each stack, counted once
            "render 6 6\n"
            "[no stack] 3 3\n"
            "main 1 107\n");
}

TEST_F(TopTest, RowsThatAreNotAskedForAreLeftOutAndSharesStayThoseOfTheWhole) {
  EXPECT_EQ(ask({{"only", "function=read"}}), "read 50 80\n");
  EXPECT_EQ(ask({{"by", "function,machine"}, {"only", "function=read"}}), "read m1 40 70\nread m2 10 10\n");
  EXPECT_EQ(ask({{"by", "function,machine"}, {"only", "function!=read"}, {"only", "machine=m2"}}),
            "render m2 6 6\n[no stack] m2 3 3\nmain m2 1 17\n");
  const auto all = fleet_.top({{"limit", "1"}});
  const auto only = fleet_.top({{"only", "function=read"}});
  ASSERT_TRUE(all && only);
  EXPECT_EQ(only->rows, all->rows);
}

TEST_F(TopTest, RowsThatAreNotThereAreNotFound) {
  const auto table = fleet_.top({{"only", "function=nothing"}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows.size(), 0);
  EXPECT_THAT(table->notes, ::testing::Contains("no results: no row matches the filters of --only"));
}

TEST_F(TopTest, OnlyIsAboutDimensionsGroupedBy) {
  EXPECT_THAT(fleet_.top({{"only", "job=web"}}).error().text(), HasSubstr("rows are not grouped by job"));
  EXPECT_THAT(fleet_.top({{"only", "function=read"}, {"ratio", "cycles/wait"}}).error().text(),
              HasSubstr("only cannot be combined with ratio"));
  EXPECT_THAT(fleet_.top({{"only", "function"}}).error().field, "only");
}

TEST(TopFunctions, ClonesAreOneFunctionAndStayApartByTheirLinkageNames) {
  Fleet fleet;
  fleet.add({.stacks = "main 1\nhot 20\ncold 3\n"});
  fleet.bind({{2, {{.function = "parse()", .linkage_name = "_Z5parsev"}}},
              {3, {{.function = "parse()", .linkage_name = "_Z5parsev.cold"}}}});
  EXPECT_EQ(brief(fleet.top({})), "parse() 23 23\nmain 1 1\n");
  EXPECT_EQ(brief(fleet.top({{"by", "linkage_name"}})), "_Z5parsev 20 20\n_Z5parsev.cold 3 3\nmain 1 1\n");
  EXPECT_EQ(brief(fleet.top({{"where", "function=parse()"}})), "parse() 23 23\n");
  EXPECT_EQ(brief(fleet.top({{"where", "linkage_name=_Z5parsev.cold"}})), "parse() 3 3\n");
}

TEST_F(TopTest, DimensionsThatAreNotOfFramesHaveEqualSelfAndTotal) {
  EXPECT_EQ(ask({{"by", "app"}}), "db 100 100\nweb 10 10\n");
  EXPECT_EQ(ask({{"by", "machine"}}), "m1 90 90\nm2 20 20\n");
  EXPECT_EQ(ask({{"by", "job"}}), "storage 90 90\nserving 20 20\n");
  EXPECT_EQ(ask({{"by", "thread"}}), "db 70 70\nio 30 30\nweb 10 10\n");
  EXPECT_EQ(ask({{"by", "app,machine"}}), "db m1 90 90\ndb m2 10 10\nweb m2 10 10\n");
}

TEST_F(TopTest, FunctionsOfEachMachineAreRowsOfTheirOwn) {
  EXPECT_EQ(ask({{"by", "machine,function"}}),
            "m1 read 40 70\n"
            "m1 checksum 30 30\n"
            "m1 scan 20 20\n"
            "m2 read 10 10\n"
            "m2 render 6 6\n"
            "m2 [no stack] 3 3\n"
            "m2 main 1 17\n"
            "m1 main 0 90\n");
}

TEST_F(TopTest, ColumnsStandInTheOrderAskedFor) {
  EXPECT_EQ(ask({{"by", "function"}, {"by", "thread,machine"}, {"limit", "2"}}),
            "read db m1 40 40\n"
            "checksum io m1 30 30\n");
}

TEST_F(TopTest, StacksAreWrittenOutermostFirstWithTheirInlinedFrames) {
  EXPECT_EQ(ask({{"by", "stack"}}),
            "main;read 50 50\n"
            "main;read;checksum 30 30\n"
            "main;scan;scan;scan 20 20\n"
            "main;render 6 6\n"
            "[no stack] 3 3\n"
            "main 1 1\n");
}

TEST_F(TopTest, AnotherEventHasItsOwnScaleAndUnit) {
  const auto table = fleet_.top({{"event", "wait"}});
  EXPECT_EQ(brief(table), "read 5000 5000\nmain 0 5000\n");
  EXPECT_EQ(table->event, "wait");
  EXPECT_EQ(table->columns[0].unit, "");
  EXPECT_EQ(table->columns[1].unit, "ns");
  EXPECT_EQ(table->columns[2].unit, "share");
}

TEST_F(TopTest, SharesAreOfTheSelectionAndTooFewSamplesHaveNoMargin) {
  EXPECT_EQ(csv(fleet_.top({{"where", "machine=m2"}})),
            kColumns +
                "read,10,0.5,,,,too few samples,10,0.5,,,,too few samples\n"
                "render,6,0.3,,,,too few samples,6,0.3,,,,too few samples\n"
                "[no stack],3,0.15,,,,too few samples,3,0.15,,,,too few samples\n"
                "main,1,0.05,,,,too few samples,17,0.85,,,,too few samples\n");
}

TEST_F(TopTest, WithoutMarginsTheirColumnsAreEmpty) {
  EXPECT_EQ(csv(fleet_.top({{"margins", "no"}, {"limit", "1"}})),
            kColumns + "read,50,0.45454545454545453,,,,,80,0.7272727272727273,,,,\n");
  EXPECT_THAT(ask({{"margins", "maybe"}}), HasSubstr("margins is \"maybe\", not yes or no"));
}

TEST(TopMargins, OfOneMachineAreOfItsCountsAlone) {
  Fleet fleet;
  fleet.add({.stacks = "main;read 300\nmain;write 100\n"});
  const auto table = fleet.top({{"limit", "1"}});
  ASSERT_TRUE(table) << table.error().text();
  const auto& row = table->rows.at(0);
  // A binomial share's standard error, on the scale of its logit.
  const double error = std::sqrt(1.0 / 300 + 1.0 / 100);
  const auto share = [](double logit) { return 1 / (1 + std::exp(-logit)); };
  EXPECT_NEAR(std::get<double>(row[4]), share(std::log(3) - 1.959964 * error), 1e-6);
  EXPECT_NEAR(std::get<double>(row[5]), share(std::log(3) + 1.959964 * error), 1e-6);
  EXPECT_EQ(std::get<std::string>(row[6]), "within one machine");
}

TEST(TopMargins, OfMachinesAreOfHowTheyDiffer) {
  Fleet alike;
  Fleet different;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto add = [&](Fleet& fleet, uint64_t reads) {
      fleet.add({.seed = seed,
                 .machine = fmt::format("m{}", seed),
                 .stacks = fmt::format("main;read {}\nmain;write {}\n", reads, 1000 - reads)});
    };
    add(alike, 600);
    add(different, seed % 2 == 0 ? 900 : 300);
  }
  const auto row = [](const Fleet& fleet) { return fleet.top({{"limit", "1"}})->rows.at(0); };
  EXPECT_EQ(std::get<double>(row(alike)[2]), std::get<double>(row(different)[2]));
  EXPECT_NEAR(std::get<double>(row(alike)[3]), 0, 1e-9);
  EXPECT_NEAR(std::get<double>(row(different)[3]), 0.14, 0.01);  // 2.09 x 0.3 / sqrt(19), by hand
  EXPECT_EQ(std::get<std::string>(row(different)[6]), "few machines");
}

TEST_F(TopTest, SharesOfSelfSumToOne) {
  for (const char* by : {"function", "app", "machine,function", "stack", "thread,binary", "file"}) {
    const auto table = fleet_.top({{"by", by}});
    ASSERT_TRUE(table) << table.error().text();
    const auto share =
        std::ranges::find(table->columns, "self_share", &TableColumn::name) - table->columns.begin();
    double sum = 0;
    for (const auto& row : table->rows) {
      sum += std::get<double>(row[static_cast<size_t>(share)]);
    }
    EXPECT_NEAR(sum, 1, 1e-12) << "by " << by;
  }
}

TEST_F(TopTest, TheLimitCutsTheTableButNotTheShares) {
  EXPECT_EQ(csv(fleet_.top({{"by", "machine"}, {"where", "function=read"}, {"limit", "1"}})),
            "machine" + kColumns.substr(kColumns.find(',')) +
                "m1,70,0.875,,,,too few machines,70,0.875,,,,too few machines\n");
}

TEST_F(TopTest, NothingSelectedIsAnEmptyTable) {
  const auto table = fleet_.top({{"where", "app=nobody"}});
  EXPECT_EQ(brief(table), "");
  EXPECT_EQ(table->coverage.samples, 0);
  EXPECT_EQ(table->coverage.unsymbolized_share, 0);
}

TEST(Top, CoverageCountsSamplesNotTheHitsTheyAreWeightedBy) {
  wire::RawProfile weighted = make_profile({.seed = 1, .stacks = "main 300\nwork 700\n"});
  weighted.mutable_events(0)->set_samples(50);
  Fleet fleet;
  fleet.add(weighted);
  fleet.add({.seed = 2, .stacks = "main 7\n"});
  EXPECT_EQ(fleet.top({})->coverage.samples, 57);
  // Of a part only its hits are known: 300 x 50 / 1000, and 7.
  EXPECT_EQ(fleet.top({{"where", "function=main"}})->coverage.samples, 22);
  EXPECT_EQ(brief(fleet.top({})), "work 700 700\nmain 307 307\n");
}

TEST(Top, TiesGoByTotalThenByName) {
  Fleet fleet;
  fleet.add({.stacks = "b 2\nc;a 2\na;c;d 2\nzero;e 5\n"});
  EXPECT_EQ(brief(fleet.top({})),
            "e 5 5\n"
            "a 2 4\n"
            "b 2 2\n"
            "d 2 2\n"
            "zero 0 5\n"
            "c 0 4\n");
}

TEST(Top, OneFunctionInTwoInliningsIsOneRow) {
  Fleet fleet;
  fleet.add({.stacks = "main>lex>peek 1\nmain;lex>peek 2\nlex 4\npeek>lex 8\n"});
  EXPECT_EQ(brief(fleet.top({})), "lex 12 15\npeek 3 11\nmain 0 3\n");
}

TEST(Top, FilesAreThoseOfTheFrames) {
  Fleet fleet;
  fleet.add({.stacks = "main@main.cc:3;parse@parse.cc:9>lex@lex.h:12 4\nmain@main.cc:5 1\nmain 2\n"});
  EXPECT_EQ(brief(fleet.top({{"by", "file"}})), "lex.h 4 4\n- 2 2\nmain.cc 1 5\nparse.cc 0 4\n");
  EXPECT_EQ(brief(fleet.top({{"by", "function,file"}})),
            "lex lex.h 4 4\nmain - 2 2\nmain main.cc 1 5\nparse parse.cc 0 4\n");
}

TEST(Top, BinariesStandInForNamesThatAreNotKnown) {
  Fleet fleet;
  wire::RawProfile profile = make_profile({.stacks = "main;work 1\n\"\" 2\n"});
  wire::Binary library;
  library.set_path("/usr/lib/libz.so.1");
  wire::Binary kernel;
  kernel.set_path("[kernel]");
  add_sample(profile, library, wire::ELF, 0x1000, 4);
  add_sample(profile, library, wire::ELF, 0x2000, 8);
  add_sample(profile, kernel, wire::KERNEL, 0x10, 16);
  fleet.add(profile);
  EXPECT_EQ(brief(fleet.top({{"by", "binary"}})),
            "[kernel] 16 16\n"
            "libz.so.1 12 12\n"
            "[no stack] 2 2\n"
            "- 1 1\n");
  EXPECT_EQ(brief(fleet.top({{"by", "function"}})),
            "[no symbol in [kernel]] 16 16\n"
            "[no symbol in libz.so.1] 12 12\n"
            "[no stack] 2 2\n"
            "work 1 1\n"
            "main 0 1\n");
}

TEST_F(TopTest, FunctionsOfEachStackCountTotalForAllItsFrames) {
  EXPECT_EQ(ask({{"by", "stack,function"}, {"where", "thread=db"}}),
            "main;read read 50 50\n"
            "main;scan;scan;scan scan 20 20\n"
            "main;read main 0 50\n"
            "main;scan;scan;scan main 0 20\n");
}

TEST(Top, WhatIsWorthNothingIsNoRow) {
  Fleet fleet;
  fleet.add({.events = {{.name = "cycles", .scale = 0}}, .stacks = "main 3\n"});
  EXPECT_EQ(csv(fleet.top({})), kColumns);
}

}  // namespace
}  // namespace plimsoll::query
