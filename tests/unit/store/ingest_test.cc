#include "store/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "store/segments/segment.h"
#include "tests/conformance/plain_row.h"
#include "tests/unit/store/format_3.h"
#include "tests/unit/store/format_6.h"
#include "tests/unit/store/ingest_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using plimsoll::testing::profile_id;
using plimsoll::testing::ProfileSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(IngestTest, AnAcceptedProfileBecomesItsRows) {
  const auto ingest = open();
  const auto accepted = accept(*ingest, make_profile({.seed = 5,
                                                      .stacks = "main;parse;lex 12\n"
                                                                "main;parse 3\n"
                                                                "thread=io main;parse 4\n"
                                                                "process=db thread=io event=faults read 2\n"
                                                                "main;idle 0\n"
                                                                "\"\" 1\n"}));
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_EQ(accepted->acceptance, Acceptance::kNew);
  EXPECT_EQ(accepted->profile_id, profile_id(5));
  EXPECT_EQ(accepted->hits, 22);
  EXPECT_THAT(visible_rows(), IsEmpty());

  const BuildReport report = build(*ingest);
  EXPECT_EQ(report.profiles, 1);
  EXPECT_EQ(report.rows, 5);  // a sample without hits is no row
  EXPECT_EQ(report.unbuildable, 0);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main;parse;lex", 12},
                          {"m1 cycles app app main;parse", 3},
                          {"m1 cycles app io main;parse", 4},
                          {"m1 faults db io read", 2},
                          {"m1 cycles app app ", 1}}));
  EXPECT_EQ(build(*ingest).profiles, 0);
}

TEST_F(IngestTest, BranchRecordsBecomeRowsOfPairs) {
  const auto ingest = open();
  const auto accepted =
      accept(*ingest, make_profile({.events = {{.name = "cycles"}, {.name = "branch-records", .scale = 100}},
                                    .stacks = "main;parse 3\n",
                                    .branches = "main;parse 40 2\n"
                                                "parse;parse 7 0\n"
                                                "process=db thread=io read;copy>loop 5 5\n"
                                                "main;idle 0 0\n"}));
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_EQ(accepted->hits, 3 + 52 + 7);
  EXPECT_EQ(build(*ingest).rows, 6);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main;parse", 3},
                          {"m1 branch-records app app main;parse", 40},
                          {"m1 branch-records app app parse;parse", 7},
                          {"m1 branch-records db io read;loop", 5},
                          {"m1 branch-mispredictions app app main;parse", 2},
                          {"m1 branch-mispredictions db io read;loop", 5}}));
  EXPECT_EQ(number("SELECT count(*) FROM stack WHERE parent = 0"), 3)
      << "the branch shares main with a stack";
  EXPECT_EQ(
      number("SELECT scale FROM origin_event JOIN event ON event.id = event WHERE name = 'branch-records'"),
      100);
}

TEST_F(IngestTest, AnOriginKnowsItsWindowItsDrawAndItsScales) {
  auto profile = make_profile({.seed = 5,
                               .from_ns = 1'700'000'000'000'000'000,
                               .length_ns = 2'000'000'000,
                               .events = {{.name = "cycles", .scale = 250}},
                               .stacks = "main 4\n"});
  wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
  draw.set_id("d1");
  draw.set_stratum("east");
  draw.set_inclusion_probability(0.125);
  draw.set_interval_ns(60'000'000'000);
  // The wall clock was set back meanwhile: the length is the monotonic clock's.
  profile.mutable_window()->mutable_end()->set_wall_ns(1'600'000'000'000'000'000);
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, profile));
  build(*ingest);
  Catalogue reader = catalogue();
  const auto entries = *load_dictionaries(reader.database());
  ASSERT_THAT(entries.origins, SizeIs(2));
  EXPECT_EQ(entries.origins[1].from_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(entries.origins[1].to_ns, 1'700'000'002'000'000'000);
  EXPECT_EQ(entries.origins[1].draw, "d1");
  EXPECT_EQ(entries.origins[1].inclusion_probability, 0.125);
  EXPECT_EQ(entries.origins[1].interval_ns, 60'000'000'000);
  ASSERT_THAT(entries.origin_events, SizeIs(1));
  EXPECT_EQ(entries.origin_events[0].scale, 250);
  EXPECT_EQ(entries.origin_events[0].hits, 4);
  EXPECT_EQ(text("SELECT stratum FROM origin"), "east");
  EXPECT_EQ(number("SELECT from_ns FROM segment"), 1'700'000'000'000'000'000);
  EXPECT_EQ(number("SELECT to_ns FROM segment"), 1'700'000'002'000'000'000);
}

TEST_F(IngestTest, AMachineThatWasNotDrawnStandsForItself) {
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({})));
  build(*ingest);
  Catalogue reader = catalogue();
  EXPECT_EQ(load_dictionaries(reader.database())->origins.at(1).inclusion_probability, 1);
}

TEST_F(IngestTest, InlinedFramesStayInOneLocationInnermostFirst) {
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({.stacks = "main;outer@o.cc:7>middle@m.h:5>inner@i.h:3 1\n"})));
  build(*ingest);
  Catalogue reader = catalogue();
  const auto bindings = *BindingReader::load(reader.database());
  const auto entries = *load_dictionaries(reader.database());
  ASSERT_THAT(entries.locations, SizeIs(3));
  std::vector<std::string> frames;
  for (const auto& frame : bindings.of(2)) {
    frames.push_back(
        fmt::format("{} {}:{}", bindings.functions[frame.function], bindings.files[frame.file], frame.line));
  }
  EXPECT_THAT(frames, ElementsAre("inner i.h:3", "middle m.h:5", "outer o.cc:7"));
}

// As symbols would name them: the same function sampled by a daemon is the same row.
TEST_F(IngestTest, NamesAsLinkedAreDemangledAndKept) {
  const auto ingest = open();
  wire::RawProfile profile = make_profile({.stacks = "_ZN3foo3barEi;parse.cold;main.func1;_Rx 1\n"});
  ASSERT_EQ(profile.frames_size(), 4);
  profile.mutable_frames(1)->set_linkage_name("parse.cold");  // its own name for people
  profile.mutable_frames(2)->set_linkage_name("runtime.other");
  ASSERT_TRUE(accept(*ingest, profile));
  build(*ingest);
  Catalogue reader = catalogue();
  const auto bindings = *BindingReader::load(reader.database());
  std::vector<std::string> names;
  for (uint32_t location = 1; location <= 4; ++location) {
    const uint32_t function = bindings.of(location).front().function;
    names.push_back(bindings.functions[function] + " " + bindings.linkage_names[function]);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("foo::bar(int) _ZN3foo3barEi", "parse parse.cold",
                                                     "main.func1 runtime.other", "_Rx _Rx"));
}

TEST_F(IngestTest, ProfilesShareDictionaryEntriesButNotOrigins) {
  const auto ingest = open();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = seed, .stacks = "main;parse 1\n"})));
    build(*ingest);
  }
  EXPECT_THAT(visible_rows(), SizeIs(3));
  EXPECT_EQ(number("SELECT count(*) FROM origin"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM stack"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM location"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM workload"), 1);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main;parse", 3}}));
}

TEST_F(IngestTest, AWorkloadSaysHowItsExecutableWasBuilt) {
  wire::RawProfile profile = make_profile({.stacks = "process=db main 1\nprocess=sh main 1\n"});
  wire::Binary& executable = *profile.add_binaries();
  executable.set_identity_kind(wire::GNU_BUILD_ID);
  executable.set_identity("\x01\x02");
  executable.set_path("/usr/bin/db");
  executable.set_compiler("rustc version 1.70.0");
  executable.set_revision("3-1");
  executable.set_builder("rpm fedora 38");
  profile.mutable_processes(0)->set_binary_plus_1(static_cast<uint32_t>(profile.binaries_size()));
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, profile));
  build(*ingest);
  const std::string columns =
      "app || '|' || build_id || '|' || compiler || '|' || revision || '|' || builder";
  EXPECT_EQ(text("SELECT group_concat(line, ' ; ') FROM (SELECT " + columns +
                 " AS line FROM workload WHERE id > 0 ORDER BY app)"),
            "db|0102|rustc version 1.70.0|3-1|rpm fedora 38 ; sh||||");
}

TEST_F(IngestTest, RandomProfilesOverManyLivesAddUp) {
  std::mt19937_64 random(9);
  View expected;
  for (uint64_t life = 0; life < 5; ++life) {
    const auto ingest = open();
    for (uint64_t i = 0; i < 8; ++i) {
      ProfileSpec spec{.seed = life * 100 + i, .machine = fmt::format("m{}", random() % 3), .stacks = ""};
      for (int line = 0; line < 20; ++line) {
        std::string stack = "main";
        for (uint64_t depth = random() % 4; depth > 0; --depth) {
          stack += fmt::format(";f{}", random() % 5);
        }
        const std::string event = random() % 2 == 0 ? "cycles" : "faults";
        const uint64_t hits = 1 + random() % 50;
        spec.stacks += fmt::format("event={} {} {}\n", event, stack, hits);
        expected[fmt::format("{} {} app app {}", spec.machine, event, stack)] += hits;
      }
      ASSERT_TRUE(accept(*ingest, make_profile(spec)));
      if (random() % 3 == 0) {
        build(*ingest);
      }
    }
    // What is pending when a life ends is built in the next.
  }
  const auto ingest = open();
  build(*ingest);
  EXPECT_EQ(view(), expected);
}

// --- accepting

TEST_F(IngestTest, TheSameProfileTwiceCountsOnce) {
  const auto ingest = open();
  const auto profile = make_profile({.stacks = "main 7\n"});
  EXPECT_EQ(accept(*ingest, profile)->acceptance, Acceptance::kNew);
  EXPECT_EQ(accept(*ingest, profile)->acceptance, Acceptance::kKnown);
  build(*ingest);
  EXPECT_EQ(accept(*ingest, profile)->acceptance, Acceptance::kKnown);
  EXPECT_EQ(build(*ingest).profiles, 0);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main", 7}}));
}

TEST_F(IngestTest, TheSameIdWithOtherContentIsAConflict) {
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 3, .stacks = "main 7\n"})));
  const auto conflict = accept(*ingest, make_profile({.seed = 3, .stacks = "main 8\n"}));
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
  build(*ingest);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main", 7}}));
}

TEST_F(IngestTest, WhoeverHandsAProfileOnCanRefuseIt) {
  const auto ingest = open();
  const std::string encoded = wire::encode(make_profile({.seed = 3, .machine = "m7"}));
  const auto refused = ingest->accept(as_bytes(encoded), {}, [](const wire::RawProfile& profile) -> Status {
    return with_field(fail(ErrorCode::kInvalid, "not from {}", profile.machine().id()), "machine");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "not from m7");
  EXPECT_EQ(refused.error().field, "machine");
  EXPECT_EQ(build(*ingest).profiles, 0);
  EXPECT_TRUE(ingest->accept(as_bytes(encoded), {}, [](const wire::RawProfile&) { return Status(); }));
}

TEST_F(IngestTest, WhatIsNoValidProfileIsNotStored) {
  const auto ingest = open();
  EXPECT_FALSE(ingest->accept(as_bytes("garbage"), {}));
  auto inconsistent = make_profile({});
  inconsistent.mutable_samples(0)->set_stack(0, 99);
  EXPECT_EQ(accept(*ingest, inconsistent).error().field, "samples[0].stack[0]");
  EXPECT_EQ(ingest->accept(as_bytes(wire::encode(make_profile({}))), {.max_encoded_bytes = 10}).error().code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(build(*ingest).profiles, 0);
}

// --- crashes and failures

TEST_F(IngestTest, WhatWasAcceptedBeforeACrashIsBuiltAfterIt) {
  ASSERT_TRUE(accept(*open(), make_profile({.stacks = "main 7\n"})));
  const auto ingest = open();
  EXPECT_EQ(build(*ingest).profiles, 1);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main", 7}}));
}

TEST_F(IngestTest, ASegmentThatWasNeverCommittedIsRemovedAndBuiltAgain) {
  {
    const auto ingest = open();
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = 1, .stacks = "main 7\n"})));
    build(*ingest);
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = 2, .stacks = "main 100\n"})));
  }
  // As after a crash between the segment's rename and the commit, and one in the midst of writing.
  write_bytes(path_ + "/blocks/000001/segments/000000000002.rows",
              encode_segment(rows_of({{1, 1, 2, 1, 1, 100}})));
  write_bytes(path_ + "/blocks/000001/segments/000000000002.rows.tmp", "PLIM");
  ASSERT_THAT(segment_files(), SizeIs(3));
  const auto ingest = open();
  EXPECT_THAT(segment_files(), ElementsAre("000000000001.rows"));
  EXPECT_EQ(view(), (View{{"m1 cycles app app main", 7}}));
  EXPECT_EQ(build(*ingest).profiles, 1);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main", 107}}));
}

TEST_F(IngestTest, AnOrphanThatCannotBeRemovedIsReported) {
  ASSERT_TRUE(open());
  std::filesystem::create_directories(path_ + "/blocks/000001/segments/a-folder/with-content");
  write_bytes(path_ + "/blocks/000001/segments/orphan-1", "x");
  write_bytes(path_ + "/blocks/000001/segments/orphan-2", "x");
  const auto failed = Ingest::open(path_);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("a-folder"));
  EXPECT_THAT(segment_files(), ElementsAre("a-folder"));
}

TEST_F(IngestTest, AFailedBatchLeavesNothingAndIsBuiltOnceTheCauseIsGone) {
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 1, .stacks = "main;old 1\n"})));
  build(*ingest);
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 2, .machine = "m2", .stacks = "main;new 5\n"})));
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 3, .machine = "m3", .stacks = "main;new 6\n"})));

  // The folder that stands where the segment must go.
  const std::string in_the_way = path_ + "/blocks/000001/segments/000000000003.rows";
  std::filesystem::create_directories(in_the_way + "/full");
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto failed = ingest->build_pending();
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("000000000003.rows"));
    EXPECT_THAT(segment_files(), ElementsAre("000000000001.rows", "000000000003.rows"));
    EXPECT_EQ(number("SELECT count(*) FROM origin"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM location"), 2);
    EXPECT_EQ(number("SELECT count(*) FROM function"), 2);
    EXPECT_EQ(view(), (View{{"m1 cycles app app main;old", 1}}));
  }
  std::filesystem::remove_all(in_the_way);
  EXPECT_EQ(build(*ingest).profiles, 2);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main;old", 1},
                          {"m2 cycles app app main;new", 5},
                          {"m3 cycles app app main;new", 6}}));
}

TEST_F(IngestTest, AnEventInAnotherUnitIsSetAsideAndTheOthersAreBuilt) {
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 1, .stacks = "main 1\n"})));
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 2,
                                            .events = {{.name = "cycles", .unit = wire::BYTES}},
                                            .stacks = "main 1000\n"})));
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 3, .stacks = "main 4\n"})));
  const BuildReport report = build(*ingest);
  EXPECT_EQ(report.profiles, 2);
  EXPECT_EQ(report.unbuildable, 1);
  EXPECT_EQ(view(), (View{{"m1 cycles app app main", 5}}));
  EXPECT_EQ(number("SELECT archive_sequence FROM unbuildable"), 2);
  EXPECT_THAT(text("SELECT reason FROM unbuildable"), HasSubstr("event cycles comes with unit BYTES"));
  EXPECT_EQ(build(*ingest).unbuildable, 0);
}

TEST_F(IngestTest, ABatchOfNothingButUnbuildableProfilesIsNotTriedAgain) {
  {
    const auto ingest = open();
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = 1})));
    build(*ingest);
    ASSERT_TRUE(
        accept(*ingest, make_profile({.seed = 2, .events = {{.name = "cycles", .unit = wire::BYTES}}})));
    EXPECT_EQ(build(*ingest).unbuildable, 1);
  }
  const auto ingest = open();
  const BuildReport report = build(*ingest);
  EXPECT_EQ(report.profiles + report.unbuildable, 0);
}

TEST_F(IngestTest, AProfileWithoutSamplesIsAnOriginWithoutRows) {
  // It says that the machine was observed, and did nothing.
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({.stacks = ""})));
  const BuildReport report = build(*ingest);
  EXPECT_EQ(report.profiles, 1);
  EXPECT_EQ(report.rows, 0);
  EXPECT_EQ(number("SELECT count(*) FROM origin"), 1);
  EXPECT_THAT(segment_files(), IsEmpty());
  EXPECT_EQ(build(*ingest).profiles, 0);
}

// --- older formats

TEST_F(IngestTest, ADirectoryOfAnOlderFormatShowsTheSameRowsOnceConverted) {
  {
    auto ingest = open();
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = 1, .stacks = "main;parse 3\n"})));
    build(*ingest);
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = 2, .machine = "m2", .stacks = "main;render 5\n"})));
    build(*ingest);
  }
  const View before = view();
  const auto segments = segment_files();
  plimsoll::testing::make_format_6(path_);
  std::filesystem::remove(path_ + "/catalogue.db");
  {
    // Whatever format 2 had in its tables.
    auto old = sqlite::Database::open(path_ + "/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(old && old->run("CREATE TABLE machine (id INTEGER PRIMARY KEY, machine_id TEXT);"
                                "INSERT INTO machine VALUES (1, 'm1')"));
  }
  write_bytes(path_ + "/FORMAT", "2\n");

  auto ingest = open();
  EXPECT_THAT(segment_files(), IsEmpty()) << "they number machines as the old catalogue did";
  EXPECT_EQ(build(*ingest).profiles, 2);
  EXPECT_EQ(view(), before);
  EXPECT_EQ(segments.size(), 2);
}

TEST_F(IngestTest, ADirectoryOfFormat3KeepsRowsAndNamesAndLooksForSymbolsAgain) {
  {
    auto ingest = open();
    ASSERT_TRUE(accept(*ingest, make_profile({.stacks = "main;outer@o.cc:7>inner@i.h:3 5\n"})));
    build(*ingest);
  }
  const View before = view();
  const auto segments = segment_files();
  plimsoll::testing::make_format_6(path_);
  {
    auto old = sqlite::Database::open(path_ + "/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(old);
    const auto made = old->run(fmt::format(
        "{} INSERT INTO binary (id, identity_kind, identity, path, quality, generation, looked_at) "
        "VALUES (1, 1, x'aa', '/bin/tool', 4, 1, 'what stood there')",
        kTablesOfFormat3));
    ASSERT_TRUE(made) << made.error().text();
  }
  // The second time as after a crash before the new format was written down.
  for (int i = 0; i < 2; ++i) {
    write_bytes(path_ + "/FORMAT", "3\n");
    auto ingest = open();
    EXPECT_EQ(build(*ingest).profiles, 0);
    EXPECT_EQ(view(), before);
    EXPECT_EQ(segment_files(), segments);
    EXPECT_EQ(number("SELECT count(*) FROM function WHERE linkage_name = ''"), 3);
    EXPECT_EQ(text("SELECT group_concat(line) FROM frame WHERE source_column = 0"), "0,3,7");
    EXPECT_EQ(number("SELECT quality FROM binary WHERE id = 1"), 0) << "any symbols are better";
    EXPECT_EQ(text("SELECT looked_at FROM binary WHERE id = 1"), "");
  }
  // What comes now shares functions with what was there.
  auto ingest = open();
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 2, .stacks = "main;new 1\n"})));
  build(*ingest);
  EXPECT_EQ(number("SELECT count(*) FROM function"), 4);
}

TEST_F(IngestTest, SamplesAreKeptWhereSomeStandForSeveralHits) {
  auto ingest = open();
  wire::RawProfile weighted = make_profile({.seed = 1, .stacks = "main 1000\n"});
  weighted.mutable_events(0)->set_samples(7);
  ASSERT_TRUE(accept(*ingest, weighted));
  ASSERT_TRUE(accept(*ingest, make_profile({.seed = 2, .stacks = "main 30\n"})));
  build(*ingest);
  Catalogue reader = catalogue();
  const auto events = load_dictionaries(reader.database())->origin_events;
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].hits, 1000);
  EXPECT_EQ(events[0].samples, 7);
  EXPECT_EQ(events[1].samples, 30);
}

TEST_F(IngestTest, CountersThatNeverGotTheirTurnAreToldFromThoseWithoutHits) {
  auto ingest = open();
  wire::RawProfile profile =
      make_profile({.events = {{.name = "cycles"}, {.name = "llc-misses"}, {.name = "faults"}}});
  profile.mutable_events(1)->set_time_running_ns(0);
  ASSERT_TRUE(accept(*ingest, profile));
  build(*ingest);
  Catalogue reader = catalogue();
  const auto events = load_dictionaries(reader.database())->origin_events;
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_TRUE(events[0].ran);
  EXPECT_FALSE(events[1].ran);
  EXPECT_TRUE(events[2].ran) << "it ran, and nothing happened";
}

// --- kernel symbols

TEST_F(IngestTest, KernelSymbolsAreKeptOncePerBuildId) {
  const auto profile = [](uint64_t seed, const std::string& names) {
    auto made = make_profile({.seed = seed});
    wire::Binary& kernel = *made.add_binaries();
    kernel.set_identity_kind(wire::GNU_BUILD_ID);
    kernel.set_identity("kernel-build-id");
    kernel.set_path("[kernel]");
    if (!names.empty()) {
      wire::KernelImage& image = *made.mutable_kernel_symbols()->add_images();
      image.set_binary(0);
      image.add_offset_delta(16);
      image.set_names(names + std::string(1, '\0'));
    }
    return made;
  };
  const auto ingest = open();
  ASSERT_TRUE(accept(*ingest, profile(1, "")));
  build(*ingest);
  ASSERT_TRUE(accept(*ingest, profile(2, "schedule")));
  ASSERT_TRUE(accept(*ingest, profile(3, "forged")));
  build(*ingest);
  Catalogue reader = catalogue();
  auto row = *reader.database().query("SELECT content FROM kernel_symbols");
  ASSERT_TRUE(*row.step());
  wire::KernelImage kept;
  ASSERT_TRUE(kept.ParseFromString(row.blob(0)));
  EXPECT_EQ(kept.names(), std::string("schedule\0", 9));
  EXPECT_FALSE(*row.step());
}

// --- writing beside

TEST_F(IngestTest, CatalogueWorkThatFailsChangesNothing) {
  const auto ingest = open();
  const auto insert = [](sqlite::Database& database) {
    return database.run("INSERT INTO thread VALUES (1, 'a')");
  };
  const Status failed =
      ingest->write_catalogue(ingest->blocks()->back(), [&](sqlite::Database& database) -> Status {
        EXPECT_TRUE(insert(database));
        return fail(ErrorCode::kInvalid, "no");
      });
  EXPECT_FALSE(failed);
  EXPECT_EQ(number("SELECT count(*) FROM thread"), 0);
  EXPECT_TRUE(ingest->write_catalogue(ingest->blocks()->back(), insert));
  EXPECT_EQ(number("SELECT count(*) FROM thread"), 1);
}

TEST_F(IngestTest, ASecondIngestOfADirectoryIsRefused) {
  const auto ingest = open();
  EXPECT_EQ(Ingest::open(path_).error().code, ErrorCode::kConflict);
}

// The refusal goes to the log, whatever the reason for it is.
TEST_F(IngestTest, APasswordInTheAddressOfTheRowsIsNotRepeated) {
  const IngestOptions options{.rows = {.address = "clickhouse://user:secret@db/p"}};
  const auto expect_refused = [&] {
    const auto refused = Ingest::open(path_, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().text(), ::testing::Not(HasSubstr("secret")));
  };
  {
    const auto ingest = open();
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = 1})));
    build(*ingest);
  }
  expect_refused();  // it has rows of its own
  auto identity = read_identity(path_);
  ASSERT_TRUE(identity) << identity.error().text();
  identity->rows.address = "clickhouse://elsewhere/p";
  ASSERT_TRUE(write_identity(path_, *identity));
  expect_refused();  // its rows are at another address
}

// Questions would count the rows of the others alone. No server is asked.
TEST_F(IngestTest, AShardThatHasRowsCannotBeTakenAway) {
  ASSERT_NE(open(), nullptr);
  auto identity = read_identity(path_);
  ASSERT_TRUE(identity) << identity.error().text();
  const RowsAddress known{.address = "clickhouse://127.0.0.1:1/p",
                          .shards = {"clickhouse://127.0.0.1:1/q", "clickhouse://127.0.0.1:1/r"}};
  identity->rows = known;
  ASSERT_TRUE(write_identity(path_, *identity));
  const auto refused = [&](std::vector<std::string> shards) {
    IngestOptions options{.rows = known};
    options.rows.shards = std::move(shards);
    const auto opened = Ingest::open(path_, options);
    return opened ? Error() : opened.error();
  };
  const Error fewer = refused({"clickhouse://127.0.0.1:1/q"});
  EXPECT_EQ(fewer.code, ErrorCode::kConflict);
  EXPECT_THAT(fewer.message, HasSubstr("shard 2 of the rows is clickhouse://127.0.0.1:1/r"));
  EXPECT_THAT(fewer.hint, HasSubstr("new ones last"));
  EXPECT_EQ(refused({"clickhouse://127.0.0.1:1/r", "clickhouse://127.0.0.1:1/q"}).code, ErrorCode::kConflict);
  EXPECT_EQ(refused({known.shards[0], known.shards[1], known.shards[0]}).code, ErrorCode::kConflict);
  EXPECT_EQ(read_identity(path_)->rows, known);
}

}  // namespace
}  // namespace plimsoll::store
