// The stack of the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::appprof {

constexpr size_t kMaxFrames = 48;

// Return addresses, innermost first, from `first` on: the return address of the function that the stack is taken in, so that no
// frame of ours is counted, whatever was inlined. All of them where `first` is 0 or not found. Returns how many.
//
// May be called in signal handlers and allocators, across fork and dlopen: libgcc's unwinder finds a binary's tables by
// _dl_find_object (glibc 2.35 and later), which takes no lock, and allocates nothing. libunwind's unw_backtrace, 20 times as fast,
// takes a mutex of its own and the loader's. Costs about 0.1 us per frame. Where !are_walks_allowed(), `first` alone is returned.
size_t take_stack(uintptr_t* frames, size_t max_frames, uintptr_t first) noexcept;

// False for good once the program has registered unwinding tables of its own (JIT compilers): libgcc's unwinder takes a mutex from
// then on, which the calling thread may hold already. Any thread and handler.
bool are_walks_allowed() noexcept;

// Where a signal interrupted its thread, by the third argument of the handler: `first` of that thread's stack.
uintptr_t interrupted_address(const void* context) noexcept;

// Finds libgcc's unwinder, of which libunwind exports one by the same name. Called by start(), before sampling.
void find_unwinder() noexcept;

}  // namespace plimsoll::appprof
