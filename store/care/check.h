// Looks at all of a data directory: every checksum, every reference, and whether its parts fit each other.
//
//   structure, page checksums and foreign keys of each database; that it is of this directory
//   each block: dense dictionaries, references of their entries, times and order of its profiles, every chunk of every segment, IDs in the
//   segments, and that each profile has the hits in them that it came with
//   archive: each raw profile against the hash in the ledger, decoded; each profile in the ledger has rows, waits for them, or is set aside
//   each block of spans: its dictionaries, every chunk of every file, numbers of names in them, times, and files that no catalogue shows
//   recordings of bursts: each file decoded, against what the catalogue says of it, and files that it does not show
//   symbol tables
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::store {

// One thing that was found.
struct Finding {
  std::string file;  // below the data directory
  std::string what;
  std::string remedy = {};  // what to do
  bool is_damage = true;    // false: nothing is lost by it
};

struct CheckReport {
  std::vector<Finding> findings;  // the first kMaxFindings
  uint64_t more_findings = 0;     // beyond these
  bool is_damaged = false;

  // What was looked at.
  uint64_t databases = 0;
  uint64_t databases_without_checksums =
      0;  // made by an older version: a flipped bit in a value goes unnoticed
  uint64_t blocks = 0;
  uint64_t segments = 0;
  uint64_t rows = 0;
  uint64_t raw_profiles = 0;
  uint64_t span_blocks = 0;
  uint64_t span_segments = 0;
  uint64_t spans = 0;  // copies included
  uint64_t burst_recordings = 0;
  uint64_t symbol_tables = 0;
  uint64_t bytes = 0;
};

inline constexpr size_t kMaxFindings = 1000;

struct CareProgress {
  std::string_view activity = "checking";
  std::string file;  // that is being read
  uint64_t bytes_done = 0;
  uint64_t bytes_of_all = 0;  // about; grows beside a writer
};
// May be called often.
using ShowProgress = std::function<void(const CareProgress& progress)>;

// Reads all files, and writes none. May run beside the process that writes: each block is looked at as of one moment. Memory: the largest
// profile, a chunk, the IDs and times of a block's profiles. Fails only where this is no data directory that the program reads; all else is
// a finding, and the rest is looked at all the same.
Result<CheckReport> check_store(const std::string& data_dir, const ShowProgress& show = {});

}  // namespace plimsoll::store
