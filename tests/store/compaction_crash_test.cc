// A process that accepts, builds, seals blocks and merges is killed at random moments: what it had acknowledged is there, once.
//
// PLIMSOLL_TEST_CRASHES   how often to kill it (50)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/log.h"
#include "base/unique_fd.h"
#include "proto/profile_codec.h"
#include "query/views/top.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

int crashes_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_CRASHES");
  return text == nullptr ? 50 : std::atoi(text);  // NOLINT(cert-err34-c)
}

// Of the process that is killed, and the one that goes on.
Result<std::unique_ptr<store::Ingest>> open_ingest(const std::string& data_dir) {
  return store::Ingest::open(data_dir, {.block_limits = {.max_profiles = 11}});
}

wire::RawProfile profile_of(uint64_t seed) {
  return make_profile({.seed = seed, .stacks = fmt::format("main;f{} {}\n", seed % 7, 1 + seed)});
}

// Of profiles 1 to `last`.
std::map<std::string, double> hits_of(uint64_t last) {
  std::map<std::string, double> hits;
  for (uint64_t seed = 1; seed <= last; ++seed) {
    hits[fmt::format("f{}", seed % 7)] += static_cast<double>(1 + seed);
  }
  return hits;
}

// The one that is killed. Says each acknowledged profile's number, and never returns.
[[noreturn]] void accept_build_and_merge(const std::string& data_dir, uint64_t first, int acknowledgements) {
  const auto ingest = *open_ingest(data_dir);
  const auto compactor = *store::Compactor::open(*ingest, {.min_inputs = 2, .max_inputs = 3});
  for (uint64_t seed = first;; ++seed) {
    if (!ingest->accept(as_bytes(wire::encode(profile_of(seed))), {}) ||
        ::write(acknowledgements, &seed, sizeof seed) != sizeof seed || !ingest->build_pending() ||
        !compactor->merge_all()) {
      ::_exit(1);
    }
  }
}

// Kills it after so many acknowledgements and a moment more; the number of the last one.
uint64_t crash(const std::string& data_dir, uint64_t first, std::mt19937_64& random) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    accept_build_and_merge(data_dir, first, ends[1]);
  }
  const UniqueFd reading(ends[0]);
  ::close(ends[1]);
  uint64_t last = first - 1;
  for (uint64_t wanted = 1 + random() % 6; wanted > 0; --wanted) {
    EXPECT_EQ(::read(reading.get(), &last, sizeof last), sizeof last) << "it ended by itself";
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 30'000);
  while (std::chrono::steady_clock::now() < end) {
  }
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it had ended by itself";
  while (::read(reading.get(), &last, sizeof last) == sizeof last) {
  }
  return last;
}

// "BLOCK/FILE" of all blocks.
std::set<std::string> visible_files(const std::string& data_dir) {
  std::set<std::string> files;
  const auto blocks = *store::list_blocks(data_dir + "/blocks");
  for (const store::BlockFolder& block : blocks) {
    auto catalogue = *store::Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
    const auto segments = *store::visible_segments(catalogue.database());
    for (const store::SegmentEntry& segment : segments) {
      files.insert(fmt::format("{}/{}", block.number, segment.file));
    }
  }
  return files;
}

std::set<std::string> files_in(const std::string& data_dir) {
  std::set<std::string> files;
  const auto blocks = *store::list_blocks(data_dir + "/blocks");
  for (const store::BlockFolder& block : blocks) {
    for (const auto& entry : std::filesystem::directory_iterator(block.segments_path())) {
      files.insert(fmt::format("{}/{}", block.number, entry.path().filename().string()));
    }
  }
  return files;
}

std::map<std::string, double> answer(const std::string& data_dir) {
  const auto snapshot = query::Snapshot::load(data_dir);
  EXPECT_TRUE(snapshot) << snapshot.error().text();
  const auto table = query::top(*query::parse_top({}, 0), **snapshot);
  EXPECT_TRUE(table) << table.error().text();
  std::map<std::string, double> self;
  for (const auto& row : table->rows) {
    self[std::get<std::string>(row[0])] = std::get<double>(row[1]);
  }
  self.erase("main");  // calls them all
  return self;
}

TEST(CompactionCrash, LosesNothingAndShowsNothingTwice) {
  set_log_level(LogLevel::kWarning);
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  std::mt19937_64 random(20'261'122);
  uint64_t last = 0;
  int left_files = 0;
  ASSERT_TRUE(store::Ingest::open(data_dir));
  for (int i = 0; i < crashes_wanted() && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("crash {}", i));
    last = crash(data_dir, last + 1, random);
    left_files += files_in(data_dir) != visible_files(data_dir) ? 1 : 0;

    const auto ingest = open_ingest(data_dir);
    ASSERT_TRUE(ingest) << ingest.error().text();
    EXPECT_EQ(files_in(data_dir), visible_files(data_dir));
    // The next one may have been accepted, but not acknowledged any more: whoever sent it sends it again.
    ++last;
    ASSERT_TRUE((*ingest)->accept(as_bytes(wire::encode(profile_of(last))), {}));
    // One at a time up to the one at which the process ended.
    for (uint64_t built = 1; built > 0;) {
      const auto report = (*ingest)->build_pending();
      ASSERT_TRUE(report) << report.error().text();
      built = report->profiles;
    }
    ASSERT_EQ(answer(data_dir), hits_of(last));
  }
  const size_t blocks = store::list_blocks(data_dir + "/blocks")->size();
  std::printf("%d crashes, %d of them with files to remove; %lu profiles in %lu blocks\n", crashes_wanted(),
              left_files, last, blocks);
  EXPECT_GE(blocks, last / 11);
}

}  // namespace
}  // namespace plimsoll::testing
