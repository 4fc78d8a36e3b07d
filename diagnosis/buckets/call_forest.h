// Requests as paths of calls: how long each call takes, and what it adds to the request's critical path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

inline constexpr uint32_t kNoCall = UINT32_MAX;
// Paths beyond it count for the call that they are below, and further roots as one.
inline constexpr uint32_t kMaxCallPaths = 20'000;

// A call in the forest of all requests: one for each path of (service, operation, called service) from a root. Parents stand before their
// children.
struct CallPath {
  uint32_t parent = kNoCall;
  uint32_t service = 0;  // IDs of traces::Names
  uint32_t operation = 0;
  // A call of another service, `callee`: its self time is network and queues. Clients name their spans alike whatever they call ("GET").
  // A server without a kind is none, whether it calls one service or several.
  bool is_edge = false;
  uint32_t callee = 0;

  bool is_other_roots() const { return service == 0 && operation == 0 && parent == kNoCall; }
};

// All calls of one path in one request.
struct CallTimes {
  uint32_t path = 0;
  uint32_t calls = 0;
  float on_path_ms = 0;   // of the critical path, in the call itself
  float self_ms = 0;      // without children
  float total_ms = 0;     // with children
  float children_ms = 0;  // durations of all children together
  float covered_ms = 0;   // time in which at least one child runs
};

struct CallForest {
  std::vector<CallPath> paths;
  std::vector<CallTimes> times;  // of one request after the other
  std::vector<uint64_t> begins;  // by request, and the end

  std::span<const CallTimes> of(size_t request) const {
    return std::span(times).subspan(begins[request], begins[request + 1] - begins[request]);
  }
};

// Of these traces, indices into the assembly's, in their order; calls below their first root. The critical path is walked back from the end of
// the root: at each moment through the child that ended last of those that had begun, and through the call itself where no child ran
// (Yang and Miller, ICDCS 1988; Zhang et al., CRISP, USENIX ATC 2022). It is as long as the request: what calls add to it adds up.
// Messages (consumers) are waited for by no call. About 0.2 us a span; 28 bytes for each path of a request. Ends
// early with the error of check_stop().
Result<CallForest> call_forest(const traces::SpanSet& spans, const traces::Assembly& assembly,
                               std::span<const uint32_t> traces);

}  // namespace plimsoll::diagnosis
