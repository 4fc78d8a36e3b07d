// Request traces in files and in stores, as `plimsoll diagnose` and `plimsoll trace` read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "traces/assembly/assembly.h"
#include "traces/model/span_set.h"

namespace plimsoll::cli {

struct TraceFiles {
  std::unique_ptr<traces::SpanSet> spans;
  traces::Assembly assembly;
  std::vector<std::string> notes;  // what was wrong with the spans: a reader should know them
};

// When requests began.
struct TimeRange {
  int64_t from_ns = 0;
  int64_t to_ns = INT64_MAX;
  bool has(int64_t time_ns) const { return time_ns >= from_ns && time_ns < to_ns; }
};

// Of the values of --PREFIXsince and --PREFIXuntil; empty: without a limit. kInvalid for what is no time, and for an empty range.
Result<TimeRange> parse_time_range(const std::string& since, const std::string& until,
                                   const std::string& prefix);

// Files, and the files of folders by name; "-" is standard input. Fails on the first that has no traces in it, or where none has spans.
Result<TraceFiles> read_trace_files(const std::vector<std::string>& paths,
                                    const traces::SpanLimits& limits = {});

// Of a data directory: the requests that began in that time. Reads spans of ten minutes around it, too, so that those are whole; 240 bytes
// of memory a span.
Result<TraceFiles> read_stored_traces(const std::string& data_dir, const TimeRange& began);
// One request, whenever it was. kNotFound where the store has no span of it.
Result<TraceFiles> read_stored_trace(const std::string& data_dir, const traces::TraceId& trace);

// kInvalid unless there is one of the two.
Status expect_traces_or_data(const std::vector<std::string>& traces, const std::string& data_dir);

}  // namespace plimsoll::cli
