// From a stream of getpid() calls to marks.
//
// A mark is two calls of one thread: its head, which has kind and a fold of the value, and its value. Between them may be
// anything: other threads, other marks of a signal handler, natural getpid() calls whose registers still hold a half of this mark
// or of an earlier one, and losses. So a value completes the youngest head of its thread that it folds to, a head that comes
// again replaces itself, and a value without a head is none. The mark has the time of its head, so that it is true where calls
// were lost, too: head and fold say all of it, and the value of another mark that folds to it is the same value.
//
//   for (const MarkCall& call : calls) {
//     if (const auto mark = decoder.take(call)) marks.push_back(*mark);
//   }
//   decoder.finish();
//
// One thread. Memory: 130 bytes per thread that is within a mark, of at most kMaxThreads of these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "traces/bursts/marks/mark.h"

namespace plimsoll::traces {

struct MarkCounts {
  uint64_t calls = 0;
  uint64_t marks = 0;
  uint64_t natural = 0;  // calls without a magic number
  uint64_t torn = 0;     // heads whose value did not come: lost, or the thread was killed
  uint64_t stray =
      0;  // values without a head, and heads that came again: registers of earlier marks, or lost heads
  uint64_t unknown = 0;  // heads of a kind or version that this program does not know
};

class MarkDecoder {
 public:
  static constexpr size_t kMaxNested =
      4;  // marks of a thread that are begun; the oldest is given up for a fifth
  static constexpr size_t kMaxThreads = 65'536;

  // Calls of a thread come in the order in which it made them. The mark that this one completes.
  std::optional<Mark> take(const MarkCall& call);
  // No more calls: what was begun is torn.
  void finish();
  const MarkCounts& counts() const { return counts_; }

 private:
  struct Head {
    int64_t time_ns;
    uint64_t word;
    MarkKind kind;
  };
  struct Begun {
    std::array<Head, kMaxNested> heads;
    size_t size = 0;
  };

  void begin(const MarkCall& call, MarkKind kind);
  std::optional<Mark> complete(const MarkCall& call);

  std::unordered_map<uint32_t, Begun> begun_;  // by thread
  MarkCounts counts_;
};

}  // namespace plimsoll::traces
