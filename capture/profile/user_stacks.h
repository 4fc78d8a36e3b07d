// User parts of stacks: the walker, put together with what is known of processes and their binaries.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "capture/identity/processes.h"
#include "capture/perf/records.h"
#include "capture/unwind/call_instruction.h"
#include "capture/unwind/walker.h"
#include "proto/profile.pb.h"

namespace plimsoll {

struct UserStack {
  std::vector<uint64_t> addresses;  // inside the instruction that each frame was executing, leaf first
  // Why there are no more; unspecified: the outermost frame was reached.
  wire::StackProblem problem = wire::STACK_PROBLEM_UNSPECIFIED;
};

// One thread. Compiles the call frame information of each binary that a sample falls into, once, and keeps it from window to
// window, within a bound on memory.
class UserStacks {
 public:
  static constexpr size_t kDefaultTableBytes = size_t{24} << 20;

  // Borrows `images`.
  explicit UserStacks(const identity::ImageSource& images, size_t max_table_bytes = kDefaultTableBytes)
      : images_(images), max_table_bytes_(max_table_bytes) {}

  // Replaces what is in `stack`. The sample must come with registers (user_abi); `chain` is the user part of its call chain.
  void unwind(const perf::SampleRecord& sample, const unwind::FramePointerChain& chain,
              const identity::Process& process, UserStack& stack);

  // Call between windows: drops tables, the longest unused first, until they are within the bound. Within a window none is
  // read beyond twice the bound.
  void trim();
  // Drops all of them, between windows.
  void clear();

  // Nothing is kept for this binary any more: another may take its address.
  void forget(const identity::BinaryInfo* binary);

  size_t table_bytes() const { return table_bytes_; }

  // CPU time that reading and compiling tables took since the last call.
  int64_t take_compile_cpu_ns() { return std::exchange(compile_cpu_ns_, 0); }

 private:
  class ProcessCode;

  // The code of one binary, looked at where no rules are known.
  struct Code {
    std::unique_ptr<const elf::LoadedImage> image;                  // keeps the file open; null: out of reach
    boost::unordered_flat_map<uint64_t, unwind::CallsAtEnd> calls;  // by the ELF address that they end at
  };

  // What is known of unwinding one binary.
  struct BinaryTable {
    // Null where it could not be read, for the reason in `problem`.
    std::unique_ptr<unwind::UnwindTable> compiled;
    wire::StackProblem problem = wire::STACK_PROBLEM_UNSPECIFIED;
    uint64_t used_in = 0;  // number of the window
    bool waits_for_room = false;
    uint32_t tried_for_pid = 0;  // the process that it was last looked for in
    int tries = 0;               // in that window
  };
  const BinaryTable& table_of(const identity::BinaryInfo& binary, const identity::Process& process);
  // None where that would take a look at the code and there are no `looks_left`.
  unwind::CallsAtEnd calls_before(const identity::BinaryInfo& binary, const identity::Process& process,
                                  uint64_t elf_address, int& looks_left);
  BinaryTable read_table(const identity::BinaryInfo& binary, const identity::Process& process) const;

  const identity::ImageSource& images_;
  const size_t max_table_bytes_;
  boost::unordered_flat_map<const identity::BinaryInfo*, BinaryTable> tables_;
  size_t table_bytes_ = 0;
  int64_t compile_cpu_ns_ = 0;
  boost::unordered_flat_map<const identity::BinaryInfo*, std::unique_ptr<Code>> codes_;  // of this window
  uint64_t window_ = 0;
  unwind::Walker walker_;
  unwind::WalkedStack walked_;
};

}  // namespace plimsoll
