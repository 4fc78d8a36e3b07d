// Stacks of this process, captured as a sample captures them, and the unwinder on what this process has mapped.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "capture/profile/user_stacks.h"

namespace plimsoll::fuzz {

constexpr size_t kStackBytes = 16384;
constexpr size_t kRsp = 7;  // in SampleRecord::user_registers
constexpr size_t kRip = 8;

// As a sample has them.
struct Capture {
  std::array<uint64_t, perf::kUserRegisters> registers{};
  std::string stack;
};

// Seven: a shallow one, recursion, recursion beyond the copy, a callback from libc, a signal's handler, a thread, a landing pad.
std::vector<Capture> sound_captures();
constexpr size_t kBeyondTheCopy = 2;

// Unwinds with what this process has mapped: its own code, the system's libraries, the vdso, and a page as a JIT compiler
// makes them.
class OwnStacks {
 public:
  OwnStacks()
      : jit_page_(::mmap(nullptr, kPageBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        process_(processes_.find(static_cast<uint32_t>(::getpid()))) {}
  OwnStacks(const OwnStacks&) = delete;
  OwnStacks& operator=(const OwnStacks&) = delete;
  ~OwnStacks() { ::munmap(jit_page_, kPageBytes); }

  const identity::Mappings& mappings() const { return *process_.mappings; }

  const UserStack& unwind(const std::array<uint64_t, perf::kUserRegisters>& registers, Bytes stack,
                          bool is_cut) {
    perf::SampleRecord sample;
    sample.pid = process_.identity->pid;
    sample.user_abi = PERF_SAMPLE_REGS_ABI_64;
    sample.user_registers = registers;
    sample.user_stack = stack;
    sample.user_stack_is_cut = is_cut;
    stacks_.unwind(sample, {}, process_, stack_);
    return stack_;
  }

 private:
  static constexpr size_t kPageBytes = 4096;

  void* const jit_page_;  // mapped before the process is looked at
  identity::ProcFs proc_fs_;
  identity::LiveImages images_{proc_fs_};
  identity::BinaryTable binaries_{images_};
  identity::ProcessTable processes_{proc_fs_, binaries_};
  identity::Process& process_;
  UserStacks stacks_{images_};
  UserStack stack_;
};

// As far as it goes, whatever the stack holds. Use with HasFatalFailure().
void expect_possible(const UserStack& stack, uint64_t rip, const identity::Mappings& mappings);

}  // namespace plimsoll::fuzz
