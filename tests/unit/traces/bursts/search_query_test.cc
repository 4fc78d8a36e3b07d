// The language of `plimsoll bursts search`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "traces/bursts/search/query.h"

namespace plimsoll::traces::search_query_test {
namespace {

using ::testing::HasSubstr;

SearchQuery parsed(const std::string& text) {
  auto query = parse_search(text);
  EXPECT_TRUE(query) << text << ": " << (query ? "" : query.error().text());
  return query ? std::move(*query) : SearchQuery{};
}

std::string error_of(const std::string& text) {
  const auto query = parse_search(text);
  return query ? "no error" : query.error().text();
}

TEST(SearchQuery, HasTestsAndClauses) {
  const SearchQuery query = parsed(
      "request{duration > 50ms, cpu_share < 50%} "
      "with >= 3 own rpc{service = store | \"my cache\", bytes > 1MB} same operation each within 5ms "
      "not then within 1.5ms fault");
  EXPECT_EQ(query.sets, 3U);
  EXPECT_EQ(query.kinds,
            kinds_of(ItemKind::kRequest) | kinds_of(ItemKind::kRpc) | kinds_of(ItemKind::kFault));
  const SearchSet& request = query.set;
  ASSERT_EQ(request.tests.size(), 2U);
  EXPECT_EQ(request.tests[0].values[0].number, 50'000'000U);
  EXPECT_EQ(request.tests[1].values[0].number, 500'000U);
  ASSERT_EQ(request.clauses.size(), 2U);
  const SearchClause& with = request.clauses[0];
  EXPECT_EQ(with.count, 3U);
  EXPECT_EQ(with.gap_ns, 5'000'000);
  EXPECT_TRUE(with.has_same);
  ASSERT_EQ(with.set.tests.size(), 3U);
  EXPECT_TRUE(with.set.tests[0].is_outer);
  EXPECT_EQ(with.set.tests[1].values[1].text, "my cache");
  EXPECT_EQ(with.set.tests[2].values[0].number, 1'000'000U);
  EXPECT_TRUE(request.clauses[1].is_negated);
  EXPECT_EQ(request.clauses[1].within_ns, 1'500'000);
}

TEST(SearchQuery, SequencesFollowOneAnother) {
  const SearchQuery query = parsed("lock_wait then running then within 1us fault with wake");
  ASSERT_EQ(query.set.clauses.size(), 2U);
  ASSERT_EQ(query.set.clauses[0].set.clauses.size(), 1U);
  EXPECT_EQ(query.set.clauses[0].set.clauses[0].set.kind, ItemKind::kFault);
  EXPECT_EQ(query.set.clauses[1].relation, Relation::kWith);
}

TEST(SearchQuery, NestsInParentheses) {
  const SearchQuery query = parsed("request with (rpc with blocked) during (running not with wake)");
  ASSERT_EQ(query.set.clauses.size(), 2U);
  EXPECT_EQ(query.set.clauses[0].set.clauses.size(), 1U);
  EXPECT_TRUE(query.set.clauses[1].set.clauses[0].is_negated);
}

TEST(SearchQuery, AttributesOfSpansHaveAnyName) {
  const SearchQuery query = parsed("rpc{db.rows > 100, http.route ~ \"/cart\"}");
  EXPECT_EQ(query.set.tests[0].field.attribute, "db.rows");
  EXPECT_TRUE(query.set.tests[0].is_number);
  EXPECT_FALSE(query.set.tests[1].is_number);
}

// Processes of two machines use the same IDs and addresses.
TEST(SearchQuery, IdsOfAMachineAreEqualWithinItAlone) {
  const std::pair<const char*, bool> queries[] = {
      {"lock_wait overlapping lock_hold{lock = outer.lock}", true},
      {"running during running{pid = outer.pid}", true},
      {"fault then running{cpu = outer.cpu}", true},
      {"blocked then running{thread = outer.waker}", true},
      {"running during running{request = outer.request}", false},
      {"lock_wait during lock_hold{request = outer.lock}", false},
  };
  for (const auto& [text, is_of_machine] : queries) {
    const SearchQuery query = parsed(text);
    ASSERT_EQ(query.set.clauses.size(), 1U) << text;
    EXPECT_EQ(query.set.clauses[0].set.tests.at(0).is_of_machine, is_of_machine) << text;
  }
}

TEST(SearchQuery, ErrorsHaveAColumnAndWhatWasExpected) {
  const std::pair<const char*, const char*> errors[] = {
      {"", "column 1: expected a kind of item (request, running"},
      {"reqest", "did you mean request?"},
      {"request{", "column 9: expected an attribute of request: duration, offset"},
      {"request{lock = 1}", "column 9: expected an attribute of request"},
      {"request{duration}", "column 17: expected =, !=, <"},
      {"request{duration > 50}", "column 20: expected a time with its unit, such as 50ms, found \"50\""},
      {"request{duration > 50ms", "column 24: expected \",\" or \"}\", found the end"},
      {"request{machine > a}", "column 17: expected =, != or ~ for a text"},
      {"request{duration ~ 5ms}", "column 18: expected =, !=, <, <=, > or >= for a number"},
      {"request rpc", "column 9: expected with, during"},
      {"request with", "column 13: expected a kind of item"},
      {"request with >= many rpc", "column 17: expected how many items, such as 3, found \"many\""},
      {"request with rpc each 5ms", "column 23: expected within, found \"5ms\""},
      {"request with < 3 rpc each within 5ms", "column 22: \"same\" and \"each within\" require a minimum"},
      {"request then within 2h wake", "column 21: expected a time up to 3600s"},
      {"own request", "column 1: \"own\" requires an item before it"},
      {"running{thread = outer.thread}", "column 18: there is no outer item"},
      {"request with blocked{name = outer.duration}", "cannot be compared: they are of different types"},
      {"request with (rpc", "or \")\", found the end"},
      {"rpc{service = \"store}", "column 15: the text has no closing quote"},
      {"rpc{bytes = 1 | a}", "column 17: expected a size"},
      {"rpc{x.y = 1 | a}", "column 15: values of one test are all numbers or all texts"},
      {"request;", "column 8: unexpected character \";\""},
      {"request not not with wake", "column 13: expected with, during, overlapping, then or after"},
  };
  for (const auto& [text, error] : errors) {
    EXPECT_THAT(error_of(text), HasSubstr(error)) << text;
  }
}

TEST(SearchQuery, LengthDepthAndPartsAreBounded) {
  EXPECT_THAT(error_of(std::string(20'000, ' ')), HasSubstr("at most 16384 bytes"));
  std::string nested = "request";
  std::string sequence = "request";
  for (int i = 0; i < 100; ++i) {
    nested += " with (request";
    sequence += " then request";
  }
  EXPECT_THAT(error_of(nested), HasSubstr("nested over 16 deep"));
  EXPECT_THAT(error_of(sequence), HasSubstr("nested over 16 deep"));
  std::string wide = "request";
  for (int i = 0; i < 100; ++i) {
    wide += " with wake";
  }
  EXPECT_THAT(error_of(wide), HasSubstr("over 64 "));
  std::string tests = "request{threads > 1";
  for (int i = 0; i < 100; ++i) {
    tests += ", threads > 1";
  }
  EXPECT_THAT(error_of(tests), HasSubstr("over 64 tests"));
}

}  // namespace
}  // namespace plimsoll::traces::search_query_test
