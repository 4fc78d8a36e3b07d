#include "store/frames/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/catalogue/catalogue.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
  std::vector<std::string> frames_of(uint32_t location) {
    const auto bindings = Bindings::load(database_);
    std::vector<std::string> frames;
    for (const auto& frame : bindings->of(location)) {
      frames.push_back(fmt::format("{} {} {}:{}", bindings->functions[frame.function],
                                   bindings->linkage_names[frame.function], bindings->files[frame.file],
                                   frame.line));
    }
    return frames;
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
  const auto bindings = Bindings::load(database_);
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

}  // namespace
}  // namespace plimsoll::store
