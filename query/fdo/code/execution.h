// From what the fleet measured to how often each block ran.
//
//   auto extents = function_extents(*binary);
//   auto code = read_code(*binary, extents, sampled_addresses(counts));
//   auto execution = execution_of(*code, counts);      // by branch records where there are any, else by samples
//
// Pure; deterministic for the same input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/fdo/code/execution_counts.h"
#include "query/fdo/code/program_code.h"
#include "query/fdo/counts/binary_counts.h"

namespace plimsoll::fdo {

// Branch records that cannot be: weighted counts.
struct BogusRecords {
  double backwards = 0;     // the range ends before it begins
  double over_jump = 0;     // runs over a jump, return or trap that does not go on
  double outside = 0;       // leaves a function, or is in none
  double too_long = 0;      // more instructions than a processor runs between two branches that it records
  double not_a_branch = 0;  // a branch from an instruction that is none, or to no instruction
  double repeated =
      0;  // AMD's records of one branch twice: a range from a target back to its own branch at once

  double sum() const { return backwards + over_jump + outside + too_long + not_a_branch + repeated; }
};

struct Execution {
  ExecutionCounts counts = {};
  BogusRecords bogus = {};  // by branches alone
  double ranges_kept = 0;   // by branches alone: weighted counts
  double branches_kept = 0;
  uint64_t functions = 0;  // that have counts
  uint64_t functions_raw =
      0;  // of those, too large for smoothing (over 40,000 blocks): counts are samples by instruction
  double value_matched = 0;    // of counts.addresses: in blocks
  double value_elsewhere = 0;  // of counts.addresses: in no function, or in no instruction of one
  double value_in_unknown =
      0;  // of counts.addresses: in functions with indirect jumps whose targets are unknown
  std::vector<std::string> notes = {};
};

// All addresses that read_code() has to be asked for: ascending, each once.
std::vector<uint64_t> sampled_addresses(const BinaryCounts& counts);

// One recording of the branches of a processor has 16 to 32 records.
inline constexpr double kRecordsOfSample = 16;

// By branch records where the code between them covers half of the samples, and they are of half as many recordings as there are samples, or of
// 1,000: a few machines that record branches say little of all the others. A note says where records were left out for that. Else by samples; by
// branch records, too, where there are no samples.
Execution execution_of(const ProgramCode& code, const BinaryCounts& counts);
Execution execution_of_branches(const ProgramCode& code, const BinaryCounts& counts);

struct SampleOptions {
  // Off: a block's count is its samples by instruction, as they are.
  bool smooth = true;
};
// Counts are in samples per average instruction, often below 1: multiply before rounding. Functions are smoothed one by one (flow.h): counts of blocks and edges that could be, nearest to the samples.
Execution execution_of_samples(const ProgramCode& code, const BinaryCounts& counts,
                               const SampleOptions& options = {});

}  // namespace plimsoll::fdo
