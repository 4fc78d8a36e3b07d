// Walks a captured user stack from the leaf to the outermost frame.
//
//   Walker walker;
//   WalkedStack walked;
//   walker.walk(registers, stack, code, walked);
//   // walked.addresses: where each frame was executing, leaf first; walked.end: why there are no more
//
// Never guesses: where a rule cannot be followed the stack ends, with the reason. Code without rules may link its frames
// through rbp all the same (V8's builtins, assembly): that is believed where a call precedes the return address found so,
// and did not go to another function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/unwind/registers.h"
#include "capture/unwind/rule_cache.h"
#include "capture/unwind/stack_copy.h"
#include "capture/unwind/stack_end.h"
#include "capture/unwind/unwind_table.h"

namespace plimsoll::unwind {

// What is known of the code at an address.
struct CodePlace {
  bool is_mapped = false;
  const UnwindTable* table = nullptr;  // null: there is none
  uint64_t elf_address = 0;            // with a table
  // Code that the table does not cover keeps its frames linked through rbp: JITs, Go. Others might, and do not.
  bool keeps_frame_pointers = false;
  // A frame pointer of 0 is that of the outermost frame: so in Go. Code of a JIT may keep anything in rbp.
  bool chain_ends_with_zero = false;
};

// Which code lies where in a process.
class CodeMap {
 public:
  virtual ~CodeMap() = default;
  virtual CodePlace find(uint64_t address) = 0;
  // The call before `address`, which makes that a return address; nothing where there is none, or none can be seen.
  struct Call {
    std::optional<uint64_t> target = {};  // of a direct one
    bool is_certain = true;               // it was seen, rather than taken for granted (JIT)
  };
  virtual std::optional<Call> call_before(uint64_t /*address*/) { return std::nullopt; }
};

struct WalkedStack {
  // An address inside the instruction that each frame was executing: the leaf's own, and the byte before each return
  // address (after a signal frame: the interrupted instruction's; of a signal frame itself, the return address).
  std::vector<uint64_t> addresses;
  StackEnd end = StackEnd::kOutermost;
};

// What the kernel found by following frame pointers from a sample's registers: the instruction pointer, then return
// addresses.
struct FramePointerChain {
  std::span<const uint64_t> addresses = {};
  bool is_cut = false;  // at the deepest chain that the kernel records
};

// One thread.
class Walker {
 public:
  static constexpr size_t kMaxFrames = 2048;

  // Replaces what is in `walked`. The kernel's chain, from the same registers, goes on where frame pointers lead out of the
  // copy, since Go switches between stacks. A frame takes some 30 ns when its rule is hot, and what `code` takes.
  void walk(Registers registers, const StackCopy& stack, const FramePointerChain& chain, CodeMap& code,
            WalkedStack& walked);

  // Before a table that was used is destroyed.
  void forget_tables() { rules_.forget_tables(); }

 private:
  // True: `frame` is the caller's now. False: there is none, for the reason in `end`.
  bool step(const CodePlace& place, bool is_exact, CodeMap& code, Registers& frame, const StackCopy& stack,
            StackEnd& end);
  bool step_by_frame_pointer(const CodePlace& place, Registers& frame, const StackCopy& stack, StackEnd& end);
  bool step_by_go_rule(const FrameRule& rule, Registers& frame, const StackCopy& stack, StackEnd& end);
  // Whether the byte before a return address, of which `before` tells, is no part of the function that it returns to.
  bool follows_no_call(const CodePlace& before, uint64_t return_address, CodeMap& code);
  // Goes on by the chain, where its entries are those of the frames walked so far.
  void follow_chain(const FramePointerChain& chain, uint64_t return_address, CodeMap& code,
                    WalkedStack& walked) const;

  // Of expressions in one walk: two signal frames take twenty, a hostile table's thousands of frames could take seconds.
  static constexpr int kMaxOperations = 20'000;

  RuleCache rules_;
  int operations_left_ = 0;
  bool next_is_exact_ = false;  // the frame that was stepped to was interrupted, not left by a call
  bool only_frame_pointers_ =
      false;                 // every step of this walk so far followed one, but for a leaf that has none yet
  bool left_copy_ = false;   // the newest step failed since its frame pointer leads out of the copy
  size_t not_in_chain_ = 0;  // frames that the kernel could not see: the caller of such a leaf
};

}  // namespace plimsoll::unwind
