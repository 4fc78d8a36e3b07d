// A step from a frame to its caller by rules that the common form cannot hold: expressions, signal frames, registers saved in
// others.
#pragma once

#include <cstdint>
#include <optional>

#include "capture/unwind/registers.h"
#include "capture/unwind/stack_end.h"
#include "capture/unwind/unwind_table.h"

namespace plimsoll::unwind {

// Borrows everything. `operations_left` of expressions are carried out at most, and subtracted.
class GenericRowStep {
 public:
  GenericRowStep(const UnwindTable& table, const StackCopy& stack, int& operations_left)
      : table_(table), stack_(stack), operations_left_(operations_left) {}

  // True: `frame` is the caller's now. False: there is none, for the reason in `end`.
  bool step(const FrameRule& rule, Registers& frame, StackEnd& end);

 private:
  std::optional<uint64_t> value_of_expression(const Rule& rule, const Registers& frame,
                                              std::optional<uint64_t> cfa, StackEnd& end);
  std::optional<uint64_t> canonical_frame_address(const Rule& rule, const Registers& frame, StackEnd& end);
  std::optional<uint64_t> callers_value(const Rule& rule, uint64_t number, const Registers& frame,
                                        uint64_t cfa, StackEnd& end);

  const UnwindTable& table_;
  const StackCopy& stack_;
  int& operations_left_;
};

}  // namespace plimsoll::unwind
