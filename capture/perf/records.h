// The records that the kernel writes into a ring buffer, decoded: perf_event_open(2), "MMAP layout".
//
// Our events have one layout (kSampleType) or that without its middle (kBareSampleType), so that a record can be decoded
// without knowing its event first; those with branches (kBranchSampleType) are told by their event's ID. A kernel without control
// groups of perf events leaves out the last field of all.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::perf {

// Where a program was, without how it came there: what costs the program least.
inline constexpr uint64_t kBareSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                            PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CGROUP;
inline constexpr uint64_t kSampleType =
    kBareSampleType | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
inline constexpr size_t kBareSampleBytes = 56;  // of such a record, its header included
// And which branches the processor took before it came there.
inline constexpr uint64_t kBranchSampleType = kBareSampleType | PERF_SAMPLE_BRANCH_STACK;
inline constexpr size_t kMostBranches =
    32;  // that a processor records at once: Intel's 8 to 32, AMD's 16, Arm's 8 to 64

// The user registers in a sample: the general ones and the instruction pointer (enum perf_event_x86_regs).
inline constexpr uint64_t kUserRegisterMask = 0xff01ff;
inline constexpr size_t kUserRegisters = 17;

// What read(2) of an event returns, in this order: value, enabled, running, id, lost (CounterValues).
inline constexpr uint64_t kReadFormat =
    PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_LOST;

struct CounterValues {
  uint64_t value;
  uint64_t time_enabled_ns;
  uint64_t time_running_ns;
  uint64_t id;
  uint64_t lost;
};

// A branch that the processor took before a sample.
struct BranchRecord {
  uint64_t from = 0;
  uint64_t to = 0;
  bool is_mispredicted = false;
};

// As the kernel has it (struct perf_branch_entry).
struct BranchEntry {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t flags = 0;
};

// Nothing of a branch on a path that the processor guessed and gave up (AMD's LbrExtV2 records these): it was never taken.
std::optional<BranchRecord> taken_branch(const BranchEntry& entry);

struct SampleRecord {
  uint64_t event_id = 0;
  uint64_t ip = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  bool is_bare = false;                  // what follows was not asked for (kBareSampleType)
  std::vector<uint64_t> callchain = {};  // leaf first, with PERF_CONTEXT_* marks between its parts
  // What the thread had in user mode: nothing (PERF_SAMPLE_REGS_ABI_NONE) of kernel threads and exiting ones.
  uint64_t user_abi = PERF_SAMPLE_REGS_ABI_NONE;
  std::array<uint64_t, kUserRegisters> user_registers{};  // in the order of the mask's bits
  Bytes user_stack = {};           // from the stack pointer on; borrowed from the record
  bool user_stack_is_cut = false;  // the stack may go on behind it
  bool is_leaf_only = false;       // recorded without call chains: `callchain` has just where the thread was
  uint64_t cgroup = 0;             // that the thread was in: ID in the hierarchy of perf events; 0: not told
  std::vector<BranchRecord> branches = {};  // of kBranchSampleType: all that were taken, the newest first
  uint32_t cpu = 0;                         // that the thread was on
};

// A new executable mapping.
struct MmapRecord {
  uint32_t pid;
  uint64_t start;
  uint64_t size_bytes;
  uint64_t file_offset;
  std::string build_id;  // binary; empty where the kernel found none: then device and inode tell the file
  std::string path;      // "//anon", "[vdso]" and the like for mappings without a file
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;
  uint64_t generation = 0;  // of the inode's number, which another file may have had before; 0: unknown
};

// A thread has a new name; with `is_exec` the process runs another program from here on.
struct CommRecord {
  uint32_t pid;
  uint32_t tid;
  std::string name;
  bool is_exec;
};

struct ForkRecord {
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t tid;
  uint32_t parent_tid;
  // Written by a recorder about a process that was there before it: that process may run another program than its parent.
  bool was_before = false;
};

struct ExitRecord {
  uint32_t pid;
  uint32_t tid;
};

// A control group was made in the hierarchy of perf events.
struct CgroupRecord {
  uint64_t id;
  std::string path;  // from the root of the hierarchy
};

// Sampling of an event was suspended by the kernel.
struct ThrottleRecord {
  uint64_t event_id;
};

// A record of a kind that we have no use for.
struct OtherRecord {};

struct Record {
  int64_t time_ns;  // CLOCK_MONOTONIC
  std::variant<OtherRecord, SampleRecord, MmapRecord, CommRecord, ForkRecord, ExitRecord, CgroupRecord,
               ThrottleRecord>
      body;
};

// The IDs of events whose samples have branches.
using BranchEvents = std::unordered_set<uint64_t>;

// One record with its header, as the ring buffer holds it. Borrows the record's bytes. `branch_events` null: there are none.
Result<Record> decode_record(Bytes record, const BranchEvents* branch_events = nullptr);

// The time of a record, without decoding the rest: for sorting. 0 where the record is too short to have one.
int64_t record_time_ns(Bytes record);

}  // namespace plimsoll::perf
