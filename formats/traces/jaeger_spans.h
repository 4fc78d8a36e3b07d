// Jaeger's traces as its page and API write them: {"data": [{"spans": [...], "processes": {...}}]}, times in microseconds.
#pragma once

#include "base/result.h"
#include "formats/traces/json_fields.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// "data" may be one trace alone. The parent is the first reference within the trace, CHILD_OF before FOLLOWS_FROM. Service, replica, machine
// and version come from the process; kind and status from tags. What follows from its parent and has no kind is a consumer: no call waits for
// it.
Status read_jaeger(const Json& document, SpanSink& sink);

}  // namespace plimsoll::formats
