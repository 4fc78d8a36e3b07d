// Records that are no samples: what processes and the kernel did, and what was lost.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/byte_reader.h"
#include "base/result.h"
#include "capture/perf/records.h"
#include "formats/perf_data/sample_layout.h"

namespace plimsoll::perf_data {

// A part of the kernel: itself, or a module.
struct KernelMmapRecord {
  uint64_t start = 0;
  uint64_t size_bytes = 0;
  uint64_t file_offset = 0;  // of the kernel itself: the address of the symbol in its name
  std::string build_id;      // binary; empty where not told
  std::string path;          // "[kernel.kallsyms]_text", "[xfs]", "/lib/modules/.../xfs.ko"
};

// Kernel code of no file: BPF programs, trampolines.
struct KernelSymbolRecord {
  uint64_t start = 0;
  uint64_t size_bytes = 0;
  std::string name;
  bool is_removed = false;
};

struct LostRecord {
  uint64_t records = 0;
  bool are_samples = false;  // certainly; else whatever the buffer had no room for
  bool has_event = true;
  uint32_t event = 0;  // index
};

// The kernel suspended sampling of an event.
struct ThrottledRecord {
  uint32_t event = 0;  // index
};

using SideRecord =
    std::variant<std::monostate, perf::MmapRecord, perf::CommRecord, perf::ForkRecord, perf::ExitRecord,
                 KernelMmapRecord, KernelSymbolRecord, LostRecord, perf::CgroupRecord, ThrottledRecord>;

// Nothing (monostate) for unused kinds. kCorrupt where the record ends too soon.
Result<SideRecord> decode_side_record(Bytes record, const RecordLayouts& layouts);

}  // namespace plimsoll::perf_data
