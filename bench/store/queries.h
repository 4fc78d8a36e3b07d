// The questions that are timed: to our store, and as SQL to its peers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/store/stack_tree.h"
#include "store/rows/aggregation.h"

namespace plimsoll::bench {

// What a row is grouped by, in the order of an answer's columns.
enum class Grouping { kJob, kStack, kJobAndMachine, kFunctionSelf, kFunctionTotal };

struct Query {
  std::string name;
  Grouping grouping;
  store::RowFilter filter = {};
  // Ways to ask a peer, all with the same answer: columns as above, then the sum; {} stands for the order of a table. Of
  // which is the fastest we know nothing.
  std::vector<std::string> sql = {};
  double goal_profiles = 0;  // times as fast as the faster peer
  double goal_worst = 0;
};

std::vector<Query> timed_queries();

// What a caller of the store knows about its dictionaries; given are their last IDs.
class Asker {
 public:
  Asker(const StackTree& tree, uint32_t origins, uint32_t events, uint32_t workloads);

  // `machine_groups`: into which sums are split; 1: not at all. With factors that differ by origin and event as weights and
  // scales do, or with 1.
  store::AggregateRequest request(const Query& query, uint32_t machine_groups, bool has_factors) const;

 private:
  store::Factors factors(bool are_all_1) const;

  uint32_t origins_, events_, workloads_;
  std::vector<uint32_t> leaf_function_;  // by stack
};

// The 20 largest sums of an answer, as people look at them: the peers give no more either.
std::vector<double> largest_sums(const store::Cells& cells);

// A line for each cell, as CSV: its columns, then its sum as an integer.
std::string answer_text(const Query& query, const store::Cells& cells);

}  // namespace plimsoll::bench
