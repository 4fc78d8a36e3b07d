// A program that does everything at once that has made profilers hang, while all of its profiles are fetched: linked with the library,
// and with it in LD_PRELOAD. PLIMSOLL_TEST_APPPROF_SECONDS sets how long each of the two runs (600 in a soak).
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing::appprof_torture_test {
namespace {

std::string torture_seconds() {
  const char* text = std::getenv("PLIMSOLL_TEST_APPPROF_SECONDS");
  return text == nullptr ? "30" : text;  // a minute together
}

std::vector<std::string> torture(const std::string& name, const std::string& socket) {
  return {program(name),
          torture_seconds(),
          socket,
          built_file("library_storm_libraries/left.so"),
          built_file("library_storm_libraries/right.so"),
          "/usr/lib/x86_64-linux-gnu/libbz2.so.1.0"};
}

// It ended by itself, and has done all of it.
void expect_survived(const Finished& done) {
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  std::map<std::string, long> counts;
  std::istringstream lines(done.out);
  std::string what;
  for (long times = 0; lines >> what >> times;) {
    counts[what] = times;
  }
  EXPECT_GE(counts["threads"], 1000) << done.out;
  for (const char* each : {"forks", "libraries", "exceptions", "locks", "fetches", "signals"}) {
    EXPECT_GT(counts[each], 0) << each;
  }
  std::cout << done.out;
}

TEST(AppprofTorture, OfALinkedProgramHangsAndFailsNowhere) {
  const TemporaryFolder folder;
  expect_survived(run(torture("appprof_torture", folder / "s")));
}

TEST(AppprofTorture, OfAPreloadedProgramHangsAndFailsNowhere) {
  const TemporaryFolder folder;
  const std::string socket = folder / "s";
  std::vector<std::string> argv = {"/usr/bin/env",
                                   "LD_PRELOAD=" + built_file("libplimsoll_appprof.so") + ":libtcmalloc.so.4",
                                   "PLIMSOLL_APPPROF_LISTEN=unix:" + socket,
                                   "PLIMSOLL_APPPROF_HEAP_BYTES=16384",
                                   "PLIMSOLL_APPPROF_LOCK_NS=1000",
                                   "PLIMSOLL_APPPROF_REQUESTS=100000"};
  for (const std::string& argument : torture("appprof_torture_plain", socket)) {
    argv.push_back(argument);
  }
  expect_survived(run(argv));
}

}  // namespace
}  // namespace plimsoll::testing::appprof_torture_test
