#include "capture/profile/sample_assembly.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/capture/profile/profile_text.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kKernel = 0xffffffff81000000;
constexpr uint64_t kModule = 0xffffffffc0000000;

// PID 7 has at 0x10000 a binary whose segments are known (file offset 0x1000 = ELF address 0x401000), at 0x20000 one
// out of reach, and at 0x30000 code that it made itself.
class SampleAssemblyTest : public ::testing::Test {
 protected:
  SampleAssemblyTest() {
    proc_.process(7, {.comm = "job", .executable = "/bin/job", .cgroup = "", .maps = ""});
    auto& mappings = *processes_.find(7).mappings;
    mappings.add({0x10000, 0x11000, 0x1000, &known_});
    mappings.add({0x20000, 0x21000, 0x3000, &out_of_reach_});
    mappings.add({0x30000, 0x31000, 0, nullptr});
    proc_.process(2,
                  {.comm = "kthreadd", .executable = "", .cgroup = "", .maps = "", .is_kernel_thread = true});
  }

  // What becomes of one sample with this call chain.
  wire::RawProfile profile_of(std::vector<uint64_t> callchain, uint32_t pid = 7) {
    return profile_of_sample({.event_id = 100,
                              .ip = callchain.size() < 2 ? 0 : callchain[1],
                              .pid = pid,
                              .tid = pid,
                              .callchain = std::move(callchain)});
  }
  wire::RawProfile profile_of_sample(perf::SampleRecord sample) {
    ProfileBuilder builder;
    SampleAssembly assembly(processes_, kernel_, user_stacks_, builder, event_of);
    assembly.apply({1, std::move(sample)});
    wire::RawProfile profile = finished(builder);
    const auto valid = wire::validate(profile);
    EXPECT_TRUE(valid.has_value()) << valid.error().text();
    return profile;
  }

  static int event_of(uint64_t id) { return id == 100 ? 0 : id == 101 ? 1 : -1; }

  identity::FakeProc proc_;
  identity::ProcFs files_{proc_.root(), identity::standing_clocks()};
  const identity::LiveImages images_{files_};
  identity::BinaryTable binaries_{images_};
  identity::ProcessTable processes_{files_, binaries_, {}};
  const identity::BinaryInfo known_{
      wire::GNU_BUILD_ID, "id", "/bin/job", {{PT_LOAD, true, 0x1000, 0x800, 0x401000, 0x800}}};
  const identity::BinaryInfo out_of_reach_{wire::GNU_BUILD_ID, "other", "/lib/gone.so", {}};
  const identity::KernelMap map_ = *identity::KernelMap::parse(
      "ffffffff81000000 T _text\nffffffff81003000 T _etext\nffffffffc0000100 t open\t[fs]\n"
      "ffffffffc0010000 t bpf_prog_1\t[bpf]\n",
      "fs 4096 1 - Live 0xffffffffc0000000\n", "k", {});
  const identity::KernelMap* kernel_ = &map_;
  UserStacks* user_stacks_ = nullptr;
};

TEST_F(SampleAssemblyTest, ReturnAddressesMoveIntoTheirCallsAndTheLeafStays) {
  const auto profile = profile_of({PERF_CONTEXT_USER, 0x10010, 0x10020, 0x10030});
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/7 elf:40102f;elf:40101f;elf:401010 1"));
  EXPECT_THAT(problem_lines(profile), IsEmpty());
}

TEST_F(SampleAssemblyTest, KernelAndUserPartsAreJoined) {
  // The first user address is where the system call was made, and no return address of a call.
  const auto profile = profile_of(
      {PERF_CONTEXT_KERNEL, kKernel + 0x100, kKernel + 0x200, PERF_CONTEXT_USER, 0x10010, 0x10020});
  EXPECT_THAT(sample_lines(profile),
              ElementsAre("cpu-clock 7/7 elf:40101f;elf:401010;kernel:1ff;kernel:100 1"));
}

TEST_F(SampleAssemblyTest, ModulesAndBpfProgramsAreToldFromTheKernel) {
  const auto profile = profile_of({PERF_CONTEXT_KERNEL, kModule + 0x10008, kModule + 0x108, kKernel + 0x200,
                                   kKernel + 0x9000000, PERF_CONTEXT_USER, 0x10010});
  EXPECT_THAT(sample_lines(profile),
              ElementsAre("cpu-clock 7/7 elf:401010;unresolved:0;kernel:1ff;module:107;bpf:bpf_prog_1 1"));
}

TEST_F(SampleAssemblyTest, CodeThatAProcessMadeItselfKeepsItsAddress) {
  EXPECT_THAT(sample_lines(profile_of({PERF_CONTEXT_USER, 0x30010, 0x10020})),
              ElementsAre("cpu-clock 7/7 elf:40101f;jit:30010 1"));
}

TEST_F(SampleAssemblyTest, ABinaryOutOfReachIsToldByFileOffset) {
  EXPECT_THAT(sample_lines(profile_of({PERF_CONTEXT_USER, 0x20010, 0x10900})),
              ElementsAre("cpu-clock 7/7 elf_file_offset:18ff;elf_file_offset:3010 1"))
      << "the second one lies behind its binary's only segment";
}

TEST_F(SampleAssemblyTest, AnAddressOutsideMappingsEndsTheStackAndIsCounted) {
  const auto profile = profile_of({PERF_CONTEXT_USER, 0x10010, 0x99999, 0x10020});
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/7 unfinished:1;elf:401010 1"));
  EXPECT_THAT(problem_lines(profile), ElementsAre("NOT_IN_A_MAPPING 1"));
  EXPECT_THAT(sample_lines(profile_of({PERF_CONTEXT_USER, 0x99999})),
              ElementsAre("cpu-clock 7/7 unfinished:1 1"));
  EXPECT_THAT(sample_lines(profile_of({PERF_CONTEXT_USER, 0x10010, 0})),
              ElementsAre("cpu-clock 7/7 unfinished:1;elf:401010 1"));
}

TEST_F(SampleAssemblyTest, AMissingUserPartIsCountedButForThreadsOfTheKernel) {
  EXPECT_THAT(problem_lines(profile_of({PERF_CONTEXT_KERNEL, kKernel + 1})), ElementsAre("NO_USER_STACK 1"));
  EXPECT_THAT(problem_lines(profile_of({})), ElementsAre("NO_USER_STACK 1"));
  EXPECT_THAT(problem_lines(profile_of({PERF_CONTEXT_KERNEL, kKernel + 1}, 2)), IsEmpty());
  EXPECT_THAT(problem_lines(profile_of({PERF_CONTEXT_KERNEL, kKernel + 1}, 0)), IsEmpty());
}

TEST_F(SampleAssemblyTest, AHiddenKernelLeavesFramesWithoutAPlace) {
  kernel_ = nullptr;
  const auto profile = profile_of({PERF_CONTEXT_KERNEL, kKernel + 0x100, PERF_CONTEXT_USER, 0x10010});
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/7 elf:401010;unresolved:0 1"));
  EXPECT_THAT(problem_lines(profile), ElementsAre("KERNEL_HIDDEN 1"));
  EXPECT_THAT(problem_lines(profile_of({PERF_CONTEXT_USER, 0x10010})), IsEmpty());
}

TEST_F(SampleAssemblyTest, AStackAsDeepAsTheKernelRecordsIsCounted) {
  std::vector<uint64_t> callchain(5000, 0x10010);
  callchain[0] = PERF_CONTEXT_USER;
  EXPECT_THAT(problem_lines(profile_of(callchain)), ElementsAre("TOO_DEEP 1"));
}

// "0x401000 -> 0x401010 3" of each pair of a table, in its order.
std::vector<std::string> pair_lines(const wire::RawProfile& profile, std::string_view event) {
  std::vector<std::string> lines;
  for (const wire::BranchTable& table : profile.branches()) {
    for (int row = 0;
         row < table.hits_size() && profile.events(static_cast<int>(table.event())).name() == event; ++row) {
      lines.push_back(fmt::format("{} -> {} {}", location_text(profile, table.from_location(row)),
                                  location_text(profile, table.to_location(row)), table.hits(row)));
    }
  }
  return lines;
}

// Newest first: a loop of 0x401010 to 0x401020 ran twice, entered from 0x401000.
TEST_F(SampleAssemblyTest, BranchesOfASampleAndTheCodeBetweenThemAreCounted) {
  perf::SampleRecord sample{.event_id = 101, .ip = 0x10024, .pid = 7, .tid = 7};
  sample.is_bare = true;
  sample.branches = {{0x10020, 0x10010, true}, {0x10020, 0x10010, false}, {0x10000, 0x10010, false}};
  const auto profile = profile_of_sample(sample);
  EXPECT_THAT(pair_lines(profile, "branch-records"),
              UnorderedElementsAre("elf:401000 -> elf:401010 1", "elf:401020 -> elf:401010 2"));
  EXPECT_THAT(pair_lines(profile, "branch-ranges"), ElementsAre("elf:401010 -> elf:401020 2"));
  EXPECT_THAT(sample_lines(profile), ElementsAre("page-faults 7/7 unfinished:c;elf:401024 1"));
  const auto event = std::ranges::find(profile.events(), "branch-mispredictions", &wire::Event::name);
  ASSERT_NE(event, profile.events().end());
  EXPECT_EQ(event->hits(), 1);
}

// Samples that bring registers and a part of the stack, taken in code that keeps frame pointers.
class UnwoundSamples : public SampleAssemblyTest {
 protected:
  UnwoundSamples() { user_stacks_ = &unwinder_; }

  // The stack begins at 0x7000; its words.
  wire::RawProfile unwound(uint64_t rip, uint64_t rbp, const std::vector<uint64_t>& words,
                           std::vector<uint64_t> callchain = {}, uint64_t abi = PERF_SAMPLE_REGS_ABI_64) {
    perf::SampleRecord sample{
        .event_id = 100, .ip = rip, .pid = 7, .tid = 7, .callchain = std::move(callchain)};
    sample.user_abi = abi;
    sample.user_registers[6] = rbp;  // in the order of enum perf_event_x86_regs
    sample.user_registers[7] = 0x7000;
    sample.user_registers[8] = rip;
    sample.user_stack = std::as_bytes(std::span(words));
    sample.user_stack_is_cut = words.size() >= 8;
    return profile_of_sample(sample);
  }

  UserStacks unwinder_{images_};
};

TEST_F(UnwoundSamples, StandUnderTheirKernelPart) {
  const auto profile = unwound(0x30010, 0x7000, {0x7010, 0x30021, 0x7020, 0x30031, 0, 0},
                               {PERF_CONTEXT_KERNEL, kKernel + 0x100, PERF_CONTEXT_USER, 0x30010, 0x99999});
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/7 jit:30030;jit:30020;jit:30010;kernel:100 1"));
  EXPECT_THAT(problem_lines(profile), IsEmpty());
}

TEST_F(UnwoundSamples, AreMarkedAndCountedWhereTheyEndTooSoon) {
  const auto cut = unwound(0x30010, 0x7100, {0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(sample_lines(cut), ElementsAre("cpu-clock 7/7 unfinished:6;jit:30010 1"));
  EXPECT_THAT(problem_lines(cut), ElementsAre("TRUNCATED_STACK_COPY 1"));
  EXPECT_THAT(problem_lines(unwound(0x30010, 0x7100, {0, 0})), ElementsAre("OUTSIDE_STACK 1"));
  EXPECT_THAT(problem_lines(unwound(0x99999, 0x7000, {0, 0})), ElementsAre("NOT_IN_A_MAPPING 1"));
  EXPECT_THAT(problem_lines(unwound(0x99999, 0x7000, {})), ElementsAre("NO_USER_STACK 1"));
  EXPECT_THAT(problem_lines(unwound(0x10010, 0x7000, {0, 0})), ElementsAre("BINARY_OUT_OF_REACH 1"));
  EXPECT_THAT(problem_lines(unwound(0x30010, 0, {}, {}, PERF_SAMPLE_REGS_ABI_32)),
              ElementsAre("UNSUPPORTED_ABI 1"));
}

// Samples without call chain, registers and stack.
class BareSamples : public UnwoundSamples {
 protected:
  wire::RawProfile bare(uint64_t ip, uint32_t pid = 7) {
    return profile_of_sample(
        {.event_id = 100, .ip = ip, .pid = pid, .tid = pid, .is_bare = true, .callchain = {}});
  }
};

TEST_F(BareSamples, HaveTheirLeafAndSayThatTheRestWasNotTaken) {
  const auto profile = bare(0x10010);
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/7 unfinished:c;elf:401010 1"));
  EXPECT_THAT(problem_lines(profile), ElementsAre("STACK_NOT_TAKEN 1"));
  EXPECT_THAT(sample_lines(bare(0x30010)), ElementsAre("cpu-clock 7/7 unfinished:c;jit:30010 1"));
  EXPECT_THAT(sample_lines(bare(0x99999)), ElementsAre("cpu-clock 7/7 unfinished:c;unresolved:0 1"));
}

TEST_F(BareSamples, InTheKernelHaveItsLeafAlone) {
  EXPECT_THAT(sample_lines(bare(kKernel + 0x100)), ElementsAre("cpu-clock 7/7 unfinished:c;kernel:100 1"));
  EXPECT_THAT(sample_lines(bare(kModule + 0x108, 2)), ElementsAre("cpu-clock 2/2 unfinished:c;module:108 1"));
  kernel_ = nullptr;
  const auto hidden = bare(kKernel + 0x100);
  EXPECT_THAT(sample_lines(hidden), ElementsAre("cpu-clock 7/7 unfinished:c;unresolved:0 1"));
  EXPECT_THAT(problem_lines(hidden), ElementsAre("KERNEL_HIDDEN 1", "STACK_NOT_TAKEN 1"));
}

TEST_F(BareSamples, AreHitsOfTheEventThatOthersHaveStacksOf) {
  ProfileBuilder builder;
  SampleAssembly assembly(processes_, kernel_, nullptr, builder, event_of);
  assembly.apply({1, perf::SampleRecord{.event_id = 100,
                                        .ip = 0x10010,
                                        .pid = 7,
                                        .tid = 7,
                                        .callchain = {PERF_CONTEXT_USER, 0x10010, 0x10020}}});
  for (int64_t time_ns = 2; time_ns <= 4; ++time_ns) {
    assembly.apply(
        {time_ns, perf::SampleRecord{.event_id = 100, .ip = 0x10010, .pid = 7, .tid = 7, .is_bare = true}});
  }
  const auto profile = finished(builder);
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/7 elf:40101f;elf:401010 1",
                                                 "cpu-clock 7/7 unfinished:c;elf:401010 3"));
  EXPECT_EQ(profile.events(0).hits(), 4);
}

TEST_F(SampleAssemblyTest, SamplesOfOtherEventsAreLeftOut) {
  EXPECT_THAT(sample_lines(profile_of_sample({.event_id = 5, .ip = 0, .pid = 7, .tid = 7, .callchain = {}})),
              IsEmpty());
  EXPECT_THAT(
      sample_lines(profile_of_sample({.event_id = 101, .ip = 0, .pid = 7, .tid = 7, .callchain = {}})),
      ElementsAre("page-faults 7/7 unfinished:3 1"));
}

TEST_F(SampleAssemblyTest, ASampleBelongsToTheProgramOfItsTime) {
  ProfileBuilder builder;
  SampleAssembly assembly(processes_, kernel_, user_stacks_, builder, event_of);
  const perf::SampleRecord sample{
      .event_id = 100, .ip = 0x10010, .pid = 7, .tid = 7, .callchain = {PERF_CONTEXT_USER, 0x10010}};
  assembly.apply({1, sample});
  assembly.apply({2, perf::CommRecord{7, 7, "next", true}});
  assembly.apply({3, sample});
  assembly.apply({4, perf::ThrottleRecord{101}});
  assembly.apply({4, perf::ThrottleRecord{5}});
  const auto profile = finished(builder);
  EXPECT_THAT(sample_lines(profile),
              ElementsAre("cpu-clock 7/7 elf:401010 1", "cpu-clock 7/7 unfinished:1 1"));
  ASSERT_EQ(profile.processes_size(), 2);
  EXPECT_EQ(profile.processes(0).comm(), "job");
  EXPECT_EQ(profile.processes(1).comm(), "next");
  EXPECT_EQ(profile.events(0).throttles(), 0);
  EXPECT_EQ(profile.events(1).throttles(), 1);
}

}  // namespace
}  // namespace plimsoll
