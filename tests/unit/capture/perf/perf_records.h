// perf records as bytes, as the kernel lays them out (perf_event_open(2)) for our sample type.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::perf {

// Puts fields one after the other.
class RecordBytes {
 public:
  RecordBytes(uint32_t type, uint16_t misc) : type_(type), misc_(misc) {}

  RecordBytes& u32(uint32_t value) { return raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  RecordBytes& u64(uint64_t value) { return raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  RecordBytes& raw(std::string_view bytes) {
    body_ += bytes;
    return *this;
  }
  // With its zero byte, and padded to 8 bytes.
  RecordBytes& text(std::string_view text) {
    body_ += text;
    body_.resize((body_.size() + 8) / 8 * 8);
    return *this;
  }
  // What follows every record that is no sample.
  RecordBytes& sample_id(uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t event_id = 0) {
    return u32(pid).u32(tid).u64(time_ns).u32(0).u32(0).u64(event_id);
  }

  std::string bytes() const {
    const perf_event_header header{type_, misc_, static_cast<uint16_t>(sizeof header + body_.size())};
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body_;
  }

 private:
  uint32_t type_;
  uint16_t misc_;
  std::string body_;
};

inline constexpr uint64_t kCgroupOfSamples = 5;

// What a sample says of user mode; nothing unless an ABI is given.
struct UserState {
  uint64_t abi = PERF_SAMPLE_REGS_ABI_NONE;
  std::vector<uint64_t> registers = {};
  std::string stack = {};       // as long as was reserved for it
  uint64_t captured_bytes = 0;  // of it
};

// `cgroup` 0: of a kernel that does not tell it.
inline std::string bare_sample_bytes(uint64_t event_id, uint64_t ip, uint64_t time_ns,
                                     uint64_t cgroup = kCgroupOfSamples) {
  RecordBytes record(PERF_RECORD_SAMPLE, 0);
  record.u64(event_id).u64(ip).u32(7).u32(8).u64(time_ns).u32(0).u32(0);
  return cgroup == 0 ? record.bytes() : record.u64(cgroup).bytes();
}

// Of an event with branches, the newest first.
struct TakenBranch {
  uint64_t from;
  uint64_t to;
  uint64_t flags = 0;
};

inline std::string branch_sample_bytes(uint64_t event_id, uint64_t ip, uint64_t time_ns,
                                       const std::vector<TakenBranch>& branches,
                                       uint64_t cgroup = kCgroupOfSamples) {
  RecordBytes record(PERF_RECORD_SAMPLE, 0);
  record.u64(event_id).u64(ip).u32(7).u32(8).u64(time_ns).u32(0).u32(0).u64(branches.size());
  for (const TakenBranch& branch : branches) {
    record.u64(branch.from).u64(branch.to).u64(branch.flags);
  }
  return cgroup == 0 ? record.bytes() : record.u64(cgroup).bytes();
}

inline std::string sample_bytes(uint64_t event_id, uint64_t ip, uint64_t time_ns,
                                const std::vector<uint64_t>& callchain, const UserState& user = {},
                                uint64_t cgroup = kCgroupOfSamples) {
  RecordBytes record(PERF_RECORD_SAMPLE, 0);
  record.u64(event_id).u64(ip).u32(7).u32(8).u64(time_ns).u32(0).u32(0).u64(callchain.size());
  for (const uint64_t address : callchain) {
    record.u64(address);
  }
  record.u64(user.abi);
  for (const uint64_t value : user.registers) {
    record.u64(value);
  }
  record.u64(user.stack.size());
  if (!user.stack.empty()) {
    record.raw(user.stack).u64(user.captured_bytes);
  }
  return cgroup == 0 ? record.bytes() : record.u64(cgroup).bytes();
}

}  // namespace plimsoll::perf
