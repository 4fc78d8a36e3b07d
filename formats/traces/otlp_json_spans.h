// OpenTelemetry's spans as JSON: IDs in hexadecimal, 64-bit numbers as numbers or texts, enums as numbers.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/traces/json_fields.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// A document with "resourceSpans". kCorrupt where they are no list. Unknown members are passed over.
Status read_otlp_json(const Json& document, SpanSink& sink);

}  // namespace plimsoll::formats
