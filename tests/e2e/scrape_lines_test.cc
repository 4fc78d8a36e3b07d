// The file and line of allocation sites and lock waits. Needs line tables to be read (symbolizer).
#include <gtest/gtest.h>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

TEST(ScrapeLines, AllocationSitesAndLockWaitsHaveTheirFile) {
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
    ASSERT_EQ(run({"plimsoll", "import", "--data", data, profile, "--symbol-root", PLIMSOLL_BIN}).status, 0);
    const query::Table table =
        top({"--data", data, "--event", event, "--by", "function,file", "--limit", "100"});
    bool found = false;
    for (const auto& row : table.rows) {
      const bool is_it = std::get<std::string>(row[0]).starts_with(function);
      found = found || (is_it && std::get<std::string>(row[1]).ends_with("tests/workloads/heap_server.cc"));
    }
    EXPECT_TRUE(found) << function;
  }
}

}  // namespace
}  // namespace plimsoll::testing
