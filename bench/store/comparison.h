// Our store beside its peers, on the same rows.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/harness/program.h"
#include "bench/store/generator.h"
#include "bench/store/queries.h"
#include "bench/store/stack_tree.h"

namespace plimsoll::bench {

// Rows to compare on.
struct Subject {
  std::string name;      // behind the names of measurements
  uint32_t origins = 0;  // the last ID, as the next two
  uint32_t events = kEvents;
  uint32_t jobs = kJobs;
  unsigned hits_bits = 32;  // that a row's hits need: the type of the peers' column
  RowGenerator generate;
  double Query::* goal = nullptr;  // how many times as fast as its peers each query should be; null: no goals
  const StackTree* tree = nullptr;        // of the rows' stacks
  std::function<double()> min_bits = {};  // of all rows, asked once they are generated; empty: nobody knows
};

// Writes the rows, has the peers load them, compares answers, sizes and times.
Status compare_with_peers(const Subject& subject, const Flags& flags, Report& report);

}  // namespace plimsoll::bench
