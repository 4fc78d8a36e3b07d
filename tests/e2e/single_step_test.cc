// Programs run one instruction at a time, each with two stacks: the unwinder's, from the registers and a copy of the stack,
// and the true one, from the calls and returns that were executed. Every instruction counts: prologues, epilogues, entries of
// procedure linkage tables, the dynamic linker, signal frames. Needs no privileges beyond those to trace an own child.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "tests/e2e/live_unwinder.h"
#include "tests/e2e/program.h"
#include "tests/e2e/stepped_program.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kStackBytes = 16384;
constexpr uint64_t kOuterBytes = 1024;  // of main() and what calls it

// By what the unwinder could not step out of: the function of the innermost frame whose caller is not the true one.
struct Disagreement {
  uint64_t instructions = 0;
  std::string example;
};
using Disagreements = std::map<std::string, Disagreement>;

struct Compared {
  uint64_t instructions = 0;  // that have one true stack
  uint64_t equal = 0;
  uint64_t cut = 0;  // of these: equal as far as the copy of the stack goes, which the unwinder says
  uint64_t other_stack =
      0;  // of these: of a handler on a stack of its own, up to the frame that it interrupted
  uint64_t not_said_whole =
      0;  // of these: though all frames are there, the unwinder says that some are missing
  // The runtime of exceptions has begun to make its frame that of the handler it will jump to: neither the stack that it was
  // called on nor the handler's is there as a whole.
  uint64_t being_rewritten = 0;
  Disagreements disagreements;

  double share() const { return static_cast<double>(equal) / static_cast<double>(instructions); }
};

perf::SampleRecord sample_of(SteppedProgram& program) {
  const user_regs_struct& r = program.registers();
  perf::SampleRecord sample;
  sample.pid = static_cast<uint32_t>(program.pid());
  sample.tid = sample.pid;
  sample.ip = r.rip;
  sample.user_abi = PERF_SAMPLE_REGS_ABI_64;
  sample.user_registers = {r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.rip,
                           r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
  sample.user_stack = program.stack(kStackBytes);
  sample.user_stack_is_cut = sample.user_stack.size() == kStackBytes;
  return sample;
}

class Stepping {
 public:
  Stepping(SteppedProgram& program, LiveUnwinder& unwinder) : program_(program), unwinder_(unwinder) {}

  // The frames outside what was stepped through: what the unwinder says now, of a program that stands at a breakpoint.
  void take_outer_frames() {
    const UserStack& stack = unwinder_.unwind(sample_of(program_));
    EXPECT_EQ(stack.problem, wire::STACK_PROBLEM_UNSPECIFIED);
    outer_.assign(stack.addresses.begin() + 1, stack.addresses.end());
    base_rsp_ = program_.registers().rsp;
  }

  void compare() {
    const UserStack& stack = unwinder_.unwind(sample_of(program_));
    program_.calls().addresses(program_.registers().rip, truth_);
    truth_.insert(truth_.end(), outer_.begin(), outer_.end());
    if (stack.addresses == truth_) {
      ++compared_.equal;
      compared_.not_said_whole += stack.problem == wire::STACK_PROBLEM_UNSPECIFIED ? 0 : 1;
    } else if (is_being_rewritten()) {
      ++compared_.being_rewritten;
      return;
    } else if (ends_where_the_copy_does(stack)) {
      ++compared_.equal;
    } else {
      note(stack);
    }
    ++compared_.instructions;
  }

  bool is_above_start() const { return base_rsp_ != 0 && program_.registers().rsp > base_rsp_; }
  Compared take() { return std::move(compared_); }

 private:
  // Right as far as it goes, and it says that and why it goes no further.
  bool ends_where_the_copy_does(const UserStack& stack) {
    const size_t frames = stack.addresses.size();
    if (frames >= truth_.size() ||
        !std::equal(stack.addresses.begin(), stack.addresses.end(), truth_.begin())) {
      return false;
    }
    const auto calls = program_.calls().frames();
    const uint64_t copy_end = program_.registers().rsp + kStackBytes;
    // Where the outer frames have their return addresses was not seen: behind the start.
    const uint64_t slot = frames <= calls.size() ? calls[frames - 1].slot : base_rsp_ + kOuterBytes;
    const bool is_cut = stack.problem == wire::TRUNCATED_STACK_COPY && slot + sizeof(uint64_t) > copy_end;
    const bool is_elsewhere = stack.problem == wire::OUTSIDE_STACK && frames <= calls.size() &&
                              slot - program_.registers().rsp > kStackBytes;
    compared_.cut += is_cut ? 1 : 0;
    compared_.other_stack += is_elsewhere ? 1 : 0;
    return is_cut || is_elsewhere;
  }

  // libgcc's functions that end in __builtin_eh_return.
  bool is_being_rewritten() {
    const auto ends_in_handler = [&](uint64_t address) {
      return name_of(address, false).starts_with("libgcc_s.so.1:_Unwind_R");
    };
    // In the last of its instructions the frame is no more.
    is_rewriting_ = is_rewriting_ && ends_in_handler(truth_.front());
    const auto frames = program_.calls().frames();
    for (size_t i = 0; i < frames.size() && !is_rewriting_; ++i) {
      is_rewriting_ = ends_in_handler(truth_[i]) && program_.has_rewritten(frames[i]);
    }
    return is_rewriting_;
  }

  std::string name_of(uint64_t address, bool with_offset = true) {
    const auto place = unwinder_.place(static_cast<uint32_t>(program_.pid()), address);
    if (!place) {
      return fmt::format("{:#x}", address);
    }
    const auto function = names_.find(*place);
    const std::string file = place->path.substr(place->path.rfind('/') + 1);
    if (function.name.empty()) {
      return with_offset ? fmt::format("{}:{:#x}", file, place->elf_address) : file + ": without a symbol";
    }
    const std::string name = file + ":" + function.name;
    return with_offset ? fmt::format("{}+{:#x}", name, function.offset) : name;
  }

  std::string list(const std::vector<uint64_t>& addresses) {
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(addresses.size(), 4); ++i) {
      text += " " + name_of(addresses[i]);
    }
    return text;
  }

  void note(const UserStack& stack) {
    const auto differs = std::ranges::mismatch(stack.addresses, truth_).in2;
    const uint64_t culprit = differs == truth_.begin() ? truth_.front() : *std::prev(differs);
    Disagreement& noted =
        compared_.disagreements[name_of(culprit, false) + " " + wire::StackProblem_Name(stack.problem)];
    if (++noted.instructions == 1) {
      noted.example = fmt::format("true ({}):{}\n         ours ({}):{}", truth_.size(), list(truth_),
                                  stack.addresses.size(), list(stack.addresses));
    }
  }

  SteppedProgram& program_;
  LiveUnwinder& unwinder_;
  FunctionNames names_;
  std::vector<uint64_t> outer_;
  uint64_t base_rsp_ = 0;
  bool is_rewriting_ = false;
  std::vector<uint64_t> truth_;
  Compared compared_;
};

void print(const std::string& name, const Compared& compared) {
  std::printf(
      "%s: %lu of %lu instructions equal (%.4f %%), %lu of them as far as the copy goes, %lu up to another "
      "stack, "
      "%lu whole without saying so; %lu without a true stack, while an exception's handler is jumped to\n",
      name.c_str(), compared.equal, compared.instructions, compared.share() * 100, compared.cut,
      compared.other_stack, compared.not_said_whole, compared.being_rewritten);
  for (const auto& [place, disagreement] : compared.disagreements) {
    std::printf("  %6lu %s\n         %s\n", disagreement.instructions, place.c_str(),
                disagreement.example.c_str());
  }
}

// To the program's end, or `most` instructions.
Compared step_through(const std::vector<std::string>& argv, bool from_breakpoint, uint64_t most) {
  SteppedProgram program(argv);
  LiveUnwinder unwinder;
  Stepping stepping(program, unwinder);
  if (from_breakpoint) {
    EXPECT_TRUE(program.run_to_breakpoint()) << argv[0] << " ended with status " << program.exit_status();
    stepping.take_outer_frames();
  }
  uint64_t last_rip = 0;
  for (uint64_t i = 0; i < most && program.step() && !stepping.is_above_start(); ++i) {
    if (program.changed_mappings()) {
      unwinder.forget_processes();
    }
    // Rounds of one repeated instruction have one stack.
    if (program.registers().rip != last_rip) {
      stepping.compare();
    }
    last_rip = program.registers().rip;
  }
  return stepping.take();
}

struct Build {
  const char* name;
  const char* program;
  bool with_libraries;  // what runs outside the program mostly, whatever its own build
};

class SingleSteps : public ::testing::TestWithParam<Build> {};

TEST_P(SingleSteps, HaveTheTrueStackAtEveryInstruction) {
  std::vector<std::string> argv{GetParam().program, "1", "break"};
  for (const char* part :
       {"calls", "libc", "frames", "signals", "altstack", "jumps", "library", "modern", "deep"}) {
    argv.emplace_back(part);
  }
  if (GetParam().with_libraries) {
    argv.insert(argv.end(), {"exceptions", "dlopen", "library_of_cxx"});
  }
  const Compared compared = step_through(argv, true, 3'000'000);
  print(GetParam().name, compared);
  EXPECT_GT(compared.instructions, 40'000);
  EXPECT_GT(compared.cut, 500) << "the deep recursion does not fit into the copy";
  EXPECT_GT(compared.other_stack, 20);
  EXPECT_LT(static_cast<double>(compared.being_rewritten), 0.01 * static_cast<double>(compared.instructions));
  EXPECT_GE(compared.share(), 0.999);
}

INSTANTIATE_TEST_SUITE_P(Builds, SingleSteps,
                         ::testing::Values(Build{"O0", "call_paths_o0", true},
                                           Build{"O2", "call_paths_o2", true},
                                           Build{"Os", "call_paths_os", false},
                                           Build{"O3WithBranchProtection", "call_paths_o3", false}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// The dynamic linker's own start included.
TEST(SingleStepsOfSystemPrograms, HaveTheTrueStackFromTheFirstInstruction) {
  const Compared compared = step_through({"/bin/ls", "/"}, false, 3'000'000);
  print("ls", compared);
  EXPECT_GT(compared.instructions, 40'000);
  EXPECT_GE(compared.share(), 0.999);
}

}  // namespace
}  // namespace plimsoll::testing
