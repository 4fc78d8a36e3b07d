// Which share of a view's value has no symbols, and which binaries are to blame.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "query/views/snapshot.h"
#include "query/views/table.h"

namespace plimsoll::query {

// Fed with each part of a view's value once. Borrows the snapshot.
class SymbolCoverage {
 public:
  explicit SymbolCoverage(const Snapshot& snapshot) : snapshot_(snapshot) {}

  // `leaf`: the location of the stack's leaf; 0: no stack was recorded.
  void add(uint32_t leaf, double value) {
    sum_ += value;
    if (snapshot_.bindings.of(leaf).empty()) {
      unsymbolized_[leaf] += value;
    }
  }

  // Sets unsymbolized_share and unsymbolized_by.
  void describe(Coverage& coverage) const;

 private:
  const Snapshot& snapshot_;
  double sum_ = 0;
  std::unordered_map<uint32_t, double> unsymbolized_;  // by leaf
};

}  // namespace plimsoll::query
