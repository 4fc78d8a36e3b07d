// Workers that a prefork server forks, each with profiles of its own: announced by the library, scraped by the daemon as processes of their
// own, and in the server's answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"
#include "tests/places.h"

namespace plimsoll::testing::appprof_prefork_test {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kBlock = 65'536;  // of appprof_prefork, and its sampling period

// Of the estimate of so many bytes: each block is a sample with p = 1 - exp(-1), and stands for 1/p.
double standard_error(double bytes) {
  const double p = 1 - std::exp(-1);
  return kBlock * std::sqrt(bytes / kBlock * (1 - p) / p);
}

// Of the workers, whose processes have the same name and job.
std::map<std::string, double> heap_by_worker(const TestServer& server) {
  return self_so_far({"--server", server.address(), "--event", "heap-inuse-bytes", "--by", "label:worker",
                      "--where", "app=appprof_prefork", "--where", "label:worker!="});
}

TEST(AppprofPrefork, WorkersAreScrapedAsProcessesOfTheirOwn) {
  const TemporaryFolder folder;
  const std::string announcements = folder / "announcements";
  std::filesystem::create_directories(announcements);
  const Background program({"appprof_prefork", announcements});
  ASSERT_TRUE(eventually([&] { return program.err().find("ready") != std::string::npos; })) << program.err();
  std::istringstream words(program.err());
  std::string word;
  uint32_t first = 0;
  uint32_t second = 0;
  words >> word >> first >> second;

  TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready());
  const std::string config = folder / "daemon.toml";
  std::ofstream(config) << "[daemon]\nserver = \"" << server.fleet_address()
                        << "\"\n[scrape]\ninterval = \"1s\"\nannouncements = \"" << announcements
                        << "\"\nannounced_kinds = [\"heap\"]\n";
  const Background daemon({"plimsolld", "--config", config});
  std::map<std::string, double> heap;
  ASSERT_TRUE(
      eventually([&] { return (heap = heap_by_worker(server)).size() == 2; }, std::chrono::milliseconds(100)))
      << daemon.err();
  // What each holds, neither twice nor as the mean of both.
  EXPECT_NEAR(heap.at("0"), 16 * kMiB, 5 * standard_error(16 * kMiB));
  EXPECT_NEAR(heap.at("1"), 48 * kMiB, 5 * standard_error(48 * kMiB));

  server.stop();
  std::set<uint32_t> scraped;
  for (const wire::RawProfile& profile : archived_in(folder / "data")) {
    for (const wire::Process& process : profile.processes()) {
      scraped.insert(process.pid());
    }
  }
  EXPECT_THAT(scraped, ::testing::IsSupersetOf({first, second}));
}

}  // namespace
}  // namespace plimsoll::testing::appprof_prefork_test
