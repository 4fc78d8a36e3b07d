#include "capture/perf/records.h"

#include <algorithm>

namespace plimsoll::perf {
namespace {

// struct sample_id for kSampleType: what sample_id_all puts at the end of each record that is no sample.
struct SampleId {
  uint32_t pid, tid;
  uint64_t time_ns;
  uint32_t cpu, reserved;
  uint64_t event_id;
};

// A PERF_RECORD_SAMPLE up to the call chain.
struct SampleHead {
  uint64_t event_id;
  uint64_t ip;
  uint32_t pid, tid;
  uint64_t time_ns;
  uint32_t cpu, reserved;
};

static_assert(kBareSampleBytes == sizeof(perf_event_header) + sizeof(SampleHead) + sizeof(uint64_t));

constexpr uint16_t kMiscMmapBuildId = 1U << 14U;

// {u64 abi; u64 registers[] unless the ABI is none; u64 size; bytes[size] and u64 size that was captured unless size is 0}.
void decode_user_state(ByteReader& reader, SampleRecord& sample) {
  sample.user_abi = reader.read<uint64_t>();
  if (sample.user_abi != PERF_SAMPLE_REGS_ABI_NONE) {
    sample.user_registers = reader.read<std::array<uint64_t, kUserRegisters>>();
  }
  const auto reserved_bytes = reader.read<uint64_t>();
  if (reserved_bytes == 0) {
    return;
  }
  const Bytes reserved = reader.bytes(reserved_bytes);
  const auto captured_bytes = reader.read<uint64_t>();
  sample.user_stack =
      reserved.first(static_cast<size_t>(std::min<uint64_t>(captured_bytes, reserved.size())));
  sample.user_stack_is_cut = captured_bytes >= reserved.size();
}

// The last field, where the kernel has it at all.
void decode_cgroup_id(ByteReader& reader, SampleRecord& sample) {
  if (reader.remaining() > 0) {
    sample.cgroup = reader.read<uint64_t>();
  }
}

// {u64 count; {from; to; flags}[count]}.
void decode_branches(ByteReader& reader, SampleRecord& sample) {
  const auto count = reader.read<uint64_t>();
  if (count > reader.remaining() / sizeof(BranchEntry)) {
    reader.skip(UINT64_MAX);  // marks the reader as failed
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (const auto branch = taken_branch(reader.read<BranchEntry>())) {
      sample.branches.push_back(*branch);
    }
  }
}

SampleRecord decode_sample(ByteReader& reader, uint16_t record_bytes, const BranchEvents* branch_events) {
  const auto head = reader.read<SampleHead>();
  SampleRecord sample;
  sample.event_id = head.event_id;
  sample.ip = head.ip;
  sample.pid = head.pid;
  sample.tid = head.tid;
  sample.cpu = head.cpu;
  if (branch_events != nullptr && branch_events->contains(head.event_id)) {
    sample.is_bare = true;
    decode_branches(reader, sample);
    decode_cgroup_id(reader, sample);
    return sample;
  }
  // Any other has the length of its call chain, the ABI and the size of the stack at least.
  sample.is_bare = record_bytes <= kBareSampleBytes;
  if (sample.is_bare) {
    decode_cgroup_id(reader, sample);
    return sample;
  }
  const auto depth = reader.read<uint64_t>();
  if (depth > reader.remaining() / sizeof(uint64_t)) {
    reader.skip(UINT64_MAX);  // marks the reader as failed before anything of that size is allocated
    return sample;
  }
  sample.callchain.resize(depth);
  for (uint64_t& address : sample.callchain) {
    address = reader.read<uint64_t>();
  }
  decode_user_state(reader, sample);
  decode_cgroup_id(reader, sample);
  return sample;
}

MmapRecord decode_mmap(ByteReader& reader, uint16_t misc) {
  MmapRecord mmap{};
  mmap.pid = reader.read<uint32_t>();
  reader.skip(4);  // tid
  mmap.start = reader.read<uint64_t>();
  mmap.size_bytes = reader.read<uint64_t>();
  mmap.file_offset = reader.read<uint64_t>();
  // 24 bytes: {u8 size, 3 bytes padding, u8 id[20]}, or device and inode.
  if ((misc & kMiscMmapBuildId) != 0) {
    const auto size = reader.read<uint8_t>();
    reader.skip(3);
    const std::string_view id = as_text(reader.bytes(20));
    mmap.build_id = id.substr(0, size);
  } else {
    mmap.device_major = reader.read<uint32_t>();
    mmap.device_minor = reader.read<uint32_t>();
    mmap.inode = reader.read<uint64_t>();
    mmap.generation = reader.read<uint64_t>();
  }
  reader.skip(8);  // protection and flags
  mmap.path = reader.c_string();
  return mmap;
}

CommRecord decode_comm(ByteReader& reader, uint16_t misc) {
  CommRecord comm{};
  comm.pid = reader.read<uint32_t>();
  comm.tid = reader.read<uint32_t>();
  comm.name = reader.c_string();
  comm.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  return comm;
}

struct TaskFields {
  uint32_t pid, parent_pid, tid, parent_tid;
};

CgroupRecord decode_cgroup(ByteReader& reader) {
  CgroupRecord cgroup{reader.read<uint64_t>(), {}};
  cgroup.path = reader.c_string();
  return cgroup;
}

ThrottleRecord decode_throttle(ByteReader& reader) {
  reader.skip(8);  // time
  return ThrottleRecord{reader.read<uint64_t>()};
}

}  // namespace

std::optional<BranchRecord> taken_branch(const BranchEntry& entry) {
  constexpr uint64_t kMispredicted = 1;
  // Bits 24 and 25 (`spec`): 0 unknown, 1 a wrong path, 2 and 3 the right one.
  constexpr unsigned kSpeculationShift = 24;
  constexpr uint64_t kWrongPath = 1;
  if (((entry.flags >> kSpeculationShift) & 3U) == kWrongPath) {
    return std::nullopt;
  }
  return BranchRecord{entry.from, entry.to, (entry.flags & kMispredicted) != 0};
}

int64_t record_time_ns(Bytes record) {
  ByteReader reader(record);
  const auto header = reader.read<perf_event_header>();
  if (header.type == PERF_RECORD_SAMPLE) {
    return static_cast<int64_t>(reader.read<SampleHead>().time_ns);
  }
  if (record.size() < sizeof(perf_event_header) + sizeof(SampleId)) {
    return 0;
  }
  reader.seek(record.size() - sizeof(SampleId));
  return static_cast<int64_t>(reader.read<SampleId>().time_ns);
}

Result<Record> decode_record(Bytes record, const BranchEvents* branch_events) {
  const auto header = ByteReader(record).read<perf_event_header>();
  const auto too_short = [&] {
    return fail(ErrorCode::kCorrupt, "a perf record of type {} and {} bytes ends too soon", header.type,
                record.size());
  };
  const size_t trailer_bytes = header.type == PERF_RECORD_SAMPLE ? 0 : sizeof(SampleId);
  if (record.size() < header.size || record.size() < sizeof header + trailer_bytes) {
    return too_short();
  }
  ByteReader reader(record.first(record.size() - trailer_bytes));
  reader.skip(sizeof header);
  Record decoded{record_time_ns(record), OtherRecord{}};
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      decoded.body = decode_sample(reader, header.size, branch_events);
      break;
    case PERF_RECORD_MMAP2:
      decoded.body = decode_mmap(reader, header.misc);
      break;
    case PERF_RECORD_COMM:
      decoded.body = decode_comm(reader, header.misc);
      break;
    case PERF_RECORD_FORK: {
      const auto fields = reader.read<TaskFields>();
      decoded.body = ForkRecord{fields.pid, fields.parent_pid, fields.tid, fields.parent_tid};
      break;
    }
    case PERF_RECORD_EXIT: {
      const auto fields = reader.read<TaskFields>();
      decoded.body = ExitRecord{fields.pid, fields.tid};
      break;
    }
    case PERF_RECORD_CGROUP:
      decoded.body = decode_cgroup(reader);
      break;
    case PERF_RECORD_THROTTLE:
      decoded.body = decode_throttle(reader);
      break;
    default:
      break;
  }
  if (!reader.ok()) {
    return too_short();
  }
  return decoded;
}

}  // namespace plimsoll::perf
