#include "cli/trace_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include "base/file.h"
#include "base/time.h"
#include "formats/traces/read_spans.h"

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
  query::assemble_requests(made);
  return made;
}

Status expect_traces_or_source(const std::vector<std::string>& traces, const AnswerSource& source,
                               std::string_view flag) {
  if (traces.empty() == is_named(source)) {
    return {};
  }
  const char* const other = source.server.empty() ? "--data" : "--server";
  return with_field(traces.empty()
                        ? with_hint(fail(ErrorCode::kInvalid, "{} is required, or --data or --server", flag),
                                    "give files, a data directory, or the address of a server")
                        : fail(ErrorCode::kInvalid, "{} and {} are both given", flag, other),
                    std::string(flag));
}

}  // namespace plimsoll::cli
