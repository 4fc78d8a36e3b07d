#include "tests/workloads/call_recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace plimsoll::testing {
namespace {

constexpr size_t kDeepest = 20'000;

RecordedPaths* recorded = nullptr;
thread_local std::array<RecordedFrame, kDeepest> path;
thread_local size_t depth = 0;

uint64_t take(uint64_t& counter, uint64_t count) {
  return std::atomic_ref(counter).fetch_add(count);
}

// `frame` is that of the function called by the one whose stack pointer is recorded: its saved rbp.
void push(const void* function, const void* return_address, const void* frame) {
  constexpr uint64_t kSavedAndReturnBytes = 16;
  if (depth < path.size()) {
    path[depth] = {reinterpret_cast<uint64_t>(function), reinterpret_cast<uint64_t>(return_address),
                   reinterpret_cast<uint64_t>(frame) + kSavedAndReturnBytes};
  }
  ++depth;
}

}  // namespace

extern "C" {
[[gnu::no_instrument_function]] void __cyg_profile_func_enter(void* function, void* return_address) {
  push(function, return_address, __builtin_frame_address(0));
}
[[gnu::no_instrument_function]] void __cyg_profile_func_exit(void* /*function*/, void* /*return_address*/) {
  --depth;
}
}

bool record_paths_to(const char* file) {
  const int fd = ::open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, kRecordBytes) != 0) {
    return false;
  }
  void* const shared = ::mmap(nullptr, kRecordBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  void* const pages = ::mmap(nullptr, kMaxPoints * kPageBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared == MAP_FAILED || pages == MAP_FAILED ||
      ::madvise(pages, kMaxPoints * kPageBytes, MADV_NOHUGEPAGE) != 0) {
    return false;
  }
  recorded = static_cast<RecordedPaths*>(shared);
  recorded->pages = reinterpret_cast<uint64_t>(pages);
  return true;
}

[[gnu::noinline]] void sample_here() {
  if (recorded == nullptr || depth > path.size()) {
    return;
  }
  const uint64_t point = take(recorded->points, 1);
  const uint64_t first = take(recorded->used_frames, depth + 1);
  if (point >= kMaxPoints || first + depth + 1 > kMaxFrames) {
    return;
  }
  auto* frame = const_cast<RecordedFrame*>(recorded->frames()) + first;
  recorded->paths[point] = {first, depth + 1};
  *frame++ = {reinterpret_cast<uint64_t>(&sample_here),
              reinterpret_cast<uint64_t>(__builtin_return_address(0)), 0};
  for (size_t i = depth; i > 0; --i) {
    *frame++ = path[i - 1];
  }
  __asm__ volatile("movb $1, (%0)" : : "D"(recorded->pages + point * kPageBytes) : "memory");
}

size_t recorded_depth() {
  return depth;
}

void forget_recorded_above(size_t new_depth) {
  depth = new_depth;
}

RecordedCall::RecordedCall(void (*function)()) {
  push(reinterpret_cast<const void*>(function), nullptr, __builtin_frame_address(0));
}

RecordedCall::~RecordedCall() {
  --depth;
}

}  // namespace plimsoll::testing
