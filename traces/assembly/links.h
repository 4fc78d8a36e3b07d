// Which span of a trace is the parent of which. Internal to traces/assembly.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/assembly/assembly.h"

namespace plimsoll::traces {

// The distinct spans of one trace with their parents; reused from trace to trace.
class Links {
 public:
  // Borrows the set.
  explicit Links(const SpanSet& all)
      : all_(all.spans()), names_(all.names()), attributes_(all.attributes()) {}

  // `indices`: those of one trace, into all spans; reordered.
  void build(std::span<uint32_t> indices, AssemblyCounts& counts);

  size_t size() const { return kept_.size(); }
  const Span& span(uint32_t place) const { return all_[kept_[place]]; }
  uint32_t index(uint32_t place) const { return kept_[place]; }
  uint32_t parent(uint32_t place) const { return parents_[place]; }  // a place, or kNoNode
  bool is_orphan(uint32_t place) const { return is_orphan_[place] != 0; }
  bool is_partial() const { return is_partial_; }

 private:
  void keep_distinct(std::span<uint32_t> indices, AssemblyCounts& counts);
  void keep_one(std::span<const uint32_t> same_id, AssemblyCounts& counts);
  uint32_t find(SpanId id, bool is_shared) const;
  uint32_t parent_of(uint32_t place) const;
  void cut_cycles(AssemblyCounts& counts);
  void count_roots(AssemblyCounts& counts);
  bool is_before(uint32_t left, uint32_t right) const;
  bool is_preferred(uint32_t left, uint32_t right) const;
  std::strong_ordering compare_attributes(uint32_t left, uint32_t right) const;  // IDs of sets

  std::span<const Span> all_;
  const Names& names_;
  const AttributeTable& attributes_;
  std::vector<uint32_t> kept_;      // by ID, client halves before server halves
  std::vector<uint8_t> is_shared_;  // also where only the kinds say so
  std::vector<uint32_t> parents_;
  std::vector<uint8_t> is_orphan_;
  std::vector<uint32_t> visited_;
  bool is_partial_ = false;
};

}  // namespace plimsoll::traces
