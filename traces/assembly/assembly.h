// From spans in any order to call trees: parents by ID, clocks of other machines shifted, self times, categories.
//
//   const Assembly assembly = assemble(spans);
//   for (const Trace& trace : assembly.traces) {
//     for (const Node& node : assembly.nodes_of(trace)) { spans.spans()[node.span] ... node.self_ns }
//   }
//
// A pure function of the set of spans: neither the order in which they came nor copies of them change anything but `counts`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/model/span_set.h"

namespace plimsoll::traces {

inline constexpr uint32_t kNoNode = UINT32_MAX;

enum NodeFlag : uint8_t {
  // A call of another service: what is left of it when its children are taken away is network, queues and connections (gap).
  kEdge = 1,
  kOrphan = 2,         // its parent is not there, or was part of a cycle
  kShifted = 4,        // timed by another clock than its parent, and moved by the difference
  kOutsideParent = 8,  // ran partly outside of its parent, also after shifting: asynchronous
  kEndFixed = 16,      // ended before its start: counts as a moment
};

// A span at its place in the tree.
struct Node {
  uint32_t span = 0;          // index into the SpanSet
  uint32_t parent = kNoNode;  // index into nodes_of(); kNoNode: a root
  int64_t start_ns = 0;       // by the clock of the trace's root
  int64_t end_ns = 0;
  int64_t self_ns = 0;  // duration without the union of its children; of an edge: the gap
  uint8_t flags = 0;    // NodeFlag

  bool has(NodeFlag flag) const { return (flags & flag) != 0; }
  int64_t duration_ns() const { return end_ns - start_ns; }
};

// One request.
struct Trace {
  TraceId id;
  uint32_t first_node = 0;
  uint32_t node_count = 0;
  // Which calls make which, by names of services and operations; siblings in any order. Equal in every run and program.
  uint64_t tree_hash = 0;
  // Which services and operations it has, however often and in which order.
  uint64_t set_hash = 0;
  int64_t start_ns = 0;     // of its first root
  bool is_partial = false;  // spans are missing, or their links contradict each other
};

// What was wrong with the spans, and what was done.
struct AssemblyCounts {
  uint64_t spans = 0;       // that came in
  uint64_t duplicates = 0;  // dropped: a span with the same ID and times is there
  uint64_t conflicting =
      0;  // dropped: another span of the trace has the same ID; the one that ends last is kept
  uint64_t shared_ids = 0;        // halves of a call with one ID, client and server: linked
  uint64_t missing_parents = 0;   // kept as roots of their own
  uint64_t cycles = 0;            // cut at the span that starts first
  uint64_t extra_roots = 0;       // of traces with several spans without a parent
  uint64_t end_before_start = 0;  // count as moments
  uint64_t outside_parent = 0;    // count within their parents only
  uint64_t shifted = 0;           // moved by the offset of a clock
};

struct Assembly {
  std::vector<Node>
      nodes;  // of one trace after the other; within it parents before children, siblings by start
  std::vector<Trace> traces;  // by start, then ID
  AssemblyCounts counts;

  std::span<const Node> nodes_of(const Trace& trace) const {
    return std::span(nodes).subspan(trace.first_node, trace.node_count);
  }
};

// About 0.5 us a span, and 40 bytes for each beyond the SpanSet, which the result refers to.
Assembly assemble(const SpanSet& spans);

// "12 duplicates dropped, 3 spans without their parent": what is not 0, for people; empty where nothing was wrong.
std::string describe(const AssemblyCounts& counts);

}  // namespace plimsoll::traces
