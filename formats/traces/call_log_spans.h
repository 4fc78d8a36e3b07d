// CloudDiag's log of calls as spans (Mi et al., IEEE TPDS 2013): a line when a method is invoked, and one when it has returned.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/traces/span_sink.h"

namespace plimsoll::formats {

// CSV with a line of names first, columns in any order: host, time_ns, request_id, caller_mid (empty or "root": none), callee_mid, method,
// event ("invoked" or "returned"), and if they are there service, replica and version. MIDs name the calls of a request, "1.2.1" one within
// "1.2". Without a column for services a service is what stands before the last '.' of its method. The two lines of a call may be in either
// order and far apart; what lacks one of them is rejected. kTooLarge where over a million calls wait for their other line.
Status read_call_log(std::string_view text, SpanSink& sink);

// Whether a text begins with a line that names such columns.
bool is_call_log(std::string_view text);

}  // namespace plimsoll::formats
