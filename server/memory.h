// How much of the address space threads of this process reserve.
#pragma once

namespace plimsoll::server {

// Before any thread starts. glibc gives every thread 8 MiB of stack, and up to eight heaps for each CPU of 64 MiB each, most of it never
// touched: 860 MiB for a server at rest, which count against a limit of its address space (ulimit -v, RLIMIT_AS) as if they were used.
// From then on: 2 MiB of stack, and a heap for each CPU.
void reserve_little_memory();

}  // namespace plimsoll::server
