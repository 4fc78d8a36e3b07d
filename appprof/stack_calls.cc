// gperftools' function that takes stacks, replaced by take_stack(): tcmalloc calls GetStackTrace for its samples, within malloc and
// sometimes with its own lock held. Its own uses libunwind, which takes locks that another thread may hold, or have held when the
// process was forked. Weak, so that a program that links gperftools statically keeps its own.
#include <algorithm>
#include <span>

#include "appprof/heap.h"
#include "appprof/labels.h"
#include "appprof/own_code.h"
#include "appprof/unwind.h"

namespace plimsoll::appprof {

// Also keeps this file in a program that links the static library.
bool are_heap_stacks_ours() noexcept {
  return is_replaced_here("_Z13GetStackTracePPvii");
}

// GetStackTrace(void**, int, int): return addresses, without the innermost `skip`. tcmalloc keeps what it is given until the block
// is freed: a note goes with it.
extern "C" __attribute__((weak, visibility("default"), noinline)) int appprof_get_stack_trace(
    void** result, int max_depth, int skip) noexcept __asm__("_Z13GetStackTracePPvii");
int appprof_get_stack_trace(void** result, int max_depth, int skip) noexcept {
  uintptr_t frames[kMaxFrames];
  const size_t depth =
      take_stack(frames, kMaxFrames, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  // One frame at least: tcmalloc counts nothing for a stack of none.
  const size_t skipped = std::min(static_cast<size_t>(std::max(skip, 0)), std::max<size_t>(depth, 1) - 1);
  int kept = 0;
  const auto add = [&](uintptr_t frame) {
    result[kept++] =
        reinterpret_cast<void*>(frame);  // NOLINT(performance-no-int-to-ptr): as gperftools keeps them
  };
  const uint32_t labels = current_labels();
  const uint8_t doublings =
      take_sampled_stack(std::span<const uintptr_t>(frames, depth).subspan(std::min(skipped, depth)), labels);
  const uintptr_t note = frame_of_note({labels, doublings});
  const int max_kept = note != 0 && max_depth > 1 ? max_depth - 1 : max_depth;
  for (size_t i = skipped; i < depth && kept < max_kept; ++i) {
    add(frames[i]);
  }
  if (note != 0 && kept > 0 && kept < max_depth) {
    add(note);
  }
  return kept;
}

}  // namespace plimsoll::appprof
