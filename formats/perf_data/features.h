// The parts of a recording that describe it: sections behind the records of a file, or records of their own in a pipe.
#pragma once

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/perf_data/limits.h"
#include "formats/perf_data/metadata.h"

namespace plimsoll::perf_data {

// An entry of the attribute section, or the content of a HEADER_ATTR record: a perf_event_attr of the size that it says.
// Moves the reader behind it.
Result<perf_event_attr> read_attribute(ByteReader& reader);

// kTooLarge, or kUnsupported where its samples have fields that are not known here.
Status add_event(const perf_event_attr& attr, std::vector<uint64_t> ids, const Limits& limits,
                 Metadata& metadata);

// The content of feature `number`; unused ones are ignored.
Status read_feature(uint64_t number, Bytes content, const Limits& limits, Metadata& metadata);

// The content behind the record header of a HEADER_BUILD_ID record, or of an entry of the section of that name, which
// looks alike; `misc` is from that header.
Status read_build_id(Bytes content, uint16_t misc, const Limits& limits, Metadata& metadata);

}  // namespace plimsoll::perf_data
