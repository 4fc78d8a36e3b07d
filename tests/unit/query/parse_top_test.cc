#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "query/views/top.h"
#include "tests/start.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kNoonNs;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string_view> names(const std::vector<Dimension>& dimensions) {
  std::vector<std::string_view> names;
  for (const Dimension& dimension : dimensions) {
    names.push_back(dimension.name);
  }
  return names;
}

TEST(ParseTop, WithoutParametersIsTheTopFunctionsOfAllTime) {
  const auto request = parse_top({}, kNoonNs);
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_THAT(names(request->by), ElementsAre("function"));
  EXPECT_EQ(request->limit, 20);
  EXPECT_EQ(request->selection.event, "");
  EXPECT_EQ(request->selection.since_ns, INT64_MIN);
  EXPECT_EQ(request->selection.until_ns, INT64_MAX);
  EXPECT_TRUE(request->selection.where.empty());
}

TEST(ParseTop, ReadsEveryParameter) {
  const auto request = parse_top({{"event", "page-faults"},
                                  {"by", "machine,function"},
                                  {"by", "thread"},
                                  {"where", "app=db"},
                                  {"where", "job != batch"},
                                  {"since", "2h"},
                                  {"until", "2023-11-15T11:30:00Z"},
                                  {"limit", "7"}},
                                 kNoonNs);
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->selection.event, "page-faults");
  EXPECT_THAT(names(request->by), ElementsAre("machine", "function", "thread"));
  ASSERT_THAT(request->selection.where, SizeIs(2));
  EXPECT_EQ(request->selection.where[0].dimension().name, "app");
  EXPECT_EQ(request->selection.where[1].dimension().name, "job");
  EXPECT_EQ(format_time(request->selection.since_ns), "2023-11-15T10:00:00Z");
  EXPECT_EQ(format_time(request->selection.until_ns), "2023-11-15T11:30:00Z");
  EXPECT_EQ(request->limit, 7);
}

TEST(ParseTop, KnowsEveryDimension) {
  for (const Dimension& dimension : dimensions()) {
    const auto request = parse_top({{"by", std::string(dimension.name)}}, kNoonNs);
    ASSERT_TRUE(request) << request.error().text();
    EXPECT_THAT(names(request->by), ElementsAre(dimension.name));
    EXPECT_FALSE(dimension.meaning.empty()) << dimension.name;
  }
}

TEST(ParseTop, LimitsReachFromOneToAMillion) {
  EXPECT_EQ(parse_top({{"limit", "1"}}, kNoonNs)->limit, 1);
  EXPECT_EQ(parse_top({{"limit", "1000000"}}, kNoonNs)->limit, 1'000'000);
}

struct ErrorCase {
  const char* name;
  const char* text;
  const char* field;
  const char* says;  // in the message or the hint
};

class ParseTopErrors : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ParseTopErrors, NameTheFieldAndTheReason) {
  const auto request = parse_top({{GetParam().name, GetParam().text}}, kNoonNs);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(request.error().field, GetParam().field);
  EXPECT_THAT(request.error().text(), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Parameters, ParseTopErrors,
    ::testing::Values(ErrorCase{"by", "fuction", "by", "did you mean function?"},
                      ErrorCase{"by", "machine,", "by", "no such dimension: \"\""},
                      ErrorCase{"by", "", "by", "no such dimension: \"\""},
                      ErrorCase{"by", "machine, app", "by", "no such dimension: \" app\""},
                      ErrorCase{"where", "app", "where", "\"app\" is not a filter"},
                      ErrorCase{"where", "ap=db", "where", "did you mean app?"},
                      ErrorCase{"where", "app=~(", "where", "is not a regular expression"},
                      ErrorCase{"focus", "(", "focus", "is not a regular expression"},
                      ErrorCase{"ignore", "[", "ignore", "is not a regular expression"},
                      ErrorCase{"hide", "*", "hide", "is not a regular expression"},
                      ErrorCase{"since", "yesterday", "since", "since is \"yesterday\", not a time"},
                      ErrorCase{"until", "2023-02-30T00:00:00Z", "until", "not a time"},
                      ErrorCase{"limit", "0", "limit", "limit is \"0\", not a number from 1 to 1000000"},
                      ErrorCase{"limit", "1000001", "limit", "not a number from 1 to 1000000"},
                      ErrorCase{"limit", "-1", "limit", "not a number"},
                      ErrorCase{"limit", "ten", "limit", "not a number"},
                      ErrorCase{"limit", "10x", "limit", "not a number"},
                      ErrorCase{"limit", "", "limit", "not a number"},
                      ErrorCase{"limit", "99999999999999999999999", "limit", "not a number"},
                      ErrorCase{"limits", "10", "limits", "did you mean limit?"},
                      ErrorCase{"colour", "red", "colour",
                                "the parameters are event, where, focus, ignore, hide, since, until, ratio, "
                                "compare_event, by, only, limit, margins"}));

TEST(ParseTop, ARangeThatEndsBeforeItBeginsIsAnError) {
  for (const char* until : {"2h", "3h"}) {
    const auto request = parse_top({{"since", "2h"}, {"until", until}}, kNoonNs);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(request.error().field, "since");
    EXPECT_THAT(request.error().message, HasSubstr("time range is empty"));
  }
  EXPECT_TRUE(parse_top({{"since", "2h"}, {"until", "1h"}}, kNoonNs));
}

}  // namespace
}  // namespace plimsoll::query
