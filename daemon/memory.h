// How this process's allocator treats memory that was freed.
#pragma once

namespace plimsoll {

// Before any thread starts. From then on freed memory goes back to the kernel as soon as a MiB lies together at the end of a heap.
// glibc's own threshold follows the largest block ever freed (mallopt(3), M_MMAP_THRESHOLD), which after one large profile
// is more than the whole limit of this daemon, so that a thread's heap would stay as large as it ever was; malloc_trim() does
// not shrink the heaps of threads either.
void return_freed_memory();

}  // namespace plimsoll
