// Where the fields of a tracepoint's records are, as the tracing file system says: events/SYSTEM/EVENT/format. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "daemon/events/event_names.h"

namespace plimsoll::bursts {

struct TracepointField {
  std::string name;
  uint32_t offset = 0;  // in the raw data of a sample
  uint32_t size = 0;    // of all elements of an array
};

struct TracepointFormat {
  uint32_t id = 0;  // common_type of its records, and perf_event_attr.config
  std::vector<TracepointField> fields;

  // kUnsupported where this kernel's tracepoint has no such field, or one of another size.
  Result<TracepointField> field(std::string_view name, uint32_t min_size) const;
};

// From the text of the file. kCorrupt where that is something else.
Result<TracepointFormat> parse_tracepoint_format(std::string_view text);

Result<TracepointFormat> read_tracepoint_format(const std::string& tracefs, const perf::TracepointName& name);

// A number of 4 or 8 bytes in raw data, which may be shorter: then 0.
uint64_t unsigned_at(Bytes raw, const TracepointField& field);
// Text up to its first zero.
std::string_view text_at(Bytes raw, const TracepointField& field);

}  // namespace plimsoll::bursts
