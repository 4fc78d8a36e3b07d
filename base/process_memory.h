// How much memory this process may have.
#pragma once

#include <cstdint>

namespace plimsoll {

// The least of what the machine has, what the control group may take, and the limit of the address space. As of now: a few small reads.
uint64_t max_memory_bytes();

// So much for one kind of work: `bytes`, or one part in `parts` of max_memory_bytes() where that is less.
uint64_t memory_share(uint64_t bytes, unsigned parts);

}  // namespace plimsoll
