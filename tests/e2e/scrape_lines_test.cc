// The file and line of allocation sites and lock waits.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

// "heap_server.cc:41": where the program's source says "line: FUNCTION".
std::string place_of(const std::string& function) {
  std::ifstream source(source_file("tests/workloads/heap_server.cc"));
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("line: " + function)) {
      return "tests/workloads/heap_server.cc:" + std::to_string(number);
    }
  }
  return "no line of the source is marked";
}

TEST(ScrapeLines, AllocationSitesAndLockWaitsHaveTheirFileAndLine) {
  const Background heap_server({"/usr/bin/env", "TCMALLOC_SAMPLE_PARAMETER=65536", program("heap_server")});
  ASSERT_TRUE(eventually([&] { return heap_server.err().find('\n') != std::string::npos; }));
  const std::string port = heap_server.err().substr(5, heap_server.err().find('\n') - 5);
  const TemporaryFolder folder;
  for (const auto& [path, event, function] :
       {std::tuple("/pprof/heap", "heap-inuse-bytes", "allocate_large_blocks"),
        std::tuple("/pprof/heap", "heap-inuse-bytes", "allocate_small_blocks"),
        std::tuple("/pprof/contention", "lock-wait-ns", "wait_for_the_lock")}) {
    const std::string profile = folder / (std::string(function) + ".profile");
    const std::string data = folder / function;
    const Finished scraped =
        run({"plimsolld", "--scrape", "http://127.0.0.1:" + port + path, "--output", profile});
    ASSERT_EQ(scraped.status, 0) << scraped.err;
    ASSERT_EQ(run({"plimsoll", "import", "--data", data, profile, "--symbol-root", built_file()}).status, 0);
    const query::Table table =
        top({"--data", data, "--event", event, "--by", "function,line", "--limit", "100"});
    std::vector<std::string> places;
    for (const auto& row : table.rows) {
      if (std::get<std::string>(row[0]).starts_with(function)) {
        places.push_back(std::get<std::string>(row[1]));
      }
    }
    ASSERT_EQ(places.size(), 1) << function;
    EXPECT_TRUE(places[0].ends_with(place_of(function))) << places[0] << ", not " << place_of(function);
  }
}

}  // namespace
}  // namespace plimsoll::testing
