// Branch records of a real recording, through a store, as counts of its binaries.
#include <gtest/gtest.h>

#include <cstdlib>

#include "query/fdo/counts/count_binary.h"
#include "tests/unit/formats/perf_data/imported.h"
#include "tests/unit/formats/perf_data/record_walk.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::fdo {
namespace {

// 9,232 samples of 16 branches of a machine with LBR, and 15 ranges between them.
TEST(BinaryCountsCorpus, BranchesOfARecordingHaveTheCodeBetweenThem) {
  if (std::getenv("PLIMSOLL_CORPUS") == nullptr) {
    GTEST_SKIP() << "no corpus";
  }
  wire::RawProfile profile = perf_data::import_of(perf_data::corpus_file("autofdo/test.lbr")).profile;
  // The recording names no build IDs.
  for (int i = 0; i < profile.binaries_size(); ++i) {
    wire::Binary& binary = *profile.mutable_binaries(i);
    if (binary.path().ends_with("/test.binary")) {
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity("\x4f\x5a\x11\x22\x33\x44\x55\x66");
    }
  }
  query::Fleet fleet;
  fleet.add(profile);
  const auto snapshot = query::Snapshot::load(fleet.path());
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  double branches = 0;
  double ranges = 0;
  const auto counts = count_binary({.build_id = "4f5a"}, **snapshot);
  ASSERT_TRUE(counts) << counts.error().text();
  const auto read = counts_from(counts_table(*counts));
  ASSERT_TRUE(read) << read.error().text();
  for (const auto* pairs : {&read->branches, &read->offset_branches}) {
    for (const AddressPair& branch : *pairs) {
      branches += branch.samples;
    }
  }
  for (const auto* pairs : {&read->ranges, &read->offset_ranges}) {
    for (const AddressPair& range : *pairs) {
      ranges += range.samples;
    }
  }
  EXPECT_GT(branches, 100'000);
  EXPECT_LE(branches, 147'712);
  EXPECT_GT(ranges, 100'000);
  EXPECT_LE(ranges, 147'712 - 9'232);
}

}  // namespace
}  // namespace plimsoll::fdo
