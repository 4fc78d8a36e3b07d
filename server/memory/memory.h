// How much of the address space this process reserves.
#pragma once

namespace plimsoll::server {

// Before any thread starts. glibc gives every thread 8 MiB of stack, and up to eight heaps for each CPU of 64 MiB each, most of it never
// touched: 860 MiB for a server at rest, which count against a limit of its address space (ulimit -v, RLIMIT_AS) as if they were used.
// From then on: 2 MiB of stack, and a heap for each CPU. Large blocks stay out of the heaps (large_blocks.h), also those of C libraries: glibc would put
// there whatever is smaller than the largest one ever freed, up to 32 MiB.
void reserve_little_memory();

}  // namespace plimsoll::server
