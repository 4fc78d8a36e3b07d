// Whose binaries are symbolized first.
#pragma once

#include <vector>

#include "store/model/pending_binary.h"

namespace plimsoll::symbolizer {

// By turns of the machines that told of them, and of each machine those with the most new locations first: one that tells of thousands
// of binaries does not delay those of others.
void order_by_turns(std::vector<store::PendingBinary>& pending);

}  // namespace plimsoll::symbolizer
