// focus, ignore and hide, as pprof has them: expressions that look at the function, file and binary of frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/views/callers.h"
#include "query/views/flame.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

class FocusTest : public ::testing::Test {
 protected:
  FocusTest() {
    wire::RawProfile profile =
        make_profile({.seed = 1,
                      .stacks = "main;parse@parse.cc:3;copy 10\n"
                                "main;parse@parse.cc:8;wrap;copy 5\n"
                                "main;wrap>print@io.cc:2 3\n"  // print was inlined into wrap
                                "wrap;wrap 2\n"
                                "\"\" 4\n"});
    wire::Binary library;
    library.set_path("/usr/lib/libz.so");
    add_sample(profile, library, wire::ELF, 0x1000, 7);
    fleet_.add(profile);
  }

  template <typename Parse, typename View>
  auto ask(Parse parse, View view, const Parameters& parameters) const
      -> decltype(view(*parse({}, 0), Snapshot())) {
    const auto request = parse(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return view(*request, **snapshot);
  }
  std::string folded(const Parameters& parameters) const {
    const auto answer = ask(parse_flame, flame, parameters);
    return answer ? *to_folded(*answer) : answer.error().text();
  }
  std::string callers_of(const Parameters& parameters) const {
    return brief(ask(parse_callers, callers, parameters));
  }

  Fleet fleet_;
};

TEST_F(FocusTest, FocusLeavesStacksWithAFrameThatMatchesByFunctionFileOrBinary) {
  EXPECT_EQ(folded({{"focus", "^par"}}), "main;parse;copy 10\nmain;parse;wrap;copy 5\n");
  EXPECT_EQ(folded({{"focus", "io\\.cc"}}), "main;wrap;print 3\n");
  EXPECT_EQ(folded({{"focus", "libz"}}), "[no symbol in libz.so] 7\n");
  EXPECT_EQ(folded({{"focus", "no stack"}}), "[no stack] 4\n");
}

TEST_F(FocusTest, IgnoreTakesThemAway) {
  EXPECT_EQ(folded({{"ignore", "main|libz"}}), "[no stack] 4\nwrap;wrap 2\n");
}

TEST_F(FocusTest, ExpressionsOnDifferentFramesHoldTogether) {
  EXPECT_EQ(folded({{"focus", "parse"}, {"focus", "wrap"}}), "main;parse;wrap;copy 5\n");
  EXPECT_EQ(folded({{"focus", "parse"}, {"ignore", "wrap"}}), "main;parse;copy 10\n");
}

TEST_F(FocusTest, HideTakesFramesOutOfTheirStacksAndStacksOfNothingElseAway) {
  EXPECT_EQ(folded({{"hide", "wrap"}}),
            "[no stack] 4\n[no symbol in libz.so] 7\nmain;parse;copy 15\nmain;print 3\n");
  EXPECT_EQ(folded({{"hide", "wrap|copy"}, {"hide", "libz|no stack"}}), "main;parse 15\nmain;print 3\n");
}

TEST_F(FocusTest, WhatAHiddenLeafTookIsItsCallers) {
  EXPECT_EQ(brief(fleet_.top({{"hide", "copy|no stack|libz"}})),
            "parse 10 15\n"
            "wrap 7 10\n"
            "print 3 3\n"
            "main 0 18\n");
}

TEST_F(FocusTest, FocusLooksAtFramesThatAreHidden) {
  EXPECT_EQ(folded({{"focus", "wrap"}, {"hide", "wrap"}}), "main;parse;copy 5\nmain;print 3\n");
}

TEST_F(FocusTest, SharesAreOfWhatIsLeft) {
  EXPECT_THAT(csv(fleet_.top({{"hide", "wrap"}, {"focus", "wrap"}, {"by", "function"}, {"limit", "1"}})),
              HasSubstr("copy,5,0.625,"));
}

TEST_F(FocusTest, WholeStacksAreWithoutTheHiddenFrames) {
  EXPECT_EQ(brief(fleet_.top({{"by", "stack"}, {"hide", "^(wrap|main)$"}, {"ignore", "libz|no stack"}})),
            "parse;copy 15 15\n"
            "print 3 3\n");
}

TEST_F(FocusTest, FiltersLookAtWholeStacks) {
  EXPECT_EQ(brief(fleet_.top({{"by", "stack"}, {"where", "stack=main;parse;wrap;copy"}, {"hide", "wrap"}})),
            "main;parse;copy 5 5\n");
}

TEST_F(FocusTest, CallersAreTheNextThatAreShown) {
  EXPECT_EQ(callers_of({{"function", "copy"}}), "parse 10\nwrap 5\n");
  EXPECT_EQ(callers_of({{"function", "copy"}, {"hide", "wrap"}}), "parse 15\n");
  EXPECT_EQ(callers_of({{"function", "copy"}, {"hide", "wrap|parse|main"}}), "[no caller] 15\n");
}

TEST_F(FocusTest, AHiddenFunctionHasNoCallers) {
  EXPECT_THAT(callers_of({{"function", "copy"}, {"hide", "copy"}}),
              HasSubstr("no selected stack has function=copy"));
}

TEST_F(FocusTest, AnEmptyAnswerSaysWhy) {
  const auto hidden = fleet_.top({{"hide", "."}});
  ASSERT_TRUE(hidden) << hidden.error().text();
  EXPECT_THAT(hidden->notes, ::testing::Contains(HasSubstr("has frames that are not hidden")));
  const auto nowhere = fleet_.top({{"focus", "nosuch"}});
  ASSERT_TRUE(nowhere);
  EXPECT_THAT(nowhere->notes, ::testing::Contains(HasSubstr("nothing matches focus=nosuch")));
}

}  // namespace
}  // namespace plimsoll::query
