// `export`: the samples of a selection for other people's tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

struct ExportRequest {
  Selection selection;              // its event is not looked at
  std::vector<std::string> events;  // none: the default event, as top picks it
};

// Parameters: event (may be repeated) and the filters of a selection (query/selection/parameters.h).
Result<ExportRequest> parse_export(const Parameters& parameters, int64_t now_ns);

// pprof's format, gzipped. Values are those that top shows, rounded to the event's unit, one sample type for each event.
// A sample is a stack with the labels job, app, thread and machine, and those that it carries. Stacks that were not recorded, and what has neither
// binary nor name, stand as in top: "[no stack]", "[jit]", "[unresolved]".
Result<std::string> export_pprof(const ExportRequest& request, const Snapshot& snapshot);

// gperftools' symbolized CPU profile, of one event: kInvalid where several are asked for. A count is one of the event's
// unit. The format has no room for labels, and every name is a frame, as in top.
Result<std::string> export_gperftools(const ExportRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
