#include "daemon/bursts/stack_collector.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>
#include <vector>

#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::bursts {
namespace {

constexpr uint32_t kPid = 70;
constexpr uint64_t kKernel = 0xffffffff81000000;

// Process 70 has /bin/job, whose file is out of reach, and code without a file.
class StackCollectorTest : public ::testing::Test {
 protected:
  StackCollectorTest() {
    proc_.process(kPid, {.comm = "job",
                         .executable = "/bin/job",
                         .cgroup = "0::/\n",
                         .maps = "1000-2000 r-xp 00003000 fe:01 11 /bin/job\n"
                                 "4000-5000 r-xp 00000000 00:00 0 \n"});
  }

  // The innermost first.
  static std::vector<std::string> names(const traces::BurstStacks& stacks, uint32_t stack) {
    std::vector<std::string> names;
    stacks.for_each_frame(stack,
                          [&](uint32_t frame) { names.push_back(traces::name_of_frame(stacks, frame)); });
    return names;
  }

  const identity::FakeProc proc_;
  const identity::ProcFs files_{proc_.root(), identity::standing_clocks()};
  const identity::LiveImages images_{files_};
  const identity::KernelMap kernel_ = *identity::KernelMap::parse(
      "ffffffff81000000 T _text\nffffffff81001000 T schedule\nffffffff81003000 T _etext\n", "", "id", {});
  StackCollector collector_{files_, images_, &kernel_, 100};
};

using Names = std::vector<std::string>;

TEST_F(StackCollectorTest, FindsBinariesAndFunctionsOfTheKernel) {
  const uint32_t stack =
      collector_.stack_of(kPid, std::vector<uint64_t>{PERF_CONTEXT_KERNEL, kKernel + 0x1010, kKernel + 0x21,
                                                      PERF_CONTEXT_USER, 0x1100, 0x1201, 0x4101, 0x9001});
  const traces::BurstStacks stacks = collector_.take();
  EXPECT_EQ(names(stacks, stack),
            (Names{"schedule", "_text", "job+0x3100", "job+0x3200", "[jit]", "[unknown]"}));
  const auto& kernel = stacks.frames.at(0);
  EXPECT_EQ(kernel.kind, traces::BurstAddressKind::kKernel);
  EXPECT_EQ(kernel.address, 0x1010U) << "not where this machine has it";
  EXPECT_EQ(stacks.binaries.at(kernel.binary), (traces::BurstBinary{"[kernel]", "id"}));
}

TEST_F(StackCollectorTest, SharesWhatStacksHaveInCommon) {
  const std::vector<uint64_t> outer{PERF_CONTEXT_USER, 0x1100};
  const std::vector<uint64_t> inner{PERF_CONTEXT_USER, 0x1300, 0x1101};
  EXPECT_EQ(collector_.stack_of(kPid, outer), 1U);
  EXPECT_EQ(collector_.stack_of(kPid, inner), 2U);
  collector_.end_burst();
  EXPECT_EQ(collector_.stack_of(kPid, outer), 1U);
  const traces::BurstStacks stacks = collector_.take();
  EXPECT_EQ(stacks.nodes, (std::vector<traces::BurstStackNode>{{0, 0}, {1, 1}}));
  EXPECT_EQ(stacks.binaries.size(), 1U);
  EXPECT_EQ(collector_.take(), traces::BurstStacks());
  EXPECT_EQ(collector_.stack_of(kPid, inner), 2U) << "afresh";
}

TEST_F(StackCollectorTest, ReadsProcessesAgainWithEachBurst) {
  const std::vector<uint64_t> chain{PERF_CONTEXT_USER, 0x1100};
  const uint32_t first = collector_.stack_of(kPid, chain);
  proc_.file("70/maps", "1000-2000 r-xp 00000000 fe:01 12 /bin/other\n");
  EXPECT_EQ(collector_.stack_of(kPid, chain), first);
  collector_.end_burst();
  const uint32_t second = collector_.stack_of(kPid, chain);
  collector_.end_burst();
  proc_.gone(kPid);
  const uint32_t third = collector_.stack_of(kPid, chain);
  const traces::BurstStacks stacks = collector_.take();
  EXPECT_EQ(names(stacks, first), Names{"job+0x3100"});
  EXPECT_EQ(names(stacks, second), Names{"other+0x100"});
  EXPECT_EQ(names(stacks, third), Names{"[unknown]"});
}

TEST_F(StackCollectorTest, HidesTheKernelInOneFrame) {
  StackCollector hidden(files_, images_, nullptr, 100);
  const uint32_t stack =
      hidden.stack_of(kPid, std::vector<uint64_t>{PERF_CONTEXT_KERNEL, kKernel + 0x1010, kKernel + 0x20,
                                                  PERF_CONTEXT_USER, 0x1100});
  EXPECT_EQ(names(hidden.take(), stack), (Names{"[kernel]", "job+0x3100"}));
}

TEST_F(StackCollectorTest, HasNoStackWhereThereIsNoRoom) {
  StackCollector small(files_, images_, &kernel_, 2);
  EXPECT_EQ(small.stack_of(kPid, {}), 0U);
  EXPECT_EQ(small.stack_of(kPid, std::vector<uint64_t>{PERF_CONTEXT_USER, 0x1300, 0x1101}), 2U);
  EXPECT_EQ(small.stack_of(kPid, std::vector<uint64_t>{PERF_CONTEXT_USER, 0x1400, 0x1101}), 0U);
  EXPECT_EQ(small.stack_of(kPid, std::vector<uint64_t>{PERF_CONTEXT_USER, 0x1300, 0x1101}), 2U);
  EXPECT_EQ(small.take().nodes.size(), 2U);
}

}  // namespace
}  // namespace plimsoll::bursts
