// Rows of real profiles, again and again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/store/stack_tree.h"
#include "store/model/row.h"

namespace plimsoll::bench {

// What was imported: dictionaries, and the rows of each origin, without those that have no stack.
struct Recorded {
  std::vector<std::vector<store::Row>> origins;
  uint64_t rows = 0;
  uint32_t events = 0;     // the last ID
  uint32_t workloads = 0;  // likewise
  StackTree stacks;        // each location a function of its own
};

// Imports every profile and recording below `corpus` that `plimsoll import` takes, into a data directory below `folder`.
Result<Recorded> import_recordings(const std::string& corpus, const std::string& folder);

// Appends the rows of an origin that looks like one of the recorded ones, drawn at random, with hits that scatter about
// its hits as those of another window would (Poisson).
void replay(const Recorded& recorded, uint32_t origin, std::vector<store::Row>& rows);

}  // namespace plimsoll::bench
