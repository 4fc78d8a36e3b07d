// The call chain that the kernel finds by frame pointers, and the unwound stack, of the same samples of programs that keep
// frame pointers in all their code. The chain is the oracle alone: the unwinder is not given it. Needs the privileges to
// sample the machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "base/file.h"
#include "tests/e2e/live_unwinder.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

constexpr uint32_t kStackBytes = 16384;
constexpr size_t kRsp = 7;  // in SampleRecord::user_registers
constexpr uint64_t kMeanPeriodNs = 250'000;
constexpr uint64_t kWantedSamples = 4'000;

// Where a function has not linked its frame yet, or no more, or never does since it keeps nothing on the stack: the chain of
// frame pointers then leaves out its caller, whose address lies on top of the stack. By disassembly, instruction after instruction in the order
// of their addresses: compilers that do not move prologues into branches begin a function with the one, and end a block that
// leaves it with the other.
class UnlinkedFrames {
 public:
  explicit UnlinkedFrames(const std::string& path) {
    std::istringstream lines(run({"/bin/sh", "-c", "objdump -d --no-show-raw-insn " + path}).out);
    for (std::string line; std::getline(lines, line);) {
      add(line);
    }
  }

  // How many bytes above the stack pointer the return address lies, where the frame is not linked.
  std::optional<uint64_t> find(uint64_t elf_address) const {
    const auto found = slots_.find(elf_address);
    return found == slots_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  // "0000000000001139 <main>:", and "    1139:\tpush   %rbp".
  void add(const std::string& line) {
    if (line.ends_with(">:")) {
      slot_ = 0;
      return;
    }
    std::istringstream words(line);
    std::string address;
    std::string operation;
    std::string operand;
    words >> address >> operation >> operand;
    if (!address.ends_with(":")) {
      return;
    }
    if (slot_) {
      slots_[std::stoull(address, nullptr, 16)] = *slot_;
    }
    const bool leaves = operation.starts_with("ret") || operation.starts_with("jmp");
    if (operation == "push" && operand == "%rbp") {
      slot_ = sizeof(uint64_t);
    } else if ((operation == "pop" && operand == "%rbp") || operation == "leave") {
      slot_ = 0;
    } else if (operand == "%rsp,%rbp" || leaves) {
      slot_.reset();
    }
  }

  std::optional<uint64_t> slot_;
  std::map<uint64_t, uint64_t> slots_;
};

struct Compared {
  uint64_t samples = 0;  // whose leaf lies in the program
  uint64_t equal = 0;
  uint64_t equal_with_caller = 0;  // the chain leaves out the caller of a leaf whose frame is not linked
  uint64_t in_library = 0;         // not compared: libraries keep no frame pointers
  std::map<std::string, uint64_t> disagreements;
};

class Comparison {
 public:
  Comparison(LiveUnwinder& unwinder, const std::string& path)
      : unwinder_(unwinder), path_(path), unlinked_(path) {}

  void add(const perf::SampleRecord& sample) {
    const std::vector<uint64_t> chain = user_chain(sample);
    const auto leaf = unwinder_.place(sample.pid, chain.empty() ? 0 : chain.front());
    if (!leaf || leaf->path != path_) {
      ++compared_.in_library;
      return;
    }
    ++compared_.samples;
    const UserStack& stack = unwinder_.unwind(sample);
    const auto slot = unlinked_.find(leaf->elf_address);
    const bool is_equal = has_frames(sample.pid, stack, slot ? with_caller(chain, sample, *slot) : chain);
    const bool is_whole = stack.problem == wire::STACK_PROBLEM_UNSPECIFIED;
    if (!is_equal || !is_whole) {
      note(sample.pid, chain, stack);
    } else if (slot) {
      ++compared_.equal_with_caller;
    } else {
      ++compared_.equal;
    }
  }

  const Compared& compared() const { return compared_; }

 private:
  // As UserStack::addresses has them.
  static std::vector<uint64_t> user_chain(const perf::SampleRecord& sample) {
    std::vector<uint64_t> chain;
    bool is_user = false;
    for (const uint64_t entry : sample.callchain) {
      if (is_user) {
        chain.push_back(chain.empty() ? entry : entry - 1);
      }
      is_user = is_user || entry == PERF_CONTEXT_USER;
    }
    return chain;
  }

  static std::vector<uint64_t> with_caller(std::vector<uint64_t> chain, const perf::SampleRecord& sample,
                                           uint64_t slot) {
    const unwind::StackCopy stack{.start = sample.user_registers[kRsp], .bytes = sample.user_stack};
    chain.insert(chain.begin() + 1, stack.word(stack.start + slot).value_or(0) - 1);
    return chain;
  }

  bool is_in_program(uint32_t pid, uint64_t address) {
    const auto place = unwinder_.place(pid, address);
    return place && place->path == path_;
  }

  // Of the chain what lies in the program, and the library's frame that called it; what follows was found by a library's rbp,
  // which it uses for anything.
  bool has_frames(uint32_t pid, const UserStack& stack, const std::vector<uint64_t>& chain) {
    const auto caller =
        std::ranges::find_if(chain, [&](uint64_t address) { return !is_in_program(pid, address); });
    if (caller == chain.end()) {
      return false;
    }
    const std::vector<uint64_t> wanted(chain.begin(), std::next(caller));
    const auto in_program =
        std::ranges::find_if(stack.addresses, [&](uint64_t address) { return !is_in_program(pid, address); });
    return in_program != stack.addresses.end() &&
           std::equal(wanted.begin(), std::prev(wanted.end()), stack.addresses.begin(), in_program) &&
           *in_program == wanted.back();
  }

  void note(uint32_t pid, const std::vector<uint64_t>& chain, const UserStack& stack) {
    const auto list = [&](const std::vector<uint64_t>& addresses) {
      std::string text;
      for (size_t i = 0; i < std::min<size_t>(addresses.size(), 4); ++i) {
        const auto place = unwinder_.place(pid, addresses[i]);
        const auto function = place ? names_.find(*place) : FunctionNames::Function();
        text += fmt::format(" {}+{:#x}", function.name, function.offset);
      }
      return text;
    };
    ++compared_.disagreements[fmt::format("chain:{}\n         ours ({}):{}", list(chain),
                                          wire::StackProblem_Name(stack.problem), list(stack.addresses))];
  }

  LiveUnwinder& unwinder_;
  const std::string path_;
  const UnlinkedFrames unlinked_;
  FunctionNames names_;
  Compared compared_;
};

class FramePointers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
};

TEST_P(FramePointers, GiveTheSameStacks) {
  LiveUnwinder unwinder;
  Comparison comparison(unwinder, program(GetParam()));
  const Compared& compared = comparison.compared();
  // Where other programs run too, it takes longer.
  for (int i = 0; i < 20 && compared.samples < kWantedSamples; ++i) {
    const auto run =
        sample_program({GetParam(), "1"}, {*perf::find_event("cpu-clock"), kMeanPeriodNs}, kStackBytes,
                       unwinder, [&](const perf::SampleRecord& sample) { comparison.add(sample); });
    ASSERT_TRUE(run.has_value()) << run.error().text();
  }
  const auto share = [&](uint64_t samples) {
    return 100 * static_cast<double>(samples) / static_cast<double>(compared.samples);
  };
  std::printf(
      "%s: of %lu samples %.2f %% equal, %.2f %% equal with the caller of a leaf that is not linked; %lu not "
      "compared, in libraries\n",
      GetParam(), compared.samples, share(compared.equal), share(compared.equal_with_caller),
      compared.in_library);
  for (const auto& [disagreement, samples] : compared.disagreements) {
    std::printf("  %6lu %s\n", samples, disagreement.c_str());
  }
  ASSERT_GE(compared.samples, kWantedSamples);
  EXPECT_GE(share(compared.equal + compared.equal_with_caller), 99.5);
  // How many samples fall before or after the frame is linked differs with the processor.
  EXPECT_LT(share(compared.equal_with_caller), 50) << "mostly in the middle of functions";
}

INSTANTIATE_TEST_SUITE_P(Programs, FramePointers,
                         ::testing::Values("framed_mix_o0", "framed_mix_o2", "framed_mix_o3"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace plimsoll::testing
