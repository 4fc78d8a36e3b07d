// A process that rebuilds a damaged block is killed at random moments, and another goes on: the rows are there once, in the end.
//
// PLIMSOLL_TEST_CRASHES   how many blocks to rebuild (4)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/log.h"
#include "proto/profile_codec.h"
#include "query/views/top.h"
#include "store/care/block_repair.h"
#include "store/care/check.h"
#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kPerBlock = 600;  // several batches
constexpr uint64_t kProfiles = 3 * kPerBlock;

int rebuilds_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_CRASHES");
  return text == nullptr ? 4 : std::atoi(text);  // NOLINT(cert-err34-c)
}

using Hits = std::map<std::string, double>;

// Of each function; by all profiles or without those of block 2.
Hits hits(bool with_block_2) {
  Hits hits;
  for (uint64_t seed = 1; seed <= kProfiles; ++seed) {
    if (with_block_2 || (seed - 1) / kPerBlock != 1) {
      hits[fmt::format("f{}", seed % 7)] += static_cast<double>(1 + seed);
    }
  }
  return hits;
}

Hits answer(const std::string& data_dir) {
  const auto snapshot = query::Snapshot::load(data_dir);
  EXPECT_TRUE(snapshot) << snapshot.error().text();
  const auto table = query::top(*query::parse_top({}, 0), **snapshot);
  EXPECT_TRUE(table) << table.error().text();
  Hits self;
  for (const auto& row : table->rows) {
    self[std::get<std::string>(row[0])] = std::get<double>(row[1]);
  }
  self.erase("main");  // calls them all
  return self;
}

// Whether it came to its end before that.
bool rebuild_until(const std::string& data_dir, std::chrono::microseconds time) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto report = store::rebuild_block(data_dir, 2);
    ::_exit(report || report.error().code == ErrorCode::kConflict ? 0 : 1);  // kConflict: all is done
  }
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  return WIFEXITED(status);
}

TEST(RebuildCrash, CountsEveryProfileOnceInTheEnd) {
  set_log_level(LogLevel::kError);
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  {
    const auto ingest = *store::Ingest::open(data_dir, {.block_limits = {.max_profiles = kPerBlock}});
    for (uint64_t seed = 1; seed <= kProfiles; ++seed) {
      const auto profile =
          make_profile({.seed = seed, .stacks = fmt::format("main;f{} {}\n", seed % 7, 1 + seed)});
      ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(profile)), {}));
    }
    while (ingest->build_pending()->profiles > 0) {
    }
  }
  ASSERT_EQ(answer(data_dir), hits(true));
  std::mt19937_64 random(20'261'128);
  int killed = 0;
  for (int i = 0; i < rebuilds_wanted() && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("rebuild {}", i));
    std::filesystem::resize_file(data_dir + "/blocks/000002/catalogue.db", 0);
    int longest_us = 5'000;
    while (
        !rebuild_until(data_dir, std::chrono::microseconds(random() % static_cast<uint64_t>(longest_us))) &&
        !HasFailure()) {
      ++killed;
      longest_us += longest_us / 4;
      const Hits now = answer(data_dir);
      EXPECT_TRUE(now == hits(false) || now == hits(true)) << "all of the block or nothing";
      EXPECT_TRUE(store::Ingest::open(data_dir)) << "a server may start in between";
    }
    EXPECT_EQ(answer(data_dir), hits(true));
    const auto report = store::check_store(data_dir);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_FALSE(report->is_damaged) << report->findings.front().what;
    EXPECT_FALSE(std::filesystem::exists(data_dir + "/blocks/000002.rebuilt"));
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace plimsoll::testing
