// Where samples of a recording were taken: processes, binaries, kernels, stacks, branches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/formats/perf_data/imported.h"

namespace plimsoll::perf_data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kKernel = 0xffffffff81000000;
constexpr uint32_t kNoPid = UINT32_MAX;

std::string words(const std::vector<uint64_t>& values) {
  std::string bytes;
  for (const uint64_t value : values) {
    bytes += bytes_of(value);
  }
  return bytes;
}

std::string kernel_mmap(uint64_t start, uint64_t size, uint64_t symbol, std::string_view path) {
  return mmap(kNoPid, start, size, symbol, path, 0, PERF_RECORD_MISC_KERNEL);
}

TEST(RecordedStacks, CallChainsBecomeStacks) {
  const auto imported =
      import_of(cycles_recording(PERF_SAMPLE_CALLCHAIN)
                    .records(process_of_samples())
                    .records(sample(
                        {}, words({4, static_cast<uint64_t>(PERF_CONTEXT_USER), 0x10010, 0x10020, 0x10030})))
                    .file());
  EXPECT_THAT(sample_lines(imported.profile),
              ElementsAre("cycles 7/7 elf_file_offset:102f;elf_file_offset:101f;elf_file_offset:1010 1"));
}

TEST(RecordedStacks, WithoutCallChainsThereIsTheLeaf) {
  const auto imported = import_of(
      cycles_recording()
          .records(process_of_samples() + kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
          .records(sample({}))
          .records(sample({.ip = kKernel + 0x123, .misc = PERF_RECORD_MISC_KERNEL}))
          .file());
  EXPECT_THAT(sample_lines(imported.profile),
              ElementsAre("cycles 7/7 elf_file_offset:1010 1", "cycles 7/7 kernel:123 1"));
  EXPECT_THAT(problem_lines(imported.profile), IsEmpty());
}

TEST(RecordedStacks, KernelAddressesAreOffsetsFromItsText) {
  const auto place_of = [](uint64_t start, uint64_t size, uint64_t symbol, std::string_view path) {
    const auto imported =
        import_of(cycles_recording()
                      .records(kernel_mmap(start, size, symbol, path))
                      .records(sample({.ip = kKernel + 0x1234, .misc = PERF_RECORD_MISC_KERNEL}))
                      .file());
    return sample_lines(imported.profile);
  };
  EXPECT_THAT(place_of(kKernel, 0x100000, kKernel, "[kernel.kallsyms]_text"),
              ElementsAre("cycles 7/7 kernel:1234 1"));
  // The symbol lies behind _text, in its page; older versions of perf let the kernel reach over everything.
  EXPECT_THAT(place_of(0, UINT64_MAX, kKernel + 0x198, "[kernel.kallsyms]_stext"),
              ElementsAre("cycles 7/7 kernel:1234 1"));
  EXPECT_THAT(place_of(kKernel, 0x1000, kKernel, "[kernel.kallsyms]_text"),
              ElementsAre("cycles 7/7 unresolved:0 1"));
}

TEST(RecordedStacks, ModulesAndBpfProgramsAreToldFromTheKernel) {
  const uint64_t module = 0xffffffffa0000000;
  const auto symbol = [](uint64_t start, uint16_t flags, uint64_t time_ns) {
    RecordBytes record(PERF_RECORD_KSYMBOL, 0);
    const uint32_t size_and_kind[] = {0x100, static_cast<uint32_t>(flags << 16U | 1)};
    return ended(record.u64(start).u32(size_and_kind[0]).u32(size_and_kind[1]).text("bpf_prog_1"), time_ns);
  };
  const auto in_kernel = [](uint64_t ip, uint64_t time_ns) {
    return sample({.ip = ip, .time_ns = time_ns, .misc = PERF_RECORD_MISC_KERNEL});
  };
  const auto imported =
      import_of(cycles_recording()
                    .build_id("[kernel.kallsyms]", "kernel's ID", true)
                    .build_id("/lib/modules/6.1/kernel/fs/my-fs.ko", "module's ID", true)
                    .records(kernel_mmap(kKernel, UINT64_MAX, kKernel, "[kernel.kallsyms]_text"))
                    .records(kernel_mmap(module, 0x1000, 0, "/lib/modules/6.1/kernel/fs/my-fs.ko"))
                    .records(symbol(module + 0x2000, 0, 1))
                    .records(in_kernel(module + 0x10, 2) + in_kernel(kKernel + 0x20, 2))
                    .records(in_kernel(module + 0x2010, 2) + symbol(module + 0x2000, 1, 3))
                    .records(in_kernel(module + 0x2010, 4))
                    .file());
  EXPECT_THAT(sample_lines(imported.profile),
              ElementsAre("cycles 7/7 bpf:bpf_prog_1 1", "cycles 7/7 kernel:1f002010 1",
                          "cycles 7/7 kernel:20 1", "cycles 7/7 module:10 1"));
  EXPECT_THAT(binary_lines(imported.profile), ElementsAre("module's ID my_fs", "kernel's ID [kernel]"));
  EXPECT_EQ(imported.profile.machine().kernel_build_id(), "kernel's ID");
}

TEST(RecordedStacks, MappingsBringBuildIdsOfTheirOwn) {
  constexpr uint16_t kWithBuildId = 1U << 14U;
  const auto mmap2 = [](uint16_t misc, std::string_view identity, uint32_t protection) {
    RecordBytes record(PERF_RECORD_MMAP2, static_cast<uint16_t>(misc | PERF_RECORD_MISC_USER));
    record.u32(7)
        .u32(7)
        .u64(0x10000)
        .u64(0x1000)
        .u64(0)
        .raw(identity)
        .u32(protection)
        .u32(0)
        .text("/bin/job");
    return ended(record);
  };
  std::string identity = std::string("\x04\0\0\0ABCD", 8);
  identity.resize(24);
  EXPECT_THAT(
      binary_lines(import_of(cycles_recording().records(mmap2(kWithBuildId, identity, 5) + sample({})).file())
                       .profile),
      ElementsAre("ABCD /bin/job"));
  const auto data_only =
      import_of(cycles_recording().records(mmap2(kWithBuildId, identity, 1) + sample({})).file());
  EXPECT_THAT(sample_lines(data_only.profile), ElementsAre("cycles 7/7 unfinished:1 1"))
      << "no code is there";
}

// A linker that was told to write zeros: such an ID tells no builds apart.
TEST(RecordedStacks, BuildIdsOfZerosAreNone) {
  const auto mapped = [](uint64_t start, const char* path) {
    RecordBytes record(PERF_RECORD_MMAP2, 1U << 14U | PERF_RECORD_MISC_USER);
    std::string identity(24, '\0');
    identity[0] = 20;
    record.u32(7).u32(7).u64(start).u64(0x1000).u64(0).raw(identity).u32(5).u32(0);
    return ended(record.text(path));
  };
  const auto imported = import_of(cycles_recording()
                                      .records(mapped(0x10000, "/bin/a") + mapped(0x20000, "/bin/b"))
                                      .records(sample({.ip = 0x10010}) + sample({.ip = 0x20010}))
                                      .file());
  EXPECT_THAT(binary_lines(imported.profile), ElementsAre(" /bin/a", " /bin/b"));
}

// As Linux 3.12 to 3.15 and RHEL 7 wrote them: the name in place of protection and flags.
TEST(RecordedStacks, MappingsOfOldKernelsHaveNoProtection) {
  for (const std::string path : {"/usr/bin/job", "/a", "[stack]", "//anon"}) {
    RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    record.u32(7).u32(7).u64(0x10000).u64(0x1000).u64(0).u32(8).u32(1).u64(100).u64(0);
    const auto imported =
        import_of(cycles_recording().records(ended(record.text(path)) + sample({.ip = 0x10010})).file());
    const bool is_file = path.starts_with('/') && path[1] != '/';
    EXPECT_EQ(imported.profile.processes(0).executable(), is_file ? path : "");
    EXPECT_EQ(imported.profile.events(0).hits(), 1) << path;
  }
}

// A program that was built again during the recording.
TEST(RecordedStacks, TwoFilesOfOnePathAreToldByDeviceAndInode) {
  const auto mapped = [](uint64_t start, uint64_t inode) {
    RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    record.u32(7).u32(7).u64(start).u64(0x1000).u64(0).u32(8).u32(1).u64(inode).u64(0).u32(5).u32(0);
    return ended(record.text("/bin/job"));
  };
  const auto imported = import_of(cycles_recording()
                                      .build_id("/bin/job", "of the first")
                                      .build_id("/bin/job", "of the second")
                                      .build_id("/bin/job", "of the third")
                                      .records(mapped(0x10000, 100) + mapped(0x20000, 200))
                                      .records(sample({.ip = 0x10010}) + sample({.ip = 0x20010}))
                                      .file());
  EXPECT_THAT(binary_lines(imported.profile), ElementsAre(" /bin/job", " /bin/job"));
  EXPECT_THAT(imported.profile.notes(),
              ElementsAre("1 files have several build IDs in the recording, so that none is used"));
}

TEST(RecordedStacks, KernelsWithTwoBuildIdsHaveNone) {
  const auto imported =
      import_of(cycles_recording()
                    .build_id("[kernel.kallsyms]", "kernel's ID", true)
                    .build_id("[kernel.kallsyms]", "another's", true)
                    .records(kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
                    .records(sample({}))
                    .file());
  EXPECT_EQ(imported.profile.machine().kernel_build_id(), "");
  EXPECT_EQ(imported.profile.notes_size(), 1);
}

TEST(RecordedStacks, KernelsAreKnownByTheFileOfTheirSymbolsToo) {
  for (const char* const path : {"/usr/lib/debug/boot/vmlinux-6.1.0", "[kernel.vmlinux]", "/proc/kcore"}) {
    const auto imported =
        import_of(cycles_recording()
                      .build_id(path, "kernel's ID", true)
                      .records(kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
                      .records(sample({}))
                      .file());
    EXPECT_EQ(imported.profile.machine().kernel_build_id(), "kernel's ID") << path;
  }
}

TEST(RecordedStacks, PaddingOfBuildIdsIsNoPartOfThem) {
  const auto id_of = [](const std::string& padded) {
    return binary_lines(import_of(cycles_recording()
                                      .padded_build_id("/bin/job", padded)
                                      .records(process_of_samples() + sample({}))
                                      .file())
                            .profile);
  };
  EXPECT_THAT(id_of("twenty bytes, of all"), ElementsAre("twenty bytes, of all /bin/job"));
  EXPECT_THAT(id_of("sixteen of bytes"), ElementsAre("sixteen of bytes /bin/job"));
  EXPECT_THAT(id_of(std::string("ends in zero\0\0\0", 15)), ElementsAre("ends in zero /bin/job"));
  EXPECT_THAT(id_of("7 bytes"), ElementsAre(std::string("7 bytes\0 /bin/job", 17)));
  EXPECT_THAT(id_of(std::string(20, '\0')), ElementsAre(" /bin/job"));
}

TEST(RecordedStacks, AnotherMachinesVdsoIsNotOurs) {
  const auto imported = import_of(cycles_recording()
                                      .build_id("[vdso]", "another's")
                                      .records(mmap(7, 0x10000, 0x1000, 0, "[vdso]") + sample({}))
                                      .file());
  EXPECT_THAT(binary_lines(imported.profile), ElementsAre("another's [vdso]"));
  EXPECT_THAT(sample_lines(imported.profile), ElementsAre("cycles 7/7 elf_file_offset:10 1"));
}

TEST(RecordedProcesses, RunWhatTheyMappedFirst) {
  // 7 was there before, 8 is its child and runs another program later, 9 is another child.
  const auto imported =
      import_of(cycles_recording()
                    .records(fork(7, 1) + process_of_samples() + mmap(7, 0x30000, 0x1000, 0, "/lib/libc.so"))
                    .records(fork(8, 7, 100) + fork(9, 7, 110) + comm(8, "other", 200, true) +
                             mmap(8, 0x10000, 0x1000, 0, "/bin/other", 210))
                    .records(sample({.time_ns = 150, .pid = 8, .tid = 8}) +
                             sample({.time_ns = 300, .pid = 8, .tid = 8}))
                    .records(sample({.time_ns = 300, .pid = 9, .tid = 9}) + sample({.time_ns = 300}))
                    .file());
  EXPECT_THAT(process_lines(imported.profile),
              ElementsAre("8 job /bin/job", "8 other /bin/other", "9 job /bin/job", "7 job /bin/job"));
}

TEST(RecordedProcesses, RanAnotherProgramIfTheyMappedAFileOfTheirNewName) {
  perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  attr.comm_exec = 0;  // before Linux 3.16
  const auto imported =
      import_of(Recording()
                    .event(attr, {1}, "cycles")
                    .records(process_of_samples() + fork(8, 7, 100) + comm(8, "a-very-long-nam", 200))
                    .records(mmap(8, 0x20000, 0x1000, 0, "/bin/a-very-long-name", 201))
                    .records(comm(7, "renamed", 200) + mmap(7, 0x20000, 0x1000, 0, "/lib/plugin.so", 202))
                    .records(sample({.ip = 0x20010, .time_ns = 300, .pid = 8, .tid = 8}))
                    .records(sample({.ip = 0x10010, .time_ns = 300}))
                    .file());
  EXPECT_THAT(process_lines(imported.profile),
              ElementsAre("8 a-very-long-nam /bin/a-very-long-name", "7 renamed /bin/job"));
}

TEST(RecordedProcesses, ThreadsOfTheKernelMapNothing) {
  const auto imported =
      import_of(cycles_recording()
                    .records(comm(3, "kworker/0:0") + process_of_samples())
                    .records(sample({.ip = kKernel, .pid = 3, .tid = 3, .misc = PERF_RECORD_MISC_KERNEL}))
                    .records(sample({.ip = kKernel, .misc = PERF_RECORD_MISC_KERNEL}))
                    .records(sample({.ip = kKernel, .pid = 0, .tid = 0, .misc = PERF_RECORD_MISC_KERNEL}))
                    .file());
  EXPECT_THAT(process_lines(imported.profile),
              ElementsAre("3 kworker/0:0 [kernel]", "7 job /bin/job", "0 swapper [kernel]"));
}

TEST(RecordedProcesses, ThatSamplesDoNotTellAreUnknown) {
  const SampleFields gone{.ip = kKernel, .pid = kNoPid, .tid = kNoPid, .misc = PERF_RECORD_MISC_KERNEL};
  EXPECT_THAT(process_lines(import_of(cycles_recording().records(sample(gone)).file()).profile),
              ElementsAre("4294967295 [exited] "));
  perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
  const std::string bare =
      RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL).u64(1).u64(kKernel).bytes();
  EXPECT_THAT(process_lines(import_of(Recording().event(attr, {1}, "cycles").records(bare).file()).profile),
              ElementsAre("4294967295 [exited] "));
}

TEST(RecordedProcesses, BelongToTheCgroupOfTheirSamples) {
  const std::string cgroup =
      ended(RecordBytes(PERF_RECORD_CGROUP, 0).u64(5).text("/system.slice/web.service"));
  const auto imported = import_of(cycles_recording(PERF_SAMPLE_CGROUP)
                                      .records(process_of_samples() + cgroup + sample({}, words({5})))
                                      .file());
  EXPECT_EQ(imported.profile.processes(0).cgroup(), "/system.slice/web.service");
  EXPECT_EQ(imported.profile.processes(0).job(), "web");
}

TEST(RecordedProcesses, HaveNoCgroupWhereNoneIsTold) {
  const auto imported = import_of(cycles_recording().records(process_of_samples() + sample({})).file());
  EXPECT_EQ(imported.profile.processes(0).cgroup(), "");
  EXPECT_EQ(imported.profile.processes(0).instance(), "");
}

TEST(RecordedProcesses, HaveTheJobThatWasAskedFor) {
  const auto imported =
      import_of(cycles_recording().records(process_of_samples() + sample({})).file(), {.job = "batch"});
  EXPECT_EQ(imported.profile.processes(0).job(), "batch");
}

// Registers in the order of enum perf_event_x86_regs, with flags and code segments that unwinding has no use for.
std::string user_state(uint64_t bp, uint64_t sp, uint64_t ip, const std::vector<uint64_t>& stack) {
  constexpr uint64_t kCaptured = 8;
  std::vector<uint64_t> registers(20);
  registers[6] = bp;
  registers[7] = sp;
  registers[8] = ip;
  std::string state = words({PERF_SAMPLE_REGS_ABI_64}) + words(registers);
  return state + words({stack.size() * kCaptured}) + words(stack) +
         words({stack.size() * kCaptured - kCaptured});
}

TEST(RecordedStacks, CopiesOfStacksAreUnwound) {
  perf_event_attr attr = hardware_attr(
      PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  attr.sample_regs_user = 0xff0fff;
  // Code that a process made itself keeps frame pointers.
  const std::string sample_bytes =
      sample({}, words({2, static_cast<uint64_t>(PERF_CONTEXT_KERNEL), kKernel + 0x100}) +
                     user_state(0x7000, 0x7000, 0x10010, {0x7010, 0x10021, 0, 0x10031, 0, 0, 0, 0, 0}));
  const auto stacks_on = [&](std::string_view architecture) {
    const auto imported =
        import_of(Recording()
                      .event(attr, {1}, "cycles")
                      .text_feature(6, architecture)
                      .records(kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
                      .records(mmap(7, 0x10000, 0x1000, 0, "//anon") + sample_bytes)
                      .file());
    return sample_lines(imported.profile);
  };
  EXPECT_THAT(stacks_on("x86_64"),
              ElementsAre("cycles 7/7 unfinished:7;jit:10030;jit:10020;jit:10010;kernel:100 1"));
  EXPECT_THAT(stacks_on("aarch64"), ElementsAre("cycles 7/7 unfinished:3;kernel:100 1"));
}

// A process of 32 bits, or a machine that is not unwound: the kernel was asked for no user frames, and where the thread was
// stands in the sample alone.
TEST(RecordedStacks, WithoutAnyFrameInTheCallChainThereIsTheLeaf) {
  perf_event_attr attr = hardware_attr(
      PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  attr.sample_regs_user = 0xff0fff;
  const auto import_with = [&](uint64_t abi, std::string_view architecture, const SampleFields& fields) {
    const std::string registers = abi == PERF_SAMPLE_REGS_ABI_NONE ? "" : words(std::vector<uint64_t>(20));
    return import_of(Recording()
                         .event(attr, {1}, "cycles")
                         .text_feature(6, architecture)
                         .records(process_of_samples())
                         .records(kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
                         .records(sample(fields, words({1, static_cast<uint64_t>(PERF_CONTEXT_USER), abi}) +
                                                     registers + words({0})))
                         .file())
        .profile;
  };
  const auto of_32_bits = import_with(PERF_SAMPLE_REGS_ABI_32, "x86_64", {});
  EXPECT_THAT(sample_lines(of_32_bits), ElementsAre("cycles 7/7 unfinished:b;elf_file_offset:1010 1"));
  const auto of_another_machine = import_with(PERF_SAMPLE_REGS_ABI_64, "aarch64", {});
  EXPECT_THAT(sample_lines(of_another_machine), ElementsAre("cycles 7/7 elf_file_offset:1010 1"));
  EXPECT_THAT(problem_lines(of_another_machine), ElementsAre("NO_USER_STACK 1"));
  const auto in_kernel = import_with(PERF_SAMPLE_REGS_ABI_NONE, "x86_64",
                                     {.ip = kKernel + 0x10, .misc = PERF_RECORD_MISC_KERNEL});
  EXPECT_THAT(sample_lines(in_kernel), ElementsAre("cycles 7/7 unfinished:3;kernel:10 1"));
}

// The chain begins where the interrupt came, which is behind the instruction that caused a precise event.
TEST(RecordedStacks, OfPreciseEventsBeginWhereTheSampleSays) {
  constexpr uint16_t kPrecise = PERF_RECORD_MISC_EXACT_IP;
  const auto user = static_cast<uint64_t>(PERF_CONTEXT_USER);
  const auto kernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
  const auto stack_of = [&](const SampleFields& fields) {
    const auto imported =
        import_of(cycles_recording(PERF_SAMPLE_CALLCHAIN)
                      .records(process_of_samples())
                      .records(kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
                      .records(sample(fields, words({4, kernel, kKernel + 0x20, user, 0x10020})))
                      .file());
    return sample_lines(imported.profile);
  };
  EXPECT_THAT(stack_of({.ip = kKernel + 0x1f, .misc = kPrecise | PERF_RECORD_MISC_KERNEL}),
              ElementsAre("cycles 7/7 elf_file_offset:1020;kernel:1f 1"));
  EXPECT_THAT(stack_of({.ip = 0x1001f, .misc = kPrecise | PERF_RECORD_MISC_USER}),
              ElementsAre("cycles 7/7 elf_file_offset:101f;kernel:20 1"));
  EXPECT_THAT(stack_of({.ip = 0x1001f, .misc = PERF_RECORD_MISC_USER}),
              ElementsAre("cycles 7/7 elf_file_offset:1020;kernel:20 1"));
}

TEST(RecordedStacks, OfAnUnknownModeAreTheKernelsByTheirAddress) {
  const auto imported = import_of(
      cycles_recording()
          .records(process_of_samples() + kernel_mmap(kKernel, 0x3000, kKernel, "[kernel.kallsyms]_text"))
          .records(sample({.ip = kKernel + 0x10, .misc = 0}) + sample({.misc = 0}))
          .file());
  EXPECT_THAT(sample_lines(imported.profile),
              ElementsAre("cycles 7/7 elf_file_offset:1010 1", "cycles 7/7 kernel:10 1"));
}

struct BranchCase {
  uint64_t kinds;
  std::string before;  // between the count and the first branch
  std::string after;
};

std::string branches(const BranchCase& layout) {
  return words({3}) + layout.before + words({0x10010, 0x10100, 1, 0x10010, 0x10100, 2, 0x10200, 0x99999, 2}) +
         layout.after;
}

TEST(RecordedBranches, BecomeAnEventOfTheirOwn) {
  for (const BranchCase& layout :
       {BranchCase{0, "", ""}, BranchCase{PERF_SAMPLE_BRANCH_HW_INDEX, words({77}), ""},
        BranchCase{PERF_SAMPLE_BRANCH_HW_INDEX | 1U << 19U, words({77}), words({1, 2, 3})}}) {
    // The weight behind them shows that all was read as it lies.
    perf_event_attr attr =
        hardware_attr(PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_CGROUP);
    attr.branch_sample_type = layout.kinds;
    const std::string cgroup = ended(RecordBytes(PERF_RECORD_CGROUP, 0).u64(5).text("/g"));
    const auto imported =
        import_of(Recording()
                      .event(attr, {1}, "cycles")
                      .records(process_of_samples() + cgroup + sample({}, branches(layout) + words({5})))
                      .file());
    EXPECT_THAT(branch_lines(imported.profile),
                ElementsAre("7 elf_file_offset:1010 -> elf_file_offset:1100 2 (1)",
                            "7 elf_file_offset:1200 -> unresolved:0 1 (0)"));
    const wire::Event& event = imported.profile.events(1);
    EXPECT_EQ(event.name(), "branch-records");
    EXPECT_EQ(event.hits(), 3);
    EXPECT_EQ(event.counter_total(), 3);
    EXPECT_EQ(imported.profile.processes(0).cgroup(), "/g");
    EXPECT_EQ(imported.events.size(), 1);
  }
}

TEST(RecordedBranches, SayWhatRanBetweenThemWhereTheyAreAll) {
  const auto lines_of = [](uint64_t kinds) {
    perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_BRANCH_STACK);
    attr.branch_sample_type = kinds;
    // The newest first: 1020 -> 1100 was taken last, after the code from 1010 up to it.
    const std::string branches = words({3, 0x10020, 0x10100, 0, 0x10030, 0x10010, 0, 0x10040, 0x10028, 0});
    const auto imported =
        import_of(Recording()
                      .event(attr, {1}, "cycles")
                      .records(process_of_samples() + sample({}, branches) + sample({}, branches))
                      .file());
    EXPECT_TRUE(wire::validate(imported.profile));
    return range_lines(imported.profile);
  };
  EXPECT_THAT(lines_of(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER),
              ElementsAre("7 elf_file_offset:1010 .. elf_file_offset:1020 2",
                          "7 elf_file_offset:1028 .. elf_file_offset:1030 2"));
  EXPECT_THAT(lines_of(PERF_SAMPLE_BRANCH_ANY_RETURN), IsEmpty());
}

TEST(RecordedBranches, ThatFollowCallsAndReturnsAreTheStack) {
  perf_event_attr attr =
      hardware_attr(PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK);
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK;
  const std::string chain = words({2, static_cast<uint64_t>(PERF_CONTEXT_USER), 0x10110});
  const std::string calls = words({2, 0x10020, 0x10100, 0, 0x10030, 0x10015, 0});
  const auto imported = import_of(Recording()
                                      .event(attr, {1}, "cycles")
                                      .records(process_of_samples() + sample({}, chain + calls))
                                      .file());
  EXPECT_THAT(sample_lines(imported.profile),
              ElementsAre("cycles 7/7 elf_file_offset:1030;elf_file_offset:1020;elf_file_offset:1110 1"));
  EXPECT_THAT(branch_lines(imported.profile), IsEmpty());
}

// Every field that a sample can have, in the kernel's order; the last one is read where it lies.
TEST(RecordedSamples, AreReadWhateverFieldsTheyHave) {
  perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_type = PERF_SAMPLE_MAX - 1;
  attr.sample_type &= ~uint64_t{PERF_SAMPLE_WEIGHT_STRUCT};
  attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
  attr.sample_regs_intr = 7;
  attr.sample_regs_user = 1;
  const std::string before =
      words({1, 0x10010, uint64_t{7} << 32U | 7, 1000, 0xadd4, 1, 22, 3, 1000});  // up to the period
  const std::string rest = words({500, 1, 0}) +                                   // READ: value, ID, lost
                           words({2, static_cast<uint64_t>(PERF_CONTEXT_USER), 0x10010}) +  // CALLCHAIN
                           bytes_of(uint32_t{12}) + std::string(12, 'r') +                  // RAW
                           words({1, 0x10010, 0x10020, 0}) +                                // BRANCH_STACK
                           words({PERF_SAMPLE_REGS_ABI_64, 5}) +                            // REGS_USER
                           words({8, 0, 8}) +                                               // STACK_USER
                           words({9, 10, 11}) +                         // WEIGHT, DATA_SRC, TRANSACTION
                           words({PERF_SAMPLE_REGS_ABI_64, 1, 2, 3}) +  // REGS_INTR
                           words({12, 5, 13, 14}) +                     // PHYS_ADDR, CGROUP, page sizes
                           words({16, 0, 0});                           // AUX
  const std::string record =
      RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER).raw(before + rest).bytes();
  DecodedSample decoded;
  ASSERT_TRUE(decode_sample(as_bytes(record), attr, true, decoded));
  EXPECT_EQ(decoded.record.event_id, 1);
  EXPECT_EQ(decoded.period, 1000);
  EXPECT_EQ(decoded.readings.front().value, 500);
  EXPECT_THAT(decoded.record.callchain, ElementsAre(static_cast<uint64_t>(PERF_CONTEXT_USER), 0x10010));
  EXPECT_EQ(decoded.branches.front().to, 0x10020);
  EXPECT_EQ(decoded.record.cgroup, 5);
  for (size_t size = sizeof(perf_event_header); size < record.size(); size += 8) {
    EXPECT_FALSE(decode_sample(as_bytes(record).first(size), attr, true, decoded)) << size;
  }
}

TEST(RecordedSamples, OfVirtualMachinesHaveNeitherStackNorBranches) {
  perf_event_attr attr = hardware_attr(
      PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  attr.sample_regs_user = 0xff0fff;
  const std::string of_host =
      words({1, 0x10010, 0x10100, 0}) + user_state(0x7000, 0x7000, 0x10010, {0x7010, 1});
  const auto imported =
      import_of(Recording()
                    .event(attr, {1}, "cycles")
                    .records(process_of_samples() + sample({.misc = PERF_RECORD_MISC_GUEST_USER}, of_host))
                    .file());
  EXPECT_THAT(sample_lines(imported.profile), ElementsAre("cycles 7/7  1"));
  EXPECT_THAT(problem_lines(imported.profile), IsEmpty());
  EXPECT_THAT(branch_lines(imported.profile), IsEmpty());
  EXPECT_THAT(imported.profile.notes(),
              ElementsAre("1 samples were taken in virtual machines, and have no stack"));
}

}  // namespace
}  // namespace plimsoll::perf_data
