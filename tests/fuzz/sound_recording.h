// A recording of perf with all that readers know, built in code, to be damaged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/formats/perf_data/recording_bytes.h"

namespace plimsoll::fuzz::sound_recording {

using namespace perf_data;  // all of it is about recordings

inline std::string words(const std::vector<uint64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint64_t)};
}

// What happens in a recording, of events with call chains, branches and copies of stacks.
inline std::string records() {
  const std::string chain = words({4, static_cast<uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000100,
                                   static_cast<uint64_t>(PERF_CONTEXT_USER), 0x10010});
  const std::string branches = words({2, 0x10010, 0x10020, 1, 0x10030, 0xffffffff81000200, 2});
  std::vector<uint64_t> registers(20, 0x7000);
  registers[8] = 0x20010;
  const std::string user =
      words({PERF_SAMPLE_REGS_ABI_64}) + words(registers) + words({32, 0x7010, 0x20021, 0, 0, 24});
  const std::string rest = chain + branches + user;
  return process_of_samples() + mmap(7, 0x20000, 0x1000, 0, "//anon") +
         mmap(UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000, "[kernel.kallsyms]_text", 0,
              PERF_RECORD_MISC_KERNEL) +
         sample({}, rest) + fork(8, 7, 1001) + comm(8, "other", 1002, true) +
         mmap(8, 0x10000, 0x1000, 0, "/bin/other", 1003) +
         sample({.id = 2, .time_ns = 1004, .period = 7, .pid = 8, .tid = 8}, rest) + finished_round() +
         ended(RecordBytes(PERF_RECORD_LOST, 0).u64(1).u64(10), 1005) +
         ended(RecordBytes(PERF_RECORD_KSYMBOL, 0).u64(0xffffffffa0000000).u32(64).u32(1).text("bpf_prog"),
               1006) +
         ended(RecordBytes(PERF_RECORD_CGROUP, 0).u64(5).text("/group"), 1006) +
         ended(RecordBytes(PERF_RECORD_THROTTLE, 0).u64(1).u64(1).u64(1), 1007) +
         sample({.ip = 0xffffffffa0000010, .time_ns = 1003, .misc = PERF_RECORD_MISC_KERNEL}, rest);
}

// A record that is followed by bytes outside of it.
inline std::string trace() {
  return RecordBytes(71, 0).u64(8).u64(0).u64(0).u64(0).u64(0).bytes() + std::string(8, 'x');
}

inline Recording recording(std::string_view of_records) {
  perf_event_attr attr =
      hardware_attr(PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK |
                                                  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  attr.sample_regs_user = 0xff0fff;
  attr.sample_stack_user = 32;
  perf_event_attr other = attr;
  other.config = PERF_COUNT_HW_INSTRUCTIONS;
  return Recording()
      .event(attr, {1, 3}, "cycles:u")
      .event(other, {2}, "instructions")
      .text_feature(3, "web1")
      .text_feature(6, "x86_64")
      .text_feature(9, "GenuineIntel,6,42,7")
      .feature(17, bytes_of(uint32_t{1}) + text_field("") + bytes_of(uint32_t{0}) + bytes_of(uint32_t{2}))
      .feature(29, bytes_of(uint32_t{1}) + bytes_of(uint32_t{1}) + words({1'600'000'000'000'000'000, 100}))
      .build_id("/bin/job", "job's ID")
      .build_id("[kernel.kallsyms]", "kernel's ID", true)
      .records(of_records);
}

}  // namespace plimsoll::fuzz::sound_recording
