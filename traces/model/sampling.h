// Keeping some of the traces, whole ones.
#pragma once

#include <cstdint>

#include "traces/model/ids.h"
#include "traces/model/span_set.h"

namespace plimsoll::traces {

// Whether a trace is among those that are kept where one of `one_in` is; 1 or more. It depends on the trace alone, so that all senders and
// times agree, and one that is kept is kept with any lower number too.
inline bool is_sampled(const TraceId& trace, uint32_t one_in) {
  return mixed(trace.high ^ mixed(trace.low)) <= UINT64_MAX / one_in;
}

// The spans of the traces that are kept, each of which stands for `one_in`. Limits are those of `spans`.
Result<SpanSet> sampled(const SpanSet& spans, uint32_t one_in);

}  // namespace plimsoll::traces
