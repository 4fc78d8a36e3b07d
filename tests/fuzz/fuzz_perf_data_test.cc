// Recordings of perf, damaged.
#include <gtest/gtest.h>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/fuzz/sound_recording.h"
#include "tests/unit/formats/perf_data/imported.h"

namespace plimsoll::fuzz {
namespace {

using namespace perf_data;  // all of it is about recordings
using sound_recording::recording;
using sound_recording::records;
using sound_recording::trace;

constexpr int kMutations = 10'000;

// Becomes a valid raw profile, or an error that says something. True for a profile.
bool imports_cleanly(std::string_view content) {
  const Limits limits{.max_waiting_bytes = 2000, .max_decompressed_bytes = 1 << 20};
  const auto imported = try_import(content, {}, limits);
  if (!imported) {
    EXPECT_FALSE(imported.error().message.empty());
    return false;
  }
  const auto valid = wire::validate(imported->profile);
  EXPECT_TRUE(valid.has_value()) << (valid ? "" : valid.error().text());
  // Names must be such that Protobuf takes them back.
  EXPECT_TRUE(wire::decode(as_bytes(wire::encode(imported->profile))).has_value());
  return true;
}

void feed_mutations(const std::string& sound, uint64_t of_test) {
  ASSERT_TRUE(imports_cleanly(sound));
  std::mt19937_64 random(seed(of_test));
  int profiles = 0;
  for (int i = 0; i < kMutations; ++i) {
    profiles += imports_cleanly(mutated(sound, random)) ? 1 : 0;
  }
  // Both ways were taken: much damage breaks the frame of the file, and some only changes a number.
  EXPECT_GT(profiles, kMutations / 100);
  EXPECT_LT(profiles, kMutations * 9 / 10);
}

TEST(FuzzPerfData, DamagedFilesAreRefusedOrValid) {
  feed_mutations(recording(records() + trace()).file(), 60);
}

TEST(FuzzPerfData, DamagedPipesAreRefusedOrValid) {
  feed_mutations(recording(records() + trace()).pipe(), 61);
}

// With the frame around them intact, so that damage reaches every field of the records.
TEST(FuzzPerfData, DamagedRecordsAreRefusedOrValid) {
  std::mt19937_64 random(seed(62));
  const std::string sound = records() + trace();
  for (int i = 0; i < kMutations; ++i) {
    imports_cleanly(recording(mutated(sound, random)).file());
  }
}

TEST(FuzzPerfData, DamagedCompressionIsRefusedOrValid) {
  CompressedRecords stream;
  const std::string first = stream.record(records());
  feed_mutations(recording(first + stream.padded_record(records())).file(), 63);
}

// What reaches the decoders behind zstd.
TEST(FuzzPerfData, DamagedRecordsThatWereCompressedAreRefusedOrValid) {
  std::mt19937_64 random(seed(64));
  const std::string sound = records();
  for (int i = 0; i < kMutations; ++i) {
    CompressedRecords stream;
    imports_cleanly(recording(stream.record(mutated(sound, random))).file());
  }
}

}  // namespace
}  // namespace plimsoll::fuzz
