#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/dictionaries/dictionary_reader.h"
#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using plimsoll::testing::TemporaryDirectory;

TEST(IngestThreads, ProfilesFromManyThreadsCountOnceWhileABuilderRuns) {
  constexpr uint64_t kProfiles = 60;
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kPerThread = 30;  // thread t sends profiles 10t .. 10t + 29: neighbours overlap
  const TemporaryDirectory folder;
  const auto ingest = *Ingest::open(folder / "data");
  std::vector<std::string> encoded;
  for (uint64_t seed = 0; seed < kProfiles; ++seed) {
    encoded.push_back(wire::encode(
        make_profile({.seed = seed,
                      .machine = fmt::format("m{}", seed % 7),
                      .stacks = fmt::format("main;f{} {}\nthread=io main;g 1\n", seed % 5, seed + 1)})));
  }

  std::atomic<uint64_t> accepted = 0;
  std::atomic<uint64_t> running = kThreads;
  uint64_t built = 0;
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 10 * t; i < 10 * t + kPerThread; ++i) {
          const auto result = ingest->accept(as_bytes(encoded[i]), {});
          EXPECT_TRUE(result) << result.error().text();
          accepted += result && result->acceptance == Acceptance::kNew ? 1 : 0;
          const std::string machine = fmt::format("m{}", i % 7);
          wire::Machine attributes;
          attributes.set_id(machine);
          attributes.set_boot_id("boot");
          ingest->with_machines([&](LiveMachines& machines) {
            EXPECT_TRUE(machines.register_machine(attributes, static_cast<int64_t>(i), 0));
            EXPECT_EQ(machines.machine_seen(machine, "boot", static_cast<int64_t>(i), 0), true);
          });
        }
        --running;
      });
    }
    bool is_last = false;
    while (!is_last) {
      is_last = running == 0;  // read before building, so that the last batch misses nothing
      const auto report = ingest->build_pending();
      ASSERT_TRUE(report) << report.error().text();
      built += report->profiles;
    }
  }
  EXPECT_EQ(accepted, kProfiles);
  EXPECT_EQ(built, kProfiles);

  auto catalogue = *Catalogue::open(folder / "data/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
  const auto entries = *load_dictionaries(catalogue.database());
  EXPECT_EQ(entries.origins.size(), kProfiles + 1);
  uint64_t hits = 0;
  uint64_t rows = 0;
  auto file = *catalogue.database().query("SELECT file FROM segment");
  while (*file.step()) {
    const auto segment = read_rows(folder / ("data/blocks/000001/segments/" + std::string(file.text(0))));
    ASSERT_TRUE(segment) << segment.error().text();
    for (const Row& row : *segment) {
      hits += row.hits;
      ++rows;
    }
  }
  EXPECT_EQ(rows, 2 * kProfiles);
  EXPECT_EQ(hits, kProfiles * (kProfiles + 1) / 2 + kProfiles);
}

}  // namespace
}  // namespace plimsoll::store
