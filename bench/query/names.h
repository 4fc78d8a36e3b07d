// What the code of generated profiles is called.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bench/store/stack_tree.h"
#include "store/ingest.h"
#include "store/rows/dictionaries.h"

namespace plimsoll::bench {

// Names the locations from `first` on, as the tree calls them.
Status bind_from(uint32_t first, const StackTree& tree, const store::Dictionaries& dictionaries,
                 store::Ingest& ingest);

}  // namespace plimsoll::bench
