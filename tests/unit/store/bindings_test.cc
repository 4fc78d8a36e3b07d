#include "store/model/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/catalogue/catalogue.h"
#include "store/frames/binding_reader.h"
#include "store/frames/binding_writer.h"
#include "store/frames/unused_names.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class BindingsTest : public ::testing::Test {
 protected:
  BindingsTest() {
    EXPECT_TRUE(
        database_.run("INSERT INTO location (id, kind, owner, address, name) "
                      "VALUES (1, 1, 1, 1, ''), (2, 1, 1, 2, ''), (3, 1, 1, 3, ''), (4, 1, 1, 4, '')"));
  }

  void bind(const std::vector<Binding>& bindings, int64_t generation = 1) {
    const auto bound = BindingWriter(database_).bind(bindings, generation);
    ASSERT_TRUE(bound) << bound.error().text();
  }

  // "name linkage_name file:line", innermost first.
  static std::vector<std::string> frames_of(uint32_t location, const Bindings& bindings) {
    std::vector<std::string> frames;
    for (const auto& frame : bindings.of(location)) {
      frames.push_back(fmt::format("{} {} {}:{}", bindings.functions[frame.function],
                                   bindings.linkage_names[frame.function], bindings.files[frame.file],
                                   frame.line));
    }
    return frames;
  }
  std::vector<std::string> frames_of(uint32_t location) {
    return frames_of(location, *BindingReader::load(database_));
  }

  int64_t number(const std::string& sql) { return *database_.integer(sql, -1); }

  plimsoll::testing::TemporaryDirectory folder_;
  Catalogue catalogue_ = *Catalogue::open(folder_ / "catalogue.db", sqlite::OpenMode::kReadWrite);
  sqlite::Database& database_ = catalogue_.database();
};

TEST_F(BindingsTest, ALocationHasItsFramesInnermostFirst) {
  bind({{1,
         {{.function = "lex()", .file = "lex.h", .line = 7, .linkage_name = "_Z3lexv", .is_inlined = true},
          {.function = "parse()", .file = "parse.cc", .line = 40, .linkage_name = "_Z5parsev"}}},
        {2, {}},
        {4, {{.function = "main", .linkage_name = "main"}}}});
  EXPECT_THAT(frames_of(1), ElementsAre("lex() _Z3lexv lex.h:7", "parse() _Z5parsev parse.cc:40"));
  EXPECT_THAT(frames_of(2), IsEmpty());
  EXPECT_THAT(frames_of(3), IsEmpty());
  EXPECT_THAT(frames_of(4), ElementsAre("main main :0"));
}

TEST_F(BindingsTest, FunctionsOfOneDisplayNameStayApartByTheirLinkageNames) {
  bind({{1, {{.function = "parse()", .linkage_name = "_Z5parsev"}}},
        {2, {{.function = "parse()", .linkage_name = "_Z5parsev.cold"}}},
        {3, {{.function = "parse()", .linkage_name = "_Z5parsev"}}},
        {4, {{.function = "parse()"}}}});
  const auto bindings = BindingReader::load(database_);
  const auto function_of = [&](uint32_t location) { return bindings->of(location).front().function; };
  EXPECT_NE(function_of(1), function_of(2));
  EXPECT_EQ(function_of(1), function_of(3));
  EXPECT_NE(function_of(1), function_of(4)) << "nobody knows which of them it is";
  for (const uint32_t location : {1, 2, 3, 4}) {
    EXPECT_EQ(bindings->functions[function_of(location)], "parse()");
  }
}

TEST_F(BindingsTest, WhatFeedbackToCompilersNeedsIsKept) {
  bind({{1,
         {{.function = "f()",
           .line = 12,
           .linkage_name = "_Z1fv",
           .column = 5,
           .discriminator = 3,
           .start_line = 10,
           .is_inlined = true}}}});
  EXPECT_EQ(number("SELECT count(*) FROM frame WHERE line = 12 AND source_column = 5 AND discriminator = 3 "
                   "AND start_line = 10 AND is_inlined = 1"),
            1);
}

TEST_F(BindingsTest, ANewGenerationReplacesAllFrames) {
  bind({{1, {{.function = "a", .is_inlined = true}, {.function = "b"}}}});
  bind({{1, {{.function = "c()", .linkage_name = "_Z1cv"}}}}, 2);
  EXPECT_THAT(frames_of(1), ElementsAre("c() _Z1cv :0"));
  EXPECT_EQ(number("SELECT generation FROM binding WHERE location = 1"), 2);
}

TEST_F(BindingsTest, AReaderAddsWhatWasBoundSince) {
  bind({{1, {{.function = "a"}}}, {2, {{.function = "b"}}}});
  Bindings read = *BindingReader::load(database_);
  EXPECT_THAT(read.rebound, IsEmpty());
  const Bindings before = read;
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_THAT(read.rebound, IsEmpty());

  bind({{2, {{.function = "better", .file = "b.cc", .line = 3}}}, {3, {}}, {4, {{.function = "a"}}}}, 2);
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_THAT(read.rebound, UnorderedElementsAre(2, 3, 4));
  EXPECT_THAT(frames_of(1, read), ElementsAre("a  :0"));
  EXPECT_THAT(frames_of(2, read), ElementsAre("better  b.cc:3"));
  EXPECT_THAT(frames_of(3, read), IsEmpty());
  EXPECT_THAT(frames_of(4, read), ElementsAre("a  :0"));
  EXPECT_THAT(frames_of(2, before), ElementsAre("b  :0")) << "a copy stays as it is";
}

TEST_F(BindingsTest, AReaderLearnsWhyABinaryHasNoBetterSymbols) {
  ASSERT_TRUE(database_.run("INSERT INTO binary (id, identity_kind, identity, path) VALUES (1, 1, 'x', '')"));
  Bindings read = *BindingReader::load(database_);
  EXPECT_EQ(read.reasons_of(1), "");
  const auto describe = [&](const std::string& reasons) {
    ASSERT_TRUE(BindingWriter(database_).describe(1, {.reasons = reasons}));
  };
  describe("no such file");
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_EQ(read.reasons_of(1), "no such file");
  const int64_t changes = number("SELECT count(*) FROM binding_change");
  describe("no such file");
  EXPECT_EQ(number("SELECT count(*) FROM binding_change"), changes) << "nothing that readers do not know";
}

// Bound again and again, so that frames that are no longer in use are dropped on the way.
TEST_F(BindingsTest, AReaderThatFollowsHasWhatOneThatReadsAllHas) {
  std::mt19937_64 random(3);
  Bindings read = *BindingReader::load(database_);
  for (int step = 0; step < 300; ++step) {
    std::vector<Binding> bindings;
    for (uint32_t location = 1; location <= 4; ++location) {
      bindings.push_back(
          {location, std::vector<Frame>(random() % 40, {.function = std::to_string(random() % 9)})});
    }
    bind(bindings, step);
    ASSERT_TRUE(BindingReader::extend(read, database_));
    if (step % 20 == 0) {
      for (uint32_t location = 1; location <= 4; ++location) {
        ASSERT_EQ(frames_of(location, read), frames_of(location)) << "step " << step;
      }
    }
  }
}

TEST_F(BindingsTest, NamesThatNoFrameUsesLeaveTheCatalogue) {
  bind({{1, {{.function = "a", .file = "a.c"}}}, {2, {{.function = "b", .file = "b.c"}}}, {3, {}}});
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function"), 2) << "nothing was bound again";
  const Bindings before = *BindingReader::load(database_);
  Bindings read = before;

  bind({{1, {{.function = "better", .file = "better.c"}}}}, 2);
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function WHERE name = 'a'"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM source_file WHERE path = 'a.c'"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM function"), 2);
  EXPECT_EQ(number("SELECT locations FROM rebinding"), 0);
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_THAT(frames_of(1, read), ElementsAre("better  better.c:0"));
  EXPECT_THAT(frames_of(2, read), ElementsAre("b  b.c:0"));
  EXPECT_THAT(frames_of(1, before), ElementsAre("a  a.c:0")) << "a reader of before has what it read";
  EXPECT_THAT(frames_of(1), ElementsAre("better  better.c:0"));
}

TEST_F(BindingsTest, ACatalogueThatAnOlderProgramSealedIsBoundAgain) {
  bind({{1, {{.function = "a"}}}, {2, {{.function = "b"}}}});
  ASSERT_TRUE(database_.run("DROP TABLE rebinding"));
  ASSERT_TRUE(drop_unused_names(database_)) << "nothing was bound since";
  bind({{1, {{.function = "c"}}}}, 2);
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function WHERE name = 'a'"), 0);
  EXPECT_THAT(frames_of(1), ElementsAre("c  :0"));
}

TEST_F(BindingsTest, AnIdOfANameIsNotGivenToAnother) {
  bind({{1, {{.function = "a"}}}, {2, {{.function = "last"}}}});
  Bindings read = *BindingReader::load(database_);
  const int64_t last = number("SELECT max(id) FROM function");
  bind({{1, {}}, {2, {}}}, 2);
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function"), 1);
  bind({{1, {{.function = "new"}}}}, 3);
  EXPECT_GT(number("SELECT id FROM function WHERE name = 'new'"), last);
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function WHERE name = 'last'"), 1)
      << "nothing was bound again since";
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_THAT(frames_of(1, read), ElementsAre("new  :0"));
  EXPECT_THAT(frames_of(2, read), IsEmpty());
}

// Large catalogues are passed over only where much was bound again.
TEST_F(BindingsTest, FewLocationsOfManyCostNoPassOverAll) {
  ASSERT_TRUE(
      database_.run("INSERT INTO location (id, kind, owner, address, name) VALUES (80000, 1, 1, 5, '')"));
  bind({{1, {{.function = "a"}}}, {2, {{.function = "b"}}}});
  bind({{1, {{.function = "c"}}}}, 2);
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function"), 3);
  EXPECT_EQ(number("SELECT locations FROM rebinding"), 1);
  ASSERT_TRUE(database_.run("UPDATE rebinding SET locations = 10000"));
  ASSERT_TRUE(drop_unused_names(database_));
  EXPECT_EQ(number("SELECT count(*) FROM function"), 2);
}

// Whatever is bound again, and whenever names are removed: a reader that follows, one that reads all, and the bindings themselves agree.
TEST_F(BindingsTest, RemovedNamesAreMissedByNoReader) {
  std::mt19937_64 random(41);
  std::map<uint32_t, std::vector<std::string>> model;
  Bindings read = *BindingReader::load(database_);
  for (int step = 0; step < 300; ++step) {
    std::vector<Binding> bindings;
    for (uint32_t location = 1; location <= 4; ++location) {
      if (random() % 2 == 0) {
        continue;
      }
      Binding& made = bindings.emplace_back(Binding{location, {}});
      model[location].clear();
      for (uint64_t depth = random() % 3; depth > 0; --depth) {
        const std::string name = std::to_string(random() % 30);
        made.frames.push_back({.function = name, .file = name + ".c"});
        model[location].push_back(name + "  " + name + ".c:0");
      }
    }
    bind(bindings, step + 1);
    if (random() % 3 == 0) {
      ASSERT_TRUE(drop_unused_names(database_));
      EXPECT_LE(number("SELECT count(*) FROM function"), 9) << "eight frames, and the last";
    }
    ASSERT_TRUE(BindingReader::extend(read, database_));
    for (const auto& [location, frames] : model) {
      ASSERT_EQ(frames_of(location, read), frames) << "step " << step;
      ASSERT_EQ(frames_of(location), frames) << "step " << step;
    }
  }
}

TEST_F(BindingsTest, ACatalogueOfAnOlderVersionIsFollowedOnceItsWriterHasOpenedIt) {
  bind({{1, {{.function = "a"}}}});
  ASSERT_TRUE(database_.run("DROP TABLE binding_change"));
  Bindings read = *BindingReader::load(database_);
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_THAT(frames_of(1, read), ElementsAre("a  :0"));
  ASSERT_TRUE(Catalogue::open(folder_ / "catalogue.db", sqlite::OpenMode::kReadWrite));
  bind({{1, {{.function = "b"}}}}, 2);
  ASSERT_TRUE(BindingReader::extend(read, database_));
  EXPECT_THAT(frames_of(1, read), ElementsAre("b  :0"));
}

}  // namespace
}  // namespace plimsoll::store
