// gperftools' functions that take stacks, replaced by take_stack(): tcmalloc calls GetStackTrace for its samples, within malloc and
// sometimes with its own lock held; libprofiler calls GetStackTraceWithContext in its handler of SIGPROF. Theirs use libunwind,
// which takes locks that another thread may hold, or have held when the process was forked. Weak, so that a program that links
// gperftools statically keeps its own.
#include <algorithm>

#include "appprof/unwind.h"

namespace plimsoll::appprof {
namespace {

int copy_stack(void** result, int max_depth, size_t skipped, uintptr_t first) noexcept {
  uintptr_t frames[kMaxFrames];
  const size_t depth = take_stack(frames, kMaxFrames, first);
  int kept = 0;
  for (size_t i = skipped; i < depth && kept < max_depth; ++i) {
    result[kept++] = reinterpret_cast<void*>(frames[i]);
  }
  return kept;
}

}  // namespace

#define APPPROF_STACK_CALL extern "C" __attribute__((weak, visibility("default"), noinline)) int

// GetStackTrace(void**, int, int): return addresses, without the innermost `skip`.
APPPROF_STACK_CALL appprof_get_stack_trace(void** result, int max_depth, int skip) noexcept
    __asm__("_Z13GetStackTracePPvii");
int appprof_get_stack_trace(void** result, int max_depth, int skip) noexcept {
  return copy_stack(result, max_depth, static_cast<size_t>(std::max(skip, 0)),
                    reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

// GetStackTraceWithContext(void**, int, int, const void*): from the interrupted instruction on. What the caller wants skipped are
// the frames of its handler, which are not in there.
APPPROF_STACK_CALL appprof_get_stack_with_context(void** result, int max_depth, int skip,
                                                  const void* context) noexcept
    __asm__("_Z24GetStackTraceWithContextPPviiPKv");
int appprof_get_stack_with_context(void** result, int max_depth, int skip, const void* context) noexcept {
  if (context == nullptr) {
    return copy_stack(result, max_depth, static_cast<size_t>(std::max(skip, 0)),
                      reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  }
  return copy_stack(result, max_depth, 0, interrupted_address(context));
}

}  // namespace plimsoll::appprof
