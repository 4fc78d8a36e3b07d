// Which share of a view's value has no symbols, and which binaries are to blame; which share of its samples has no stack.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

// Fed with each part of a view's value once. Borrows the snapshot.
class SymbolCoverage {
 public:
  explicit SymbolCoverage(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void add(uint32_t stack, double value, double samples);
  // What another one of this snapshot was fed with.
  void add(const SymbolCoverage& other);

  // Sets samples, stackless_share, unsymbolized_share and unsymbolized_by.
  void describe(Coverage& coverage) const;

 private:
  const Snapshot& snapshot_;
  double sum_ = 0;
  double samples_ = 0;
  double stackless_samples_ = 0;
  // Without symbols, by the leaf's binary; of code of no binary, by the leaf.
  boost::unordered_flat_map<uint32_t, double> by_binary_, by_leaf_;
};

}  // namespace plimsoll::query
