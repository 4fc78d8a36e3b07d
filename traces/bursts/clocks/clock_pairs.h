// Pairs of events on two machines whose order is known. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/bursts/search/scene.h"

namespace plimsoll::traces {

// A call from one machine to another, in wall clock time of each, without a shift: it is sent before it is received, and replied to before it
// has returned.
struct ClockPair {
  uint32_t caller = 0;  // index of the machines
  uint32_t callee = 0;
  int64_t sent_ns = 0;      // by the caller's clock
  int64_t received_ns = 0;  // by the callee's clock
  int64_t replied_ns = 0;   // by the callee's clock
  int64_t returned_ns = 0;  // by the caller's clock
  bool has_reply = true;    // the caller waited for the reply; else nothing is known of the last two
  // Of marks alone: the machine on which a request takes longest is taken for the caller of the others.
  bool is_assumed = false;
};

// Of RPCs between two of the machines that the caller began within its burst. It waited for the reply where it has a client span that did
// not fail and took at least as long as its server span: one that times out, or does not wait, has ended before its server does.
std::vector<ClockPair> pairs_of_spans(const std::vector<SceneMachine>& machines, const SearchSpans& spans);

// Of requests that were started and stopped once on each of several machines within the burst.
std::vector<ClockPair> pairs_of_marks(const std::vector<SceneMachine>& machines);

}  // namespace plimsoll::traces
