#include "query/selection/predicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

// What is left of the fleet below under each filter.
struct FilterCase {
  const char* where;
  const char* by;
  const char* answer;
};

class Filters : public ::testing::TestWithParam<FilterCase> {
 protected:
  static void SetUpTestSuite() {
    fleet_ = std::make_unique<Fleet>();
    fleet_->add(
        {.seed = 1, .machine = "m1", .process = "db", .stacks = "main;read 4\nthread=io main;write 2\n"});
    fleet_->add(
        {.seed = 2, .machine = "m2", .process = "web", .stacks = "main;render;read 8\nmain;[idle] 1\n"});
  }
  static void TearDownTestSuite() { fleet_.reset(); }

  static inline std::unique_ptr<Fleet> fleet_;
};

TEST_P(Filters, LeaveWhatMatches) {
  EXPECT_EQ(brief(fleet_->top({{"where", GetParam().where}, {"by", GetParam().by}})), GetParam().answer);
}

INSTANTIATE_TEST_SUITE_P(
    OnOrigins, Filters,
    ::testing::Values(
        FilterCase{"machine=m1", "machine", "m1 6 6\n"}, FilterCase{"machine = m1", "machine", "m1 6 6\n"},
        FilterCase{"machine!=m1", "machine", "m2 9 9\n"}, FilterCase{"machine != m1 ", "machine", "m2 9 9\n"},
        FilterCase{"machine=~^m[2-9]$", "machine", "m2 9 9\n"},
        FilterCase{"machine =~ 2", "machine", "m2 9 9\n"}, FilterCase{"machine!~2", "machine", "m1 6 6\n"},
        FilterCase{"machine !~ m", "machine", ""},
        FilterCase{"machine in m1,m2", "machine", "m2 9 9\nm1 6 6\n"},
        FilterCase{"machine in m3 , m1", "machine", "m1 6 6\n"}, FilterCase{"machine=m", "machine", ""},
        FilterCase{"datacenter=", "machine", "m2 9 9\nm1 6 6\n"},  // none is configured
        FilterCase{"hostname!=", "machine", "m2 9 9\nm1 6 6\n"}));

INSTANTIATE_TEST_SUITE_P(OnWorkloadsAndThreads, Filters,
                         ::testing::Values(FilterCase{"app=web", "app", "web 9 9\n"},
                                           FilterCase{"app!~^w", "app", "db 6 6\n"},
                                           FilterCase{"app in web,db", "app", "web 9 9\ndb 6 6\n"},
                                           FilterCase{"thread=io", "app", "db 2 2\n"},
                                           FilterCase{"thread!=io", "app", "web 9 9\ndb 4 4\n"},
                                           FilterCase{"thread=~^(io|web)$", "thread", "web 9 9\nio 2 2\n"}));

// A filter on frames keeps stacks that contain a match anywhere, its negation stacks that contain none.
INSTANTIATE_TEST_SUITE_P(
    OnFrames, Filters,
    ::testing::Values(FilterCase{"function=render", "function", "read 8 8\nmain 0 8\nrender 0 8\n"},
                      FilterCase{"function=read", "app", "web 8 8\ndb 4 4\n"},
                      FilterCase{"function!=read", "function", "write 2 2\n[idle] 1 1\nmain 0 3\n"},
                      FilterCase{"function!=main", "function", ""},
                      FilterCase{"function=~^re", "app", "web 8 8\ndb 4 4\n"},
                      FilterCase{"function!~^re", "function", "write 2 2\n[idle] 1 1\nmain 0 3\n"},
                      FilterCase{"function in write,[idle]", "app", "db 2 2\nweb 1 1\n"},
                      FilterCase{"file!=", "function", ""}));

INSTANTIATE_TEST_SUITE_P(OnStacks, Filters,
                         ::testing::Values(FilterCase{"stack=main;read", "app", "db 4 4\n"},
                                           FilterCase{"stack=~render;.*d$", "app", "web 8 8\n"},
                                           FilterCase{"stack!~read$", "stack",
                                                      "main;write 2 2\nmain;[idle] 1 1\n"}));

TEST_F(Filters, AllMustHold) {
  EXPECT_EQ(brief(fleet_->top({{"where", "function=read"}, {"where", "function!=render"}, {"by", "app"}})),
            "db 4 4\n");
  EXPECT_EQ(brief(fleet_->top({{"where", "app=db"}, {"where", "machine=m2"}})), "");
}

TEST(Filter, OneOnFramesSeesInlinedOnes) {
  Fleet fleet;
  fleet.add({.stacks = "main;read>checksum 1\nmain;read 2\n"});
  EXPECT_EQ(brief(fleet.top({{"where", "function=checksum"}, {"by", "stack"}})), "main;read;checksum 1 1\n");
  EXPECT_EQ(brief(fleet.top({{"where", "function!=checksum"}, {"by", "stack"}})), "main;read 2 2\n");
}

class Malformed : public ::testing::TestWithParam<const char*> {};

TEST_P(Malformed, FiltersSayHowToWriteOne) {
  const auto predicate = Predicate::parse(GetParam());
  ASSERT_FALSE(predicate);
  EXPECT_EQ(predicate.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(predicate.error().field, "where");
  EXPECT_EQ(predicate.error().message, fmt::format("\"{}\" is not a filter", GetParam()));
  EXPECT_EQ(predicate.error().hint, "write dim=value, dim!=value, dim=~regex, dim!~regex or \"dim in a,b\"");
}

INSTANTIATE_TEST_SUITE_P(Filters, Malformed,
                         ::testing::Values("", "app", "=db", " app=db", "app!db", "app db", "app in",
                                           "app inside", "app ~ db", "app"));

TEST(Filter, AnUnknownDimensionIsNamedWithTheNearest) {
  const auto near_miss = Predicate::parse("fuction=main");
  ASSERT_FALSE(near_miss);
  EXPECT_EQ(near_miss.error().field, "where");
  EXPECT_THAT(near_miss.error().message, HasSubstr("no such dimension: \"fuction\""));
  EXPECT_EQ(near_miss.error().hint, "did you mean function?");
  const auto far_off = Predicate::parse("colour=red");
  ASSERT_FALSE(far_off);
  EXPECT_THAT(far_off.error().hint, HasSubstr("the dimensions are machine, hostname, "));
}

TEST(Filter, AnInvalidRegularExpressionIsAnError) {
  for (const char* pattern : {"(", "a)(b", "[z-a]", "*", "a{2,1}"}) {
    const auto predicate = Predicate::parse(fmt::format("app=~{}", pattern));
    ASSERT_FALSE(predicate) << pattern;
    EXPECT_EQ(predicate.error().field, "where");
    EXPECT_THAT(predicate.error().message,
                HasSubstr(fmt::format("\"{}\" is not a regular expression", pattern)));
  }
}

TEST(Filter, RegularExpressionsAreBoundedInLength) {
  EXPECT_TRUE(Predicate::parse("app=~" + std::string(500, 'a')));
  const auto predicate = Predicate::parse("app=~" + std::string(501, 'a'));
  ASSERT_FALSE(predicate);
  EXPECT_EQ(predicate.error().field, "where");
  EXPECT_THAT(predicate.error().message, HasSubstr("over 500 bytes"));
  EXPECT_FALSE(Predicate::parse("app=~((a{100}){100}){100}")) << "a short pattern may stand for a long one";
}

// Each of these overran the stack, or took longer than anybody waits, when ways to match were tried one by one.
class HostilePatterns : public ::testing::TestWithParam<const char*> {};

TEST_P(HostilePatterns, AreAnsweredForLongNames) {
  const auto predicate = Predicate::parse(fmt::format("function=~{}", GetParam()));
  ASSERT_TRUE(predicate) << predicate.error().text();
  EXPECT_FALSE(predicate->matches(std::string(4096, 'a')));
  EXPECT_TRUE(predicate->matches(std::string(4095, 'a') + "b"));
}

INSTANTIATE_TEST_SUITE_P(RegularExpressions, HostilePatterns,
                         ::testing::Values("((((((.))))))*b", "(a+)+b", "(a|a)*b", "(.*)*b$",
                                           "^(([a-z])+.)+b$", "(.*.*.*.*.*)*b"));

TEST(Filter, WhatCannotBeMatchedInLinearTimeIsRefused) {
  EXPECT_FALSE(Predicate::parse("function=~(?=next)n"));
  const auto predicate = Predicate::parse("function=~(a)\\1");
  ASSERT_FALSE(predicate);
  EXPECT_EQ(predicate.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(predicate.error().field, "where");
}

struct SearchCase {
  const char* pattern;
  const char* subject;
  bool matches;
};

class Searches : public ::testing::TestWithParam<SearchCase> {};

TEST_P(Searches, MatchAnywhereInTheValue) {
  const auto predicate = Predicate::parse(fmt::format("function=~{}", GetParam().pattern));
  ASSERT_TRUE(predicate) << predicate.error().text();
  EXPECT_EQ(predicate->matches(GetParam().subject), GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(RegularExpressions, Searches,
                         ::testing::Values(SearchCase{"lex", "parse::lex::next", true},
                                           SearchCase{"^lex", "parse::lex::next", false},
                                           SearchCase{"^parse", "parse::lex::next", true},
                                           SearchCase{"lex$", "parse::lex::next", false},
                                           SearchCase{"next$", "parse::lex::next", true},
                                           SearchCase{"a|z$", "fuzz", true},
                                           SearchCase{"^a|^b", "cab", false}, SearchCase{"^$", "", true},
                                           SearchCase{"^$", "a", false}, SearchCase{"", "anything", true},
                                           SearchCase{"\\bex", "lex", false},
                                           SearchCase{"\\bex", "l ex", true}, SearchCase{"b", "a\r\nb", true},
                                           SearchCase{"größe", "die größe", true}));

// Samples without a stack can be filtered by the name that tables give them.
struct NoStackCase {
  const char* where;
  const char* answer;  // by stack
};

class NoStack : public ::testing::TestWithParam<NoStackCase> {};

TEST_P(NoStack, IsAValueLikeAnyOther) {
  Fleet fleet;
  fleet.add({.stacks = "main;read 4\nmain 2\n\"\" 1\n"});
  EXPECT_EQ(brief(fleet.top({{"where", GetParam().where}, {"by", "stack"}})), GetParam().answer);
}

INSTANTIATE_TEST_SUITE_P(Filters, NoStack,
                         ::testing::Values(NoStackCase{"stack=main;read", "main;read 4 4\n"},
                                           NoStackCase{"stack=~main", "main;read 4 4\nmain 2 2\n"},
                                           NoStackCase{"stack!=main", "main;read 4 4\n[no stack] 1 1\n"},
                                           NoStackCase{"stack=[no stack]", "[no stack] 1 1\n"},
                                           NoStackCase{"stack!~no stack", "main;read 4 4\nmain 2 2\n"},
                                           NoStackCase{"function=read", "main;read 4 4\n"},
                                           NoStackCase{"function!=read", "main 2 2\n[no stack] 1 1\n"},
                                           NoStackCase{"function=[no stack]", "[no stack] 1 1\n"},
                                           NoStackCase{"function!=[no stack]", "main;read 4 4\nmain 2 2\n"}));

}  // namespace
}  // namespace plimsoll::query
