// OpenTelemetry's spans as Protobuf: an ExportTraceServiceRequest or TracesData (field numbers: opentelemetry-proto 1.x).
#pragma once

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// kCorrupt where the message is malformed; what came before stays in the sink. Unknown fields, attributes of spans, events and links are
// passed over. No memory beyond that of the sink.
Status read_otlp(Bytes message, SpanSink& sink);

}  // namespace plimsoll::formats
