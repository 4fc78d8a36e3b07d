#include "formats/perf_data/side_records.h"

#include <sys/mman.h>

namespace plimsoll::perf_data {
namespace {

constexpr uint16_t kMiscMmapData = 1U << 13U;
constexpr uint16_t kMiscMmapBuildId = 1U << 14U;
// Samples that a BPF program was asked to leave out.
constexpr uint16_t kMiscFiltered = 1U << 15U;
constexpr uint16_t kSymbolRemoved = 1;  // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
constexpr uint32_t kKernelPid = UINT32_MAX;
// PROT_READ, PROT_WRITE, PROT_EXEC and PROT_SEM. Kernels before 3.16, and RHEL 7's, have no protection and no flags there: what stands in
// their place is the begin of the name ("/usr", "[sta", "//an"), which is a larger number.
constexpr uint32_t kLargestProtection = 15;

// What follows the file offset of PERF_RECORD_MMAP2. False: not executable.
bool read_file_identity(ByteReader& reader, uint16_t misc, perf::MmapRecord& mmap) {
  constexpr uint64_t kIdBytes = 20;
  if ((misc & kMiscMmapBuildId) != 0) {
    const auto size = reader.read<uint8_t>();
    reader.skip(3);
    mmap.build_id = as_text(reader.bytes(kIdBytes)).substr(0, size);
  } else {
    mmap.device_major = reader.read<uint32_t>();
    mmap.device_minor = reader.read<uint32_t>();
    mmap.inode = reader.read<uint64_t>();
    mmap.generation = reader.read<uint64_t>();
  }
  const uint64_t place = reader.offset();
  const auto protection = reader.read<uint32_t>();
  if (protection > kLargestProtection) {
    reader.seek(place);
    return true;
  }
  reader.skip(sizeof(uint32_t));  // flags
  return protection == 0 || (protection & PROT_EXEC) != 0;
}

SideRecord decode_mmap(ByteReader& reader, const perf_event_header& header) {
  perf::MmapRecord mmap{};
  mmap.pid = reader.read<uint32_t>();
  reader.skip(sizeof(uint32_t));  // TID
  mmap.start = reader.read<uint64_t>();
  mmap.size_bytes = reader.read<uint64_t>();
  mmap.file_offset = reader.read<uint64_t>();
  const bool is_executable =
      header.type != PERF_RECORD_MMAP2 || read_file_identity(reader, header.misc, mmap);
  mmap.path = reader.c_string();
  const uint16_t mode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  if (mode == PERF_RECORD_MISC_KERNEL || (mmap.pid == kKernelPid && mode != PERF_RECORD_MISC_GUEST_KERNEL)) {
    return KernelMmapRecord{mmap.start, mmap.size_bytes, mmap.file_offset, mmap.build_id, mmap.path};
  }
  const bool is_code = is_executable && (header.misc & kMiscMmapData) == 0;
  return is_code && mode != PERF_RECORD_MISC_GUEST_KERNEL ? SideRecord(std::move(mmap)) : SideRecord();
}

SideRecord decode_comm(ByteReader& reader, const perf_event_header& header) {
  perf::CommRecord comm{};
  comm.pid = reader.read<uint32_t>();
  comm.tid = reader.read<uint32_t>();
  comm.name = reader.c_string();
  comm.is_exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  return comm;
}

// {u64 start; u32 size; u16 kind; u16 flags; char name[]}
SideRecord decode_kernel_symbol(ByteReader& reader) {
  KernelSymbolRecord symbol;
  symbol.start = reader.read<uint64_t>();
  symbol.size_bytes = reader.read<uint32_t>();
  reader.skip(sizeof(uint16_t));
  symbol.is_removed = (reader.read<uint16_t>() & kSymbolRemoved) != 0;
  symbol.name = reader.c_string();
  return symbol;
}

perf::CgroupRecord decode_cgroup(ByteReader& reader) {
  perf::CgroupRecord cgroup{reader.read<uint64_t>(), {}};
  cgroup.path = reader.c_string();
  return cgroup;
}

// {u64 time; u64 id; u64 stream_id}
SideRecord decode_throttle(ByteReader& reader, Bytes record, const RecordLayouts& layouts) {
  reader.skip(sizeof(uint64_t));
  auto event = layouts.event_of_id(reader.read<uint64_t>());
  event = event ? event : layouts.event_of_other(record);
  return event ? SideRecord(ThrottledRecord{*event}) : SideRecord();
}

// LOST: {u64 id; u64 records}. LOST_SAMPLES: {u64 records}, of the event that the trailer names.
SideRecord decode_lost(ByteReader& reader, const perf_event_header& header, Bytes record,
                       const RecordLayouts& layouts) {
  LostRecord lost{.are_samples = header.type == PERF_RECORD_LOST_SAMPLES};
  std::optional<uint32_t> event;
  if (!lost.are_samples) {
    event = layouts.event_of_id(reader.read<uint64_t>());
  }
  lost.records = reader.read<uint64_t>();
  event = event ? event : layouts.event_of_other(record);
  lost.has_event = event.has_value();
  lost.event = event.value_or(0);
  return lost.are_samples && (header.misc & kMiscFiltered) != 0 ? SideRecord() : SideRecord(lost);
}

struct TaskFields {
  uint32_t pid, parent_pid, tid, parent_tid;
};

SideRecord decode_body(ByteReader& reader, const perf_event_header& header, Bytes record,
                       const RecordLayouts& layouts) {
  switch (header.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return decode_mmap(reader, header);
    case PERF_RECORD_COMM:
      return decode_comm(reader, header);
    case PERF_RECORD_FORK: {
      const auto fields = reader.read<TaskFields>();
      const bool was_before = layouts.tells_times() && layouts.time_ns(record) == 0;
      return perf::ForkRecord{fields.pid, fields.parent_pid, fields.tid, fields.parent_tid, was_before};
    }
    case PERF_RECORD_EXIT: {
      const auto fields = reader.read<TaskFields>();
      return perf::ExitRecord{fields.pid, fields.tid};
    }
    case PERF_RECORD_THROTTLE:
      return decode_throttle(reader, record, layouts);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
      return decode_lost(reader, header, record, layouts);
    case PERF_RECORD_KSYMBOL:
      return decode_kernel_symbol(reader);
    case PERF_RECORD_CGROUP:
      return decode_cgroup(reader);
    default:
      return {};
  }
}

}  // namespace

Result<SideRecord> decode_side_record(Bytes record, const RecordLayouts& layouts) {
  const auto header = ByteReader(record).read<perf_event_header>();
  if (header.type > PERF_RECORD_CGROUP) {
    return SideRecord();
  }
  ByteReader reader(layouts.without_trailer(record));
  reader.skip(sizeof header);
  SideRecord decoded = decode_body(reader, header, record, layouts);
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "it ends too soon");
  }
  return decoded;
}

}  // namespace plimsoll::perf_data
