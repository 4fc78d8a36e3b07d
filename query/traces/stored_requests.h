// Requests, put together from spans: of a store for views about traces, of files for the command line.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/traces/machine_attributes.h"
#include "query/traces/request_times.h"
#include "traces/assembly/assembly.h"
#include "traces/model/span_set.h"

namespace plimsoll::query {

struct TracedRequests {
  std::unique_ptr<traces::SpanSet> spans;
  traces::Assembly assembly;       // refers to the spans
  std::vector<std::string> notes;  // what was wrong with the spans: a reader should know them
  // By span: how many requests it stands for; empty: one each.
  std::vector<float> weights = {};
  // Of a store: what could not be read and may lack, with paths relative to the data directory. It is in the notes, too.
  std::vector<std::string> damage = {};
};

// Whether spans of a store have their attributes.
enum class SpanAttributes { kLeaveOut, kRead };

// A parameter that is a time, for views about traces.
Parameter time_of_traces(std::string_view name, int64_t now_ns, int64_t& time_ns, bool& is_given);

// Memory that a span takes at the most while it is read and put into its tree.
inline constexpr uint64_t kBytesOfReadSpan = 328;
// Of one answer on a machine of one's own.
inline constexpr uint64_t kMaxReadSpans = 50'000'000;

// A text about files of a data directory, with their paths relative to it: notes go to readers of a server, and a document that has them
// besides names of traced services cannot be searched for paths later.
std::string within_directory(std::string text, std::string data_dir);

// The failure to find something, which names what could not be read and may have it.
std::unexpected<Error> with_damage(std::unexpected<Error> failure, const std::vector<std::string>& damage);

// Puts the spans together, and notes what was repaired.
void assemble_requests(TracedRequests& made);

// Of a data directory: the requests that began in that time. Reads spans of ten minutes around it, too, so that those are whole. kTooLarge
// beyond `max_spans`, kNotFound where there is no request, or the error of check_stop(). Notes, and the message of kNotFound, name what is
// damaged and missing. Attributes of `machines` are added to those of spans.
Result<TracedRequests> read_stored_requests(const std::string& data_dir, const RequestTimes& began,
                                            uint64_t max_spans = kMaxReadSpans,
                                            SpanAttributes attributes = SpanAttributes::kLeaveOut,
                                            const MachineAttributes* machines = nullptr);
// As above; without requests where none began in that time.
Result<TracedRequests> read_stored_requests_if_any(const std::string& data_dir, const RequestTimes& began,
                                                   uint64_t max_spans,
                                                   SpanAttributes attributes = SpanAttributes::kLeaveOut,
                                                   const MachineAttributes* machines = nullptr);

// One request with its attributes, whenever it was. kNotFound where the store has no span of it, with what is damaged.
Result<TracedRequests> read_stored_request(const std::string& data_dir, const traces::TraceId& trace,
                                           uint64_t max_spans = kMaxReadSpans);

}  // namespace plimsoll::query
