// Spans as an OpenTelemetry collector sends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/model/span_set.h"

namespace plimsoll::bench {

// ExportTraceServiceRequest as Protobuf, so many spans in each, in the order of the set, by resource within a request. Each span has a
// route among its attributes. All times are later by `shift_ns`. Written field by field: an encoder that shares nothing with our reader.
std::vector<std::string> otlp_requests(const traces::SpanSet& spans, size_t spans_of_request,
                                       int64_t shift_ns = 0);

}  // namespace plimsoll::bench
