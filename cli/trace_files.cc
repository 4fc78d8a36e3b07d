#include "cli/trace_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "base/file.h"
#include "base/time.h"
#include "formats/traces/read_spans.h"
#include "store/directory/data_directory.h"
#include "store/store.h"

namespace plimsoll::cli {
namespace {

constexpr uint64_t kMaxTraceFileBytes = uint64_t{2} << 30;

Result<std::set<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return std::set<std::string>{path == "-" ? "/dev/stdin" : path};
  }
  std::set<std::string> files;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) {
      files.insert(entry->path());
    }
  }
  if (error) {
    return fail_errno(error.value(), "cannot list {}", path);
  }
  return files;
}

Status read_trace_file(const std::string& path, TraceFiles& made) {
  const auto content = read_file(path, kMaxTraceFileBytes);
  if (!content) {
    return propagate(content);
  }
  const auto read = formats::read_spans(as_bytes(*content), *made.spans);
  if (!read) {
    return propagate(read, "reading traces from {}", path);
  }
  if (read->rejected != 0) {
    made.notes.push_back(fmt::format("{}: {} of {} spans skipped: {}", path, read->rejected,
                                     read->rejected + read->taken, read->first_rejection));
  }
  return {};
}

// Of spans of requests that began in a time.
constexpr int64_t kAroundNs = int64_t{600} * 1'000'000'000;

void assemble_all(TraceFiles& made) {
  made.assembly = traces::assemble(*made.spans);
  if (const std::string repairs = traces::describe(made.assembly.counts); !repairs.empty()) {
    made.notes.push_back(fmt::format("{} spans, {} requests: {}", made.assembly.counts.spans,
                                     made.assembly.traces.size(), repairs));
  }
}

Result<TraceFiles> read_store(const std::string& data_dir, const store::SpanQuestion& question) {
  const auto directory = store::DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  TraceFiles made{.spans = std::make_unique<traces::SpanSet>(), .assembly = {}, .notes = {}};
  double min_weight = std::numeric_limits<double>::infinity();
  double max_weight = 0;
  const auto damaged =
      store::open_span_source(data_dir)->read(question, [&](const store::StoredSpan& stored) -> Status {
        min_weight = std::min(min_weight, stored.weight);
        max_weight = std::max(max_weight, stored.weight);
        return made.spans->add(stored.span);
      });
  if (!damaged) {
    return propagate(damaged);
  }
  for (const store::DamagedPart& part : *damaged) {
    made.notes.push_back(fmt::format("{} spans are missing: {}",
                                     part.rows == 0 ? "some" : std::to_string(part.rows), part.why));
  }
  // Nothing that is computed from a SpanSet knows weights: counts and shares of the two mix.
  if (min_weight < max_weight) {
    made.notes.push_back(
        fmt::format("spans of different sampling rates are counted alike: each stands for {} to {} requests",
                    min_weight, max_weight));
  }
  return made;
}

}  // namespace

Result<TimeRange> parse_time_range(const std::string& since, const std::string& until,
                                   const std::string& prefix) {
  const int64_t now_ns = wall_now_ns();
  TimeRange range;
  for (const auto& [text, bound, name] :
       {std::tuple(&since, &range.from_ns, "since"), std::tuple(&until, &range.to_ns, "until")}) {
    if (text->empty()) {
      continue;
    }
    const auto time_ns = parse_time_ns(*text, now_ns);
    if (!time_ns) {
      return with_field(
          with_hint(
              fail(ErrorCode::kInvalid, "not a time: \"{}\"", *text),
              "write RFC 3339 (2026-11-21T07:00:00Z), or a duration before now with its unit (30m, 2h)"),
          "--" + prefix + name);
    }
    *bound = *time_ns;
  }
  return range.from_ns < range.to_ns
             ? Result<TimeRange>(range)
             : with_field(fail(ErrorCode::kInvalid, "the time range is empty"), "--" + prefix + "since");
}

Result<TraceFiles> read_trace_files(const std::vector<std::string>& paths, const traces::SpanLimits& limits) {
  TraceFiles made{.spans = std::make_unique<traces::SpanSet>(limits), .assembly = {}, .notes = {}};
  for (const std::string& path : paths) {
    const auto files = files_of(path);
    if (!files) {
      return propagate(files);
    }
    for (const std::string& file : *files) {
      if (auto read = read_trace_file(file, made); !read) {
        return propagate(read);
      }
    }
  }
  if (made.spans->spans().empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no spans in {}", fmt::join(paths, ", ")),
                     "docs/traces.md lists the formats that are read");
  }
  assemble_all(made);
  return made;
}

Result<TraceFiles> read_stored_traces(const std::string& data_dir, const TimeRange& began) {
  store::SpanQuestion question;
  question.times.from_ns = began.from_ns > kAroundNs ? began.from_ns - kAroundNs : 0;
  question.times.to_ns = began.to_ns < INT64_MAX - kAroundNs ? began.to_ns + kAroundNs : INT64_MAX;
  auto made = read_store(data_dir, question);
  if (!made) {
    return made;
  }
  assemble_all(*made);
  // What is beside it may lack spans.
  std::erase_if(made->assembly.traces,
                [&](const traces::Trace& trace) { return !began.has(trace.start_ns); });
  return made->assembly.traces.empty()
             ? with_hint(fail(ErrorCode::kNotFound, "no request in {} began in that time", data_dir),
                         "change --since and --until; docs/traces.md says how applications send traces")
             : std::move(made);
}

Result<TraceFiles> read_stored_trace(const std::string& data_dir, const traces::TraceId& trace) {
  auto made = read_store(data_dir, {.trace = trace});
  if (made && made->spans->spans().empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no such trace in {}: {}", data_dir, to_text(trace)),
                     "it was not sampled, or is older than retention.traces_max_age");
  }
  if (made) {
    assemble_all(*made);
  }
  return made;
}

Status expect_traces_or_data(const std::vector<std::string>& traces, const std::string& data_dir) {
  if (traces.empty() != data_dir.empty()) {
    return {};
  }
  return with_field(traces.empty() ? fail(ErrorCode::kInvalid, "--traces is required, or --data")
                                   : fail(ErrorCode::kInvalid, "--traces and --data are both given"),
                    "--traces");
}

}  // namespace plimsoll::cli
