// OpenTelemetry's spans as JSON: IDs in hexadecimal, 64-bit numbers as numbers or texts, enums as numbers. What general printers of Protobuf
// make of the same messages is read as well: IDs in base64, enums by name, fields by their own names ("trace_id").
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/traces/json_fields.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// Whether it has spans at its top: "resourceSpans", or "batches", which is what Tempo's API calls them.
bool is_otlp_json(const Json& document);

// Such a document. kCorrupt where they are no list; null is an empty one. Unknown members are passed over.
Status read_otlp_json(const Json& document, SpanSink& sink);

}  // namespace plimsoll::formats
