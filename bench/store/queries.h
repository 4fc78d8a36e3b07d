// The questions that are timed: to our store, and as SQL to its peers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/store/stack_tree.h"
#include "store/model/aggregation.h"
#include "store/model/stack_projection.h"

namespace plimsoll::bench {

// Cells of an answer that are looked at.
inline constexpr size_t kShown = 20;

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

// How rows count: a peer adds up their hits; a margin needs weights, and groups of machines.
struct Counting {
  bool has_factors = false;  // that differ by origin and event as weights and scales do; else 1
  uint32_t machine_groups = 1;
};

// Whether it needs more than the groups of a block.
bool reads_stacks(const Query& query);

// What a caller of the store knows about its dictionaries; given are their last IDs.
class Asker {
 public:
  Asker(const StackTree& tree, uint32_t origins, uint32_t events);

  store::AggregateRequest request(const Query& query, const Counting& counting) const;

  // The whole answer, functions as `stack` of its cells.
  Result<store::Cells> ask(const store::RowSource& rows, const Query& query,
                           const store::AggregateRequest& request) const;

  // As people look at it: its kShown largest cells. The peers give no more either.
  Result<store::Cells> ask_for_top(const store::RowSource& rows, const Query& query,
                                   const store::AggregateRequest& request) const;

 private:
  store::Factors factors(bool are_all_1) const;
  store::IdGrouping by_machine() const;
  store::Cells totals(const store::Cells& by_stack) const;
  Result<store::Cells> top_totals(const store::RowSource& rows, const store::AggregateRequest& request) const;

  uint32_t origins_, events_;
  store::StackProjection projection_;
};

// A line for each cell, as CSV: its columns, then its sum as an integer.
std::string answer_text(const Query& query, const store::Cells& cells);

}  // namespace plimsoll::bench
