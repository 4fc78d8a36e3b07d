// Large blocks of memory outside of the heap.
#pragma once

#include <cstddef>

namespace plimsoll::server {

// From now on what `new` is asked for of so many bytes or more is a mapping of its own, which `delete` unmaps. malloc() has a threshold, too
// (M_MMAP_THRESHOLD), but looks for a free piece of the heap first and cuts it up: small blocks then find no place in what is left, the heap
// grows, and a server with a limit of its address space was seen with heaps of 1.9 GiB of which 150 MiB were in use and no free piece was over 24 MiB.
// Any thread, at any time; what was allocated before stays where it is. At most 4,096 mappings, the others are malloc()'s. SIZE_MAX: none from
// now on, as before the first call. Does nothing under sanitizers, which have an allocator of their own.
void map_large_blocks(size_t min_bytes);

}  // namespace plimsoll::server
