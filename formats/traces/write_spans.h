// A request trace in the formats of other tools, for their viewers and databases.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "traces/model/span.h"

namespace plimsoll::formats {

enum class TraceExport : uint8_t {
  kOtlpJson,    // an ExportTraceServiceRequest: what takes OTLP over HTTP takes it
  kJaegerJson,  // as Jaeger's page and API write it: microseconds
  kChromeJson  // ui.perfetto.dev, Firefox Profiler, speedscope: a process per service and replica; microseconds
};

// JSON of spans of one trace, with IDs of their own each. read_spans() reads the first two again as they were, but for what microseconds lose.
// A service "NAMESPACE/NAME" is written as both. Bytes that are no UTF-8 become U+FFFD. Memory: some 2 KB a span.
std::string write_trace(std::span<const traces::NamedSpan> spans, TraceExport format);

}  // namespace plimsoll::formats
