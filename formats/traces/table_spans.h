// Spans as a table: CSV with a line of names first.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// Columns in any order and of either case: TraceID, SpanID, ParentID (empty or "root": none), OperationName (or operation, method),
// StartTimeUnixNano (or start_ns), EndTimeUnixNano (or end_ns; or duration_us); ServiceName (or service), PodName (or replica, pod,
// instance), NodeName (or machine, host), version, kind. Others are passed over. Without a column for services a service is its pod's
// name without its last two parts: "cart" of "cart-579f59597d-wc2lz".
Status read_span_table(std::string_view text, SpanSink& sink);

// Whether a text begins with a line that names such columns.
bool is_span_table(std::string_view text);

}  // namespace plimsoll::formats
