// A program run one instruction at a time, and its true call stack, kept by watching what its instructions do: a call adds
// a return address, and whatever takes the stack pointer above one (a return, longjmp, a landing pad) removes it. Knows
// nothing of unwind information. One thread; x86-64.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

class TrueCallStack {
 public:
  // What a function has saved when it first calls another: its return address and the words below it.
  static constexpr size_t kSavedWords = 9;
  struct Frame {
    uint64_t slot;                                                // of the return address
    uint64_t address;                                             // where the caller is executing
    std::optional<std::array<uint64_t, kSavedWords>> saved = {};  // up to the slot; once it has called
  };

  // `slot` is where the return address lies.
  void called(uint64_t slot, uint64_t return_address);
  // Of the function that is executing; null outside all that were called.
  Frame* newest();
  // A signal's handler has been entered: `slot` holds the address of the code that returns from it. The frame that was
  // interrupted goes on where it was, not behind a call.
  void interrupted(uint64_t at, uint64_t slot, uint64_t return_address, uint64_t stack_low,
                   uint64_t stack_high);
  // rt_sigreturn was executed.
  void returned_from_handler();
  // After each instruction.
  void stack_pointer_is(uint64_t rsp);

  // Where each frame is executing, as UserStack::addresses has it, leaf first, for a leaf at `rip`. The function that executes
  // at addresses[i] was called by frames()[i].
  void addresses(uint64_t rip, std::vector<uint64_t>& addresses) const;
  std::vector<Frame> frames() const;

 private:
  // Of one handler, or (the first) of the program outside any. Slots of different ones may lie on different stacks.
  struct Part {
    std::vector<Frame> frames;
    uint64_t stack_low = 0;
    uint64_t stack_high = UINT64_MAX;
  };
  std::vector<Part> parts_{1};
};

// Ends the program when destroyed.
class SteppedProgram {
 public:
  using Frame = TrueCallStack::Frame;

  // Stopped at the very first instruction, in the dynamic linker.
  explicit SteppedProgram(const std::vector<std::string>& argv);
  SteppedProgram(const SteppedProgram&) = delete;
  SteppedProgram& operator=(const SteppedProgram&) = delete;
  ~SteppedProgram();

  // Executes one instruction (of a repeated one, one round), or enters a signal's handler. False: the program has ended.
  bool step();
  // Runs until the program executes int3. False: it ended.
  bool run_to_breakpoint();

  pid_t pid() const { return pid_; }
  const user_regs_struct& registers() const { return registers_; }
  // The stack from its pointer on, up to `most` bytes or its end.
  Bytes stack(size_t most);
  const TrueCallStack& calls() const { return calls_; }
  // Whether a function has overwritten what it had saved.
  bool has_rewritten(const Frame& frame) const;
  // Whether the newest step may have changed what is mapped.
  bool changed_mappings() const { return changed_mappings_; }
  int exit_status() const { return exit_status_; }

 private:
  struct Range {
    uint64_t low = 0;
    uint64_t high = 0;
  };
  bool wait_for_stop(int& signal_number);
  size_t read(uint64_t address, void* bytes, size_t size_bytes) const;
  uint64_t read_word(uint64_t address) const;
  Range mapping_of(uint64_t address) const;
  void remember_saved(Frame& frame) const;
  void follow(const user_regs_struct& before, int delivered_signal);

  pid_t pid_ = -1;
  UniqueFd memory_;  // its own, by address
  int pending_signal_ = 0;
  int exit_status_ = -1;
  bool changed_mappings_ = false;
  user_regs_struct registers_{};
  std::array<uint8_t, 16> code_{};  // at the instruction pointer before the step
  Range stack_;
  std::vector<std::byte> copy_;
  TrueCallStack calls_;
};

}  // namespace plimsoll::testing
