// Zipkin's spans, version 2, as JSON (https://zipkin.io/zipkin-api/): times in microseconds, one ID for both halves of a call.
#pragma once

#include "base/result.h"
#include "formats/traces/json_fields.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// A list of spans, or of lists of spans (the answer of /api/v2/traces). Zipkin knows no replicas: the tags instance, pod, hostname and
// those of OpenTelemetry's names are taken for it, else the address of the local endpoint. A span without a time has that of its annotations.
Status read_zipkin(const Json& document, SpanSink& sink);

}  // namespace plimsoll::formats
