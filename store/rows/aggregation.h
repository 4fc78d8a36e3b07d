// The one path from rows to numbers: sums of hits x factor by group.
//
// The store knows neither names nor what a factor means. Its caller reads the dictionaries, turns filters into flags,
// dimensions into group numbers, and weights and scales into factors, all by dictionary ID.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace plimsoll::store {

struct AggregateRequest {
  // Which rows: a flag for each dictionary ID; empty: all.
  std::vector<bool> events;
  std::vector<bool> origins;
  std::vector<bool> workloads;
  std::vector<bool> threads;
  std::vector<bool> stacks;

  // Into which group a row falls: a group number for each dictionary ID; empty: one group, 0.
  std::vector<uint32_t> origin_group;
  std::vector<uint32_t> workload_group;
  std::vector<uint32_t> thread_group;
  std::vector<uint32_t> machine_group;  // by origin; for margins of error
  bool by_stack = false;

  // factor[origin * event_count + event]: weight x scale. Every origin and event of the dictionaries has one.
  std::vector<double> factor;
  size_t event_count = 0;
  // Samples behind a hit, at the same places; empty: a sample for each.
  std::vector<double> samples_per_hit;

  // More groups than this are refused (kTooLarge); one takes about 70 bytes.
  size_t max_cells = 20'000'000;
};

// A group, and its sums.
struct Cell {
  uint32_t event = 0;
  uint32_t origin_group = 0;
  uint32_t workload_group = 0;
  uint32_t thread_group = 0;
  uint32_t machine_group = 0;
  uint32_t stack = 0;  // 0 unless by_stack
  uint64_t hits = 0;
  double value = 0;    // sum of hits x factor
  double samples = 0;  // sum of hits x samples_per_hit
};

// Rows wherever they are kept. Several threads may aggregate at once.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Cells in no particular order, only those that have rows.
  virtual Result<std::vector<Cell>> aggregate(const AggregateRequest& request) const = 0;
};

}  // namespace plimsoll::store
