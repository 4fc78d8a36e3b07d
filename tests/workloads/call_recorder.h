// A program's own record of its call path: what -finstrument-functions tells at each entry and exit of a function, kept in a
// list for each thread, and written to a file at chosen moments, each of which raises one page fault. A sampler of every
// page fault then has a stack for each entry in the file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::testing {

constexpr uint64_t kMaxPoints = 1U << 16U;
constexpr uint64_t kPageBytes = 4096;

struct RecordedFrame {
  uint64_t function;        // address of its first instruction
  uint64_t return_address;  // into its caller; 0: not known
  // When the function was entered: its frame lies from there on, and what it called below; 0: not known. With variable arrays
  // the frame may have grown downwards since.
  uint64_t stack_pointer;
};

// The file begins with this. The stack of point N was captured at the fault on page N from `pages` on, whose address is in rdi.
struct RecordedPaths {
  uint64_t pages;
  uint64_t points;       // so far
  uint64_t used_frames;  // so far
  struct Path {
    uint64_t first_frame;  // index into the frames that follow this header; leaf first
    uint64_t depth;
  } paths[kMaxPoints];

  const RecordedFrame* frames() const { return reinterpret_cast<const RecordedFrame*>(this + 1); }
};
constexpr uint64_t kMaxFrames = 1U << 23U;
constexpr uint64_t kRecordBytes = sizeof(RecordedPaths) + kMaxFrames * sizeof(RecordedFrame);

// Starts recording to a new file. False: it cannot be made.
bool record_paths_to(const char* file);
// Writes this thread's call path, then faults. Does nothing where nothing is recorded.
void sample_here();

// Around longjmp, which leaves functions without a word.
size_t recorded_depth();
void forget_recorded_above(size_t depth);

// A function that is not instrumented: written in assembly. Its frame lies below what is recorded as its stack pointer, its
// caller's.
class RecordedCall {
 public:
  explicit RecordedCall(void (*function)());
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;
  ~RecordedCall();
};

}  // namespace plimsoll::testing
