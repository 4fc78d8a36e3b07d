// Spans and call trees as text, so that a test's input and expectation can be read side by side.
#pragma once

#include <string>
#include <string_view>

#include "traces/assembly/assembly.h"
#include "traces/model/span_set.h"

namespace plimsoll::traces {

// A line for each span: "TRACE SPAN PARENT SERVICE/OPERATION[@REPLICA[@MACHINE]] START END [KIND] [shared]", IDs in hexadecimal, "-" for no
// parent, times in ms. Throws std::invalid_argument for anything else.
SpanSet spans_of(std::string_view text);

// "SERVICE/OPERATION START..END self MS [words]" a node, indented by its depth; "gap" instead of "self" for edges.
std::string to_text(const SpanSet& spans, const Assembly& assembly);

// "TRACE SPAN PARENT SERVICE/OPERATION@REPLICA@MACHINE#VERSION START_NS END_NS KIND STATUS [shared]" a span, in the order of the set.
std::string to_text(const SpanSet& spans);

}  // namespace plimsoll::traces
