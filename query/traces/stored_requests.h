// Requests, put together from spans: of a store for views about traces, of files for the command line.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "traces/assembly/assembly.h"
#include "traces/model/span_set.h"

namespace plimsoll::query {

struct TracedRequests {
  std::unique_ptr<traces::SpanSet> spans;
  traces::Assembly assembly;       // refers to the spans
  std::vector<std::string> notes;  // what was wrong with the spans: a reader should know them
  // By span: how many requests it stands for; empty: one each.
  std::vector<float> weights = {};
  // Of a store: what could not be read and may lack. It is in the notes, too.
  std::vector<std::string> damage = {};
};

// When requests began.
struct RequestTimes {
  int64_t from_ns = 0;
  int64_t to_ns = INT64_MAX;
  bool has(int64_t time_ns) const { return time_ns >= from_ns && time_ns < to_ns; }
};

// Memory that a span takes at the most while it is read and put into its tree.
inline constexpr uint64_t kBytesOfReadSpan = 328;
// Of one answer on a machine of one's own.
inline constexpr uint64_t kMaxReadSpans = 50'000'000;

// The failure to find something, which names what could not be read and may have it.
std::unexpected<Error> with_damage(std::unexpected<Error> failure, const std::vector<std::string>& damage);

// Puts the spans together, and notes what was repaired.
void assemble_requests(TracedRequests& made);

// Of a data directory: the requests that began in that time. Reads spans of ten minutes around it, too, so that those are whole. kTooLarge
// beyond `max_spans`, kNotFound where there is no request, or the error of check_stop(). Notes, and the message of kNotFound, name what is
// damaged and missing.
Result<TracedRequests> read_stored_requests(const std::string& data_dir, const RequestTimes& began,
                                            uint64_t max_spans = kMaxReadSpans);
// As above; without requests where none began in that time.
Result<TracedRequests> read_stored_requests_if_any(const std::string& data_dir, const RequestTimes& began,
                                                   uint64_t max_spans);

// One request, whenever it was. kNotFound where the store has no span of it, with what is damaged.
Result<TracedRequests> read_stored_request(const std::string& data_dir, const traces::TraceId& trace,
                                           uint64_t max_spans = kMaxReadSpans);

}  // namespace plimsoll::query
