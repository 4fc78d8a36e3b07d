// The records of the kernel, decoded.
#include "capture/perf/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <span>

#include "tests/fuzz/mutate.h"
#include "tests/unit/capture/perf/perf_records.h"

namespace plimsoll::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

template <typename T>
T decoded(const std::string& bytes) {
  const auto record = decode_record(as_bytes(bytes));
  EXPECT_TRUE(record.has_value()) << record.error().text();
  EXPECT_TRUE(std::holds_alternative<T>(record->body));
  return std::get<T>(record->body);
}

std::string mmap_bytes(uint16_t misc, std::string_view identity, std::string_view path) {
  return RecordBytes(PERF_RECORD_MMAP2, misc)
      .u32(7)
      .u32(8)
      .u64(0x401000)
      .u64(0x2000)
      .u64(0x1000)
      .raw(identity)
      .u32(5)
      .u32(2)
      .text(path)
      .sample_id(7, 8, 123)
      .bytes();
}

const std::string kDeviceAndInode(24, '\x01');
const std::string kBuildIdOf8 = std::string("\x08\0\0\0", 4) + "12345678" + std::string(12, '\0');
constexpr uint16_t kBuildIdMisc = 1U << 14U;

std::string comm_bytes(uint16_t misc) {
  return RecordBytes(PERF_RECORD_COMM, misc).u32(7).u32(8).text("worker").sample_id(7, 8, 123).bytes();
}

std::string task_bytes(uint32_t type) {
  return RecordBytes(type, 0).u32(7).u32(6).u32(8).u32(5).u64(999).sample_id(7, 8, 123).bytes();
}

std::string throttle_bytes() {
  return RecordBytes(PERF_RECORD_THROTTLE, 0).u64(999).u64(42).u64(1).sample_id(7, 8, 123).bytes();
}

TEST(Records, SampleHasItsCallChain) {
  const std::string bytes = sample_bytes(42, 0xabc, 123, {PERF_CONTEXT_USER, 0xabc, 0xdef});
  const auto sample = decoded<SampleRecord>(bytes);
  EXPECT_EQ(sample.event_id, 42);
  EXPECT_EQ(sample.ip, 0xabc);
  EXPECT_EQ(sample.pid, 7);
  EXPECT_EQ(sample.tid, 8);
  EXPECT_THAT(sample.callchain, ElementsAre(PERF_CONTEXT_USER, 0xabc, 0xdef));
  EXPECT_EQ(decode_record(as_bytes(bytes))->time_ns, 123);
}

TEST(Records, SamplesOfBranchEventsHaveTheirBranches) {
  const BranchEvents branch_events{42};
  for (const uint64_t cgroup : {uint64_t{0}, kCgroupOfSamples}) {
    for (const size_t count : {0, 1, 2, 32}) {
      std::vector<TakenBranch> branches(count, {0x10, 0x20, 0});
      const std::string bytes = branch_sample_bytes(42, 0xabc, 123, branches, cgroup);
      const auto record = decode_record(as_bytes(bytes), &branch_events);
      ASSERT_TRUE(record) << record.error().text();
      const auto& sample = std::get<SampleRecord>(record->body);
      EXPECT_EQ(sample.ip, 0xabc);
      EXPECT_TRUE(sample.is_bare);
      EXPECT_EQ(sample.branches.size(), count);
      EXPECT_EQ(sample.cgroup, cgroup);
      EXPECT_EQ(record->time_ns, 123);
    }
  }
  // Bit 0: mispredicted; bits 24 and 25: 1 is a path that was given up, 3 one that was right.
  const std::string bytes = branch_sample_bytes(
      42, 0xabc, 123, {{0x30, 0x40, 1}, {0x50, 0x60, uint64_t{1} << 24U}, {0x10, 0x20, uint64_t{3} << 24U}});
  const auto record = decode_record(as_bytes(bytes), &branch_events);
  ASSERT_TRUE(record) << record.error().text();
  const auto& branches = std::get<SampleRecord>(record->body).branches;
  ASSERT_EQ(branches.size(), 2U) << "without the one that was never taken";
  EXPECT_EQ(branches[0].from, 0x30);
  EXPECT_TRUE(branches[0].is_mispredicted);
  EXPECT_EQ(branches[1].to, 0x20);
  EXPECT_FALSE(branches[1].is_mispredicted);
}

TEST(Records, ACountOfBranchesThatARecordCannotHoldIsRefused) {
  const BranchEvents branch_events{42};
  std::string bytes = branch_sample_bytes(42, 0xabc, 123, {{0x10, 0x20}});
  bytes.replace(kBareSampleBytes - sizeof(uint64_t), sizeof(uint64_t), std::string(sizeof(uint64_t), '\xff'));
  EXPECT_FALSE(decode_record(as_bytes(bytes), &branch_events));
}

TEST(Records, MmapHasTheBuildIdThatTheKernelFound) {
  const auto mmap = decoded<MmapRecord>(mmap_bytes(kBuildIdMisc, kBuildIdOf8, "/bin/a b"));
  EXPECT_EQ(mmap.pid, 7);
  EXPECT_EQ(mmap.start, 0x401000);
  EXPECT_EQ(mmap.size_bytes, 0x2000);
  EXPECT_EQ(mmap.file_offset, 0x1000);
  EXPECT_EQ(mmap.build_id, "12345678");
  EXPECT_EQ(mmap.path, "/bin/a b");
}

TEST(Records, MmapMayHaveDeviceAndInodeInstead) {
  const auto mmap = decoded<MmapRecord>(mmap_bytes(0, kDeviceAndInode, "//anon"));
  EXPECT_THAT(mmap.build_id, IsEmpty());
  EXPECT_EQ(mmap.path, "//anon");
}

TEST(Records, MmapBuildIdIsAtMostTheTwentyBytesThereAre) {
  const auto mmap = decoded<MmapRecord>(mmap_bytes(kBuildIdMisc, std::string(24, '\xff'), "/bin/a"));
  EXPECT_EQ(mmap.build_id, std::string(20, '\xff'));
}

TEST(Records, CommTellsExecFromRenaming) {
  const auto renamed = decoded<CommRecord>(comm_bytes(0));
  EXPECT_EQ(renamed.pid, 7);
  EXPECT_EQ(renamed.tid, 8);
  EXPECT_EQ(renamed.name, "worker");
  EXPECT_FALSE(renamed.is_exec);
  EXPECT_TRUE(decoded<CommRecord>(comm_bytes(PERF_RECORD_MISC_COMM_EXEC)).is_exec);
}

TEST(Records, ForkAndExitTellProcessesAndThreads) {
  const auto fork = decoded<ForkRecord>(task_bytes(PERF_RECORD_FORK));
  EXPECT_EQ(fork.pid, 7);
  EXPECT_EQ(fork.parent_pid, 6);
  EXPECT_EQ(fork.tid, 8);
  EXPECT_EQ(fork.parent_tid, 5);
  const auto exit = decoded<ExitRecord>(task_bytes(PERF_RECORD_EXIT));
  EXPECT_EQ(exit.pid, 7);
  EXPECT_EQ(exit.tid, 8);
}

TEST(Records, ThrottleNamesItsEvent) {
  EXPECT_EQ(decoded<ThrottleRecord>(throttle_bytes()).event_id, 42);
}

TEST(Records, UnknownTypesAreOthers) {
  decoded<OtherRecord>(RecordBytes(PERF_RECORD_LOST, 0).u64(1).u64(2).sample_id(7, 8, 123).bytes());
  decoded<OtherRecord>(RecordBytes(9999, 0).sample_id(7, 8, 123).bytes());
}

TEST(Records, ASampleBringsUserRegistersAndItsPartOfTheStack) {
  std::vector<uint64_t> registers(kUserRegisters);
  std::iota(registers.begin(), registers.end(), 100);
  const UserState user{PERF_SAMPLE_REGS_ABI_64, registers, "0123456789abcdef", 12};
  const std::string bytes = sample_bytes(42, 0xabc, 123, {}, user);
  const auto sample = decoded<SampleRecord>(bytes);
  EXPECT_EQ(sample.user_abi, PERF_SAMPLE_REGS_ABI_64);
  EXPECT_THAT(sample.user_registers, ElementsAreArray(registers));
  EXPECT_EQ(as_text(sample.user_stack), "0123456789ab");
}

TEST(Records, ABareSampleSaysWhereTheProgramWas) {
  const auto sample = decoded<SampleRecord>(bare_sample_bytes(42, 0xabc, 123));
  EXPECT_TRUE(sample.is_bare);
  EXPECT_EQ(sample.event_id, 42);
  EXPECT_EQ(sample.ip, 0xabc);
  EXPECT_EQ(sample.pid, 7);
  EXPECT_EQ(sample.tid, 8);
  EXPECT_TRUE(sample.callchain.empty());
  EXPECT_EQ(bare_sample_bytes(1, 2, 3).size(), kBareSampleBytes);
  EXPECT_FALSE(decoded<SampleRecord>(sample_bytes(42, 0xabc, 123, {})).is_bare) << "it has an empty chain";
}

TEST(Records, ASampleTellsTheControlGroupWhereTheKernelDoes) {
  const UserState user{PERF_SAMPLE_REGS_ABI_64, std::vector<uint64_t>(kUserRegisters), "01234567", 8};
  for (const uint64_t group : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40U}) {
    const auto bare = decoded<SampleRecord>(bare_sample_bytes(42, 0xabc, 123, group));
    EXPECT_EQ(bare.cgroup, group);
    EXPECT_TRUE(bare.is_bare);
    const auto short_one = decoded<SampleRecord>(sample_bytes(42, 0xabc, 123, {}, {}, group));
    EXPECT_EQ(short_one.cgroup, group);
    EXPECT_FALSE(short_one.is_bare);
    EXPECT_EQ(decoded<SampleRecord>(sample_bytes(42, 0xabc, 123, {1, 2}, user, group)).cgroup, group);
  }
}

TEST(Records, ANewControlGroupHasAPath) {
  const auto group = decoded<CgroupRecord>(
      RecordBytes(PERF_RECORD_CGROUP, 0).u64(77).text("/a/b").sample_id(7, 8, 123).bytes());
  EXPECT_EQ(group.id, 77);
  EXPECT_EQ(group.path, "/a/b");
}

TEST(Records, ACapturedSizeBeyondWhatIsThereIsCut) {
  const std::string bytes = sample_bytes(1, 2, 3, {}, {.stack = "01234567", .captured_bytes = 1 << 20});
  EXPECT_EQ(as_text(decoded<SampleRecord>(bytes).user_stack), "01234567");
}

std::map<std::string, std::string> every_record() {
  return {{"bare sample", bare_sample_bytes(42, 0xabc, 123)},
          {"sample", sample_bytes(42, 0xabc, 123, {PERF_CONTEXT_USER, 0xabc, 0xdef})},
          {"sample with a stack",
           sample_bytes(42, 0xabc, 123, {1},
                        {PERF_SAMPLE_REGS_ABI_64, std::vector<uint64_t>(kUserRegisters), "01234567", 8})},
          {"mmap", mmap_bytes(kBuildIdMisc, kBuildIdOf8, "/bin/job")},
          {"mmap by inode", mmap_bytes(0, kDeviceAndInode, "/bin/job")},
          {"comm", comm_bytes(0)},
          {"cgroup", RecordBytes(PERF_RECORD_CGROUP, 0).u64(77).text("/a/b").sample_id(7, 8, 123).bytes()},
          {"fork", task_bytes(PERF_RECORD_FORK)},
          {"exit", task_bytes(PERF_RECORD_EXIT)},
          {"throttle", throttle_bytes()},
          {"other", RecordBytes(9999, 0).sample_id(7, 8, 123).bytes()}};
}

TEST(Records, TellTheirTimeWithoutDecoding) {
  for (const auto& [name, bytes] : every_record()) {
    EXPECT_EQ(record_time_ns(as_bytes(bytes)), 123) << name;
    EXPECT_EQ(decode_record(as_bytes(bytes))->time_ns, 123) << name;
  }
  EXPECT_EQ(record_time_ns({}), 0);
}

TEST(Records, AreRefusedWhereTheyEndTooSoon) {
  for (const auto& [name, bytes] : every_record()) {
    // Padding of a text and unused fields may be missing; the trailer, at the end, may not.
    const bool has_slack = name.starts_with("mmap") || name == "comm" || name == "cgroup" ||
                           name == "throttle" || name == "fork" || name == "exit";
    const size_t slack = has_slack ? 8 : 0;
    for (size_t size = 0; size + slack < bytes.size(); ++size) {
      const auto record = decode_record(as_bytes(bytes).first(size));
      ASSERT_FALSE(record.has_value()) << name << " of " << size << " bytes";
      EXPECT_EQ(record.error().code, ErrorCode::kCorrupt);
    }
  }
}

TEST(Records, SampleWithADepthBeyondItsEndIsRefused) {
  std::string bytes = sample_bytes(42, 0xabc, 123, {1, 2, 3});
  const size_t depth_at =
      bytes.size() - 7 * sizeof(uint64_t);  // before the chain, what is said of user mode, and the group
  for (const uint64_t depth : {uint64_t{7}, uint64_t{1} << 40, UINT64_MAX}) {
    std::memcpy(bytes.data() + depth_at, &depth, sizeof depth);
    EXPECT_FALSE(decode_record(as_bytes(bytes)).has_value()) << depth;
  }
}

TEST(Records, MutationsNeverReadOutside) {
  std::mt19937_64 random(1);
  std::vector<std::string> originals;
  for (const auto& [name, bytes] : every_record()) {
    originals.push_back(bytes);
  }
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = fuzz::mutated(originals[random() % originals.size()], random);
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const auto record = decode_record(std::as_bytes(std::span(exact)));
    if (!record) {
      EXPECT_FALSE(record.error().message.empty());
    } else if (const auto* sample = std::get_if<SampleRecord>(&record->body)) {
      EXPECT_LE(sample->callchain.size() * sizeof(uint64_t), bytes.size());
    }
  }
}

}  // namespace
}  // namespace plimsoll::perf
