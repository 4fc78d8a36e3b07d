// Many writers and readers of one data directory while its segments are being merged.
//
// PLIMSOLL_TEST_STORM_SECONDS   how long (5)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "proto/profile_codec.h"
#include "query/views/top.h"
#include "server/background/work_kinds.h"
#include "server/passes.h"
#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kProfilesOfBlock = 500;
constexpr uint64_t kWriters = 4;
constexpr uint64_t kReaders = 16;

// What each profile holds, whoever sends it.
constexpr uint64_t kInParse = 12, kInRender = 30, kInMain = 2;
constexpr const char* kStacks = "main;parse 12\nmain;render 30\nmain 2\n";

using Deadline = std::chrono::steady_clock::time_point;

Deadline deadline() {
  const char* const text = std::getenv("PLIMSOLL_TEST_STORM_SECONDS");
  const int64_t seconds = text == nullptr ? 5 : std::strtoll(text, nullptr, 10);
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

struct Counts {
  std::atomic<uint64_t> accepted = 0;
  std::atomic<uint64_t> snapshots = 0;
  std::atomic<uint64_t> most_seen = 0;  // profiles in a snapshot
  std::atomic<bool> failed = false;
  std::atomic<uint64_t> news = 0;  // for the builder: profiles that were accepted, writers that ended

  void tell_builder() {
    ++news;
    news.notify_one();
  }
};

// Sends until `end`, now and then a profile that it sent before.
void write(store::Ingest& ingest, uint64_t writer, Deadline end, Counts& counts) {
  std::vector<std::string> sent;
  while (std::chrono::steady_clock::now() < end && !counts.failed) {
    const uint64_t number = sent.size();
    sent.push_back(wire::encode(make_profile({.seed = (writer + 1) * 1'000'000'000 + number,
                                              .machine = fmt::format("m{}", number % 5),
                                              .from_ns = static_cast<int64_t>(1 + number) * 1'000'000'000,
                                              .stacks = kStacks})));
    const auto accepted = ingest.accept(as_bytes(sent.back()), {});
    ASSERT_TRUE(accepted) << accepted.error().text();
    ++counts.accepted;
    counts.tell_builder();
    if (number % 7 == 0) {
      const auto again = ingest.accept(as_bytes(sent[number / 2]), {});
      ASSERT_TRUE(again) << again.error().text();
      ASSERT_EQ(again->acceptance, store::Acceptance::kKnown);
    }
  }
}

// How many profiles a snapshot shows. Each must be there whole, and once.
uint64_t profiles_in(const query::Snapshot& snapshot) {
  if (snapshot.dictionaries.origins.size() == 1) {
    return 0;
  }
  const auto table = query::top(*query::parse_top({{"event", "cycles"}}, 0), snapshot);
  EXPECT_TRUE(table) << table.error().text();
  std::map<std::string, double> self;
  for (const auto& row : table ? table->rows : std::vector<std::vector<query::Value>>()) {
    self[std::get<std::string>(row[0])] = std::get<double>(row[1]);
  }
  const auto profiles = static_cast<double>(snapshot.dictionaries.origins.size() - 1);
  EXPECT_EQ(self, (std::map<std::string, double>{{"parse", profiles * kInParse},
                                                 {"render", profiles * kInRender},
                                                 {"main", profiles * kInMain}}));
  return snapshot.dictionaries.origins.size() - 1;
}

// Half of the readers ask a cache that they share, as a server's do; the others open the directory each time, as other
// programs do.
void read(const std::string& data_dir, query::SnapshotCache* cache, Deadline end, Counts& counts) {
  uint64_t seen = 0;
  while (std::chrono::steady_clock::now() < end && !counts.failed) {
    const auto snapshot = cache == nullptr ? query::Snapshot::load(data_dir) : cache->newest();
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    const uint64_t profiles = profiles_in(**snapshot);
    ASSERT_FALSE(::testing::Test::HasFailure());
    ASSERT_GE(profiles, seen) << "what was visible is not any more";
    seen = profiles;
    ++counts.snapshots;
  }
  uint64_t most = counts.most_seen;
  while (most < seen && !counts.most_seen.compare_exchange_weak(most, seen)) {
  }
}

void build(store::Ingest& ingest, server::BackgroundTask& compaction, const std::atomic<uint64_t>& writing,
           Counts& counts) {
  bool is_last = false;
  while (!is_last && !counts.failed) {
    const uint64_t news = counts.news;
    is_last = writing == 0;  // read before building, so that the last batch misses nothing
    uint64_t built = 0;
    do {
      const auto report = ingest.build_pending();
      ASSERT_TRUE(report) << report.error().text();
      built = report->profiles;
      compaction.wake();
    } while (built > 0 && !counts.failed);
    if (!is_last) {
      counts.news.wait(news);
    }
  }
}

int64_t merged_segments(const std::string& data_dir) {
  auto catalogue = *store::Catalogue::open(data_dir + "/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
  return *catalogue.database().integer("SELECT count(*) FROM segment WHERE file LIKE '%.%.rows'", 0);
}

TEST(StoreStorm, EverySnapshotHoldsEachProfileWholeAndOnceAndNoneIsLost) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  const auto ingest = *store::Ingest::open(data_dir, {.block_limits = {.max_profiles = kProfilesOfBlock}});
  server::BackgroundWork background;
  server::BackgroundTask& compaction = background.start(
      server::kCompaction, *server::compaction_pass(*ingest, {.max_rows = 10'000, .min_inputs = 3}));
  query::SnapshotCache cache(data_dir);
  const Deadline end = deadline();
  Counts counts;
  std::atomic<uint64_t> writing = kWriters;
  {
    std::vector<std::jthread> threads;
    const auto start = [&](auto work) {
      threads.emplace_back([&counts, work] {
        work();
        counts.failed = counts.failed || ::testing::Test::HasFailure();
      });
    };
    for (uint64_t writer = 0; writer < kWriters; ++writer) {
      start([&, writer] {
        write(*ingest, writer, end, counts);
        --writing;
        counts.tell_builder();
      });
    }
    for (uint64_t reader = 0; reader < kReaders; ++reader) {
      start([&, reader] { read(data_dir, reader % 2 == 0 ? &cache : nullptr, end, counts); });
    }
    start([&] { build(*ingest, compaction, writing, counts); });
  }
  background.stop();
  const auto snapshot = query::Snapshot::load(data_dir);
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ(profiles_in(**snapshot), counts.accepted);
  EXPECT_GT(counts.most_seen, 0);
  EXPECT_GT(merged_segments(data_dir), 0);
  std::printf("%lu profiles in %lu blocks; %lu snapshots\n", counts.accepted.load(), ingest->blocks()->size(),
              counts.snapshots.load());
}

}  // namespace
}  // namespace plimsoll::testing
