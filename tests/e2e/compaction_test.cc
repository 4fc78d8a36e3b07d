// Merging segments as other programs see it, and by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "proto/profile_codec.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A segment for each profile, which holds twelve hits in parse and two in main.
void add_segments(store::Ingest& ingest, uint64_t first_seed, uint64_t count) {
  for (uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    const auto profile = make_profile(
        {.seed = seed, .machine = fmt::format("m{}", seed % 5), .stacks = "main;parse 12\nmain 2\n"});
    ASSERT_TRUE(ingest.accept(as_bytes(wire::encode(profile)), {}));
    ASSERT_TRUE(ingest.build_pending());
  }
}

std::vector<std::string> segment_files(const std::string& data_dir) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir + "/blocks/000001/segments")) {
    files.push_back(entry.path().filename().string());
  }
  return files;
}

TEST(Compaction, AReaderInAnotherProcessSeesEachProfileWholeAndOnce) {
  constexpr int kReads = 25;
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  const auto ingest = *store::Ingest::open(data_dir);
  const auto compactor = *store::Compactor::open(*ingest, {.min_inputs = 2, .max_inputs = 4});
  add_segments(*ingest, 1, 1);
  uint64_t merges = 0;
  std::jthread writer([&](const std::stop_token& stop) {
    for (uint64_t seed = 2; !stop.stop_requested(); seed += 2) {
      add_segments(*ingest, seed, 2);
      const auto merged = compactor->merge_all();
      ASSERT_TRUE(merged) << merged.error().text();
      merges += merged->made;
    }
  });
  double profiles_seen = 1;
  for (int i = 0; i < kReads && !HasFailure(); ++i) {
    const auto self = self_of(top({"--data", data_dir, "--by", "function"}));
    ASSERT_EQ(self.size(), 2);
    const double profiles = self.at("main") / 2;
    EXPECT_EQ(self.at("parse"), 12 * profiles);
    EXPECT_GE(profiles, profiles_seen) << "what was visible is not any more";
    profiles_seen = profiles;
  }
  writer.request_stop();
  writer.join();
  EXPECT_GT(profiles_seen, 1) << "nothing came while it was read";
  EXPECT_GT(merges, 0);
}

TEST(Compaction, ByHandMergesWhatASummarySaysAndChangesNoAnswer) {
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  add_segments(**store::Ingest::open(data_dir), 1, 20);
  ASSERT_EQ(segment_files(data_dir).size(), 20);
  const auto before = self_of(top({"--data", data_dir, "--by", "machine"}));

  const Finished first = run({"plimsoll", "store", "compact", "--data", data_dir});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(StartsWith("merged 20 segments"), HasSubstr("40 rows; segments now: 1\n")));
  EXPECT_EQ(first.err, "") << "progress is for terminals";
  EXPECT_EQ(segment_files(data_dir).size(), 1);
  EXPECT_EQ(self_of(top({"--data", data_dir, "--by", "machine"})), before);

  EXPECT_EQ(run({"plimsoll", "store", "compact", "--data", data_dir}).out, "nothing to merge; segments: 1\n");
  const auto again =
      query::from_json(run({"plimsoll", "store", "compact", "--data", data_dir, "--json"}).out);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(query::to_csv(*again),
            "merged,made,rows,bytes_before,bytes,segments,span_files_merged,span_files_made\r\n"
            "0,0,0,0,0,1,0,0\r\n");
}

TEST(Rollup, ByHandSumsSealedBlocksByHour) {
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  add_segments(**store::Ingest::open(data_dir, {.block_limits = {.max_profiles = 8}}), 1, 20);
  const auto before = self_of(top({"--data", data_dir, "--by", "machine"}));
  const Finished early =
      run({"plimsoll", "store", "rollup", "--data", data_dir, "--before", "2001-01-01T00:00:00Z"});
  EXPECT_EQ(early.out,
            "nothing to roll up: no sealed block with full rows ends before 2001-01-01T00:00:00Z\n");
  const Finished done = run({"plimsoll", "store", "rollup", "--data", data_dir, "--before", "now"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out,
              AllOf(StartsWith("block 000001: 8 profiles became "), HasSubstr("\nblock 000002: 8 profiles")));
  EXPECT_EQ(self_of(top({"--data", data_dir, "--by", "machine"})), before);
  EXPECT_THAT(run({"plimsoll", "store", "status", "--data", data_dir, "--csv"}).out,
              HasSubstr("000001,rolled up,"));
  EXPECT_EQ(run({"plimsoll", "store", "rollup", "--data", data_dir, "--before", "when"}).status, 2);
}

TEST(Compaction, ByHandIsRefusedBesideAWriterAndWhereNoDirectoryIs) {
  const TemporaryFolder folder;
  const auto ingest = *store::Ingest::open(folder / "data");
  const Finished refused = run({"plimsoll", "store", "compact", "--data", folder / "data"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("is being written by"));
  const Finished missing = run({"plimsoll", "store", "compact", "--data", folder / "nothing"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("is not a Plimsoll data directory"));
  EXPECT_FALSE(std::filesystem::exists(folder / "nothing"));
}

}  // namespace
}  // namespace plimsoll::testing
