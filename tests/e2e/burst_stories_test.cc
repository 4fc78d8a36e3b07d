// The three stories of docs/burst-search.md, planted in a running program and found by the queries that the
// document shows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bursts/documented_queries.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_shop.h"
#include "tests/e2e/tracing_files.h"

namespace plimsoll::testing {
namespace {

// What is planted, and which queries find it.
struct Story {
  std::string name;  // empty: the healthy program
  std::vector<bool> is_found;
};

class BurstStories : public ::testing::TestWithParam<Story> {};

TEST_P(BurstStories, AreFoundByTheDocumentedQueriesAlone) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  if (const std::string why = why_no_tracepoints(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const std::vector<std::string> queries = documented_stories();
  ASSERT_EQ(queries.size(), GetParam().is_found.size());
  const TemporaryFolder folder;
  RunningShop shop({.story = GetParam().name, .clients = 3});
  ASSERT_TRUE(shop.is_serving());
  // 1 s of every 2.
  const Finished recorded = run({"plimsolld", "bursts", "record", "--config", "1,10", "--output",
                                 folder / "machine.bursts", "--bursts", "3"});
  const ShopTruth truth = shop.end();
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (recorded.out.find("not recorded: mark-call") != std::string::npos) {
    GTEST_SKIP() << recorded.out;
  }
  std::ofstream(folder / "spans.csv") << truth.spans;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Finished found = run({"plimsoll", "bursts", "search", queries[i], folder / "machine.bursts",
                                "--traces", folder / "spans.csv", "--json"});
    ASSERT_EQ(found.status, 0) << found.err;
    const auto document = nlohmann::json::parse(found.out);
    fmt::print("{} found by {}\n", document["found"].dump(), queries[i]);
    EXPECT_EQ(document["found"].get<uint64_t>() > 0, GetParam().is_found[i]) << queries[i] << "\n"
                                                                             << found.out;
    EXPECT_EQ(document["notes"].dump().find("were lost"), std::string::npos) << document["notes"];
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, BurstStories,
                         ::testing::Values(Story{"", {false, false, false, false}},
                                           Story{"index-again", {true, false, false, false}},
                                           Story{"property-each", {false, true, false, false}},
                                           Story{"lock-wait", {false, false, true, true}}),
                         [](const ::testing::TestParamInfo<Story>& story) {
                           std::string name = story.param.name.empty() ? "nothing" : story.param.name;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace plimsoll::testing
