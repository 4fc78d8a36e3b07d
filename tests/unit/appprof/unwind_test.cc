#include "appprof/unwind.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appprof/appprof.h"
#include "appprof/labels.h"

extern "C" void __register_frame_table(void* begin);
extern "C" int appprof_get_stack_trace(void** result, int max_depth, int skip) noexcept
    __asm__("_Z13GetStackTracePPvii");

namespace plimsoll::appprof {
namespace {

TEST(AppprofUnwind, AProgramWithTablesOfItsOwnHasOneFrame) {
  uintptr_t frames[kMaxFrames];
  ASSERT_GT(take_stack(frames, kMaxFrames, 0), 1);
  const uintptr_t here = frames[0];
  const pid_t child = ::fork();
  if (child == 0) {
    static void* empty[] = {nullptr};
    __register_frame_table(static_cast<void*>(empty));
    const bool is_alone = take_stack(frames, kMaxFrames, here) == 1 && frames[0] == here;
    ::_exit(is_alone && take_stack(frames, kMaxFrames, 0) == 0 ? 3 : 4);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

// tcmalloc keeps 31 frames at most.
[[gnu::noinline]] int depth_below(int calls, void** stack, int max_depth) {
  const int depth =
      calls == 0 ? appprof_get_stack_trace(stack, max_depth, 1) : depth_below(calls - 1, stack, max_depth);
  return stack[0] == nullptr ? 0 : depth;  // no tail call
}

TEST(AppprofUnwind, ADeepStackOfTheAllocatorHasItsLabels) {
  ASSERT_TRUE(allocate_label_table());
  const Label label("request", "deep");
  void* stack[31];
  ASSERT_EQ(depth_below(40, stack, 31), 31);
  ASSERT_NE(current_labels(), 0);
  EXPECT_EQ(note_of_frame(reinterpret_cast<uintptr_t>(stack[30])), (StackNote{current_labels(), 0}));
  EXPECT_EQ(note_of_frame(reinterpret_cast<uintptr_t>(stack[29])), StackNote{});
}

}  // namespace
}  // namespace plimsoll::appprof
