// Branch records of a real recording, through a store, as counts of its binaries.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/hex.h"
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

using PairHits = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;  // from and to, as offsets in the file
using HitsByFile = std::map<std::string, PairHits>;

// "0x75bbd(/lib/libc.so)/0x75b10(/lib/libc.so)/P/-/-/0/", several on a line, as `perf script -F dso,brstackoff` writes them. Those
// within one file count.
void add_branches_of_perf(const std::string& line, HitsByFile& hits) {
  size_t at = line.find("0x");
  while (at != std::string::npos) {
    const size_t open = line.find('(', at);
    const size_t middle = line.find(")/0x", at);
    const size_t open_to = middle == std::string::npos ? middle : line.find('(', middle);
    const size_t end = open_to == std::string::npos ? open_to : line.find(")/", open_to);
    if (end == std::string::npos) {
      return;
    }
    const std::string from_file = line.substr(open + 1, middle - open - 1);
    const std::string to_file = line.substr(open_to + 1, end - open_to - 1);
    if (from_file == to_file && from_file.starts_with('/')) {
      ++hits[from_file]
            [{std::stoull(line.substr(at), nullptr, 16), std::stoull(line.substr(middle + 2), nullptr, 16)}];
    }
    at = line.find("0x", end);
  }
}

HitsByFile hits_of_perf(const std::string& recording) {
  HitsByFile hits;
  const std::string command = fmt::format("perf script -i '{}/{}' -F ip,dso,brstackoff 2>/dev/null",
                                          std::getenv("PLIMSOLL_CORPUS"), recording);
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string line;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c == '\n') {
      add_branches_of_perf(line, hits);
      line.clear();
    } else {
      line += static_cast<char>(c);
    }
  }
  ::pclose(pipe);
  return hits;
}

// Through a store and fdo-counts. Binaries that the recording names no build ID of get one by their path.
HitsByFile hits_of_store(const std::string& recording) {
  wire::RawProfile profile = perf_data::import_of(perf_data::corpus_file(recording)).profile;
  std::map<std::string, std::string> paths;  // by build ID
  for (wire::Binary& binary : *profile.mutable_binaries()) {
    if (binary.path().starts_with('/')) {
      if (binary.identity_kind() != wire::GNU_BUILD_ID) {
        const uint64_t id = checksum64(as_bytes(binary.path()));
        binary.set_identity_kind(wire::GNU_BUILD_ID);
        binary.set_identity(std::string(reinterpret_cast<const char*>(&id), sizeof id));
      }
      paths[to_hex(binary.identity())] = binary.path();
    }
  }
  query::Fleet fleet;
  fleet.add(profile);
  const auto snapshot = query::Snapshot::load(fleet.path());
  EXPECT_TRUE(snapshot) << snapshot.error().text();
  HitsByFile hits;
  for (const auto& [build_id, path] : paths) {
    // Of branches alone: a binary may have some, and no sample.
    query::Selection selection;
    selection.event = "branch-records";
    const auto counts = count_binary({.selection = selection, .build_id = build_id}, **snapshot);
    if (!counts) {
      EXPECT_EQ(counts.error().code, ErrorCode::kNotFound) << counts.error().text();
      continue;
    }
    EXPECT_TRUE(counts->branches.empty()) << "no file of these is here";
    for (const AddressPair& branch : counts->offset_branches) {
      hits[path][{branch.from, branch.to}] += static_cast<uint64_t>(branch.samples);
    }
  }
  return hits;
}

// The files' symbols are lost: a kilobyte of code stands for a function.
std::map<uint64_t, uint64_t> hits_by_function(const PairHits& pairs) {
  std::map<uint64_t, uint64_t> functions;
  for (const auto& [pair, hits] : pairs) {
    functions[pair.second / 1024] += hits;
  }
  return functions;
}

class RecordedBranches : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedBranches, AreThoseOfPerfScriptFunctionByFunction) {
  if (std::getenv("PLIMSOLL_CORPUS") == nullptr || std::system("command -v perf >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no corpus, or no perf";
  }
  const HitsByFile of_perf = hits_of_perf(GetParam());
  const HitsByFile ours = hits_of_store(GetParam());
  uint64_t all = 0;
  for (const auto& [file, pairs] : of_perf) {
    const auto found = ours.find(file);
    ASSERT_NE(found, ours.end()) << file;
    EXPECT_EQ(hits_by_function(found->second), hits_by_function(pairs)) << file;
    EXPECT_EQ(found->second, pairs) << file << ": each branch from where it was to where it led";
    for (const auto& [pair, hits] : pairs) {
      all += hits;
    }
  }
  EXPECT_EQ(ours.size(), of_perf.size());
  EXPECT_GT(all, 100);
}

INSTANTIATE_TEST_SUITE_P(BinaryCountsCorpus, RecordedBranches,
                         ::testing::Values("autofdo/test.lbr", "perf_data/perf.data.branch_stack_hw_index"),
                         [](const auto& test) { return test.index == 0 ? "Lbr" : "HwIndex"; });

}  // namespace
}  // namespace plimsoll::fdo
