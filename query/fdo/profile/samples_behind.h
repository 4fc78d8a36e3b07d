// How many samples an execution is made of: what a grade counts, and what a merge weighs.
#pragma once

#include "query/fdo/code/execution.h"
#include "query/fdo/counts/binary_counts.h"

namespace plimsoll::fdo {

// Recordings where it goes by branch records, else samples.
constexpr double samples_behind(bool is_of_branches, double samples, double branch_records) {
  return is_of_branches ? branch_records / kRecordsOfSample : samples;
}

inline double branch_records_in(const BinaryCounts& counts) {
  double records = 0;
  for (const AddressPair& branch : counts.branches) {
    records += branch.samples;
  }
  return records;
}

}  // namespace plimsoll::fdo
