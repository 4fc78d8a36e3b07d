#include "cli/store_compact.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "query/table/table.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "store/store.h"

namespace plimsoll::cli {
namespace {

void show_progress(const std::vector<store::SegmentEntry>& inputs, uint64_t merged_before) {
  uint64_t rows = 0;
  for (const store::SegmentEntry& input : inputs) {
    rows += input.rows;
  }
  fmt::print(stderr, "\r\x1b[Kmerging {} segments of {} rows; {} segments done ", inputs.size(), rows,
             merged_before);
  std::fflush(stderr);
}

Result<store::CompactionReport> merge_all(store::Compactor& compactor, bool shows_progress) {
  store::CompactionReport all;
  while (true) {
    const auto inputs = compactor.pending();
    if (!inputs) {
      return propagate(inputs);
    }
    if (inputs->empty()) {
      return all;
    }
    if (shows_progress) {
      show_progress(*inputs, all.merged);
    }
    const auto report = compactor.merge_once();
    if (!report) {
      return report;
    }
    all += *report;
  }
}

// As the server does in the background.
Result<store::SpanFilesMerged> merge_spans(const store::DataDirectory& directory) {
  const auto sink = store::open_span_sink(directory);
  if (!sink) {
    return propagate(sink);
  }
  store::SpanFilesMerged all;
  while (true) {
    const auto merged = (*sink)->merge_once({});
    if (!merged || merged->merged == 0) {
      return merged ? Result<store::SpanFilesMerged>(all) : propagate(merged);
    }
    all.merged += merged->merged;
    all.made += merged->made;
  }
}

void print_summary(const store::CompactionReport& report, uint64_t segments,
                   const store::SpanFilesMerged& spans, bool is_json) {
  if (is_json) {
    query::Table table;
    table.columns = {{"merged", "count"},
                     {"made", "count"},
                     {"rows", "count"},
                     {"bytes_before", "bytes"},
                     {"bytes", "bytes"},
                     {"segments", "count"},
                     {"span_files_merged", "count"},
                     {"span_files_made", "count"}};
    auto& row = table.rows.emplace_back();
    for (const uint64_t number : {report.merged, report.made, report.rows, report.bytes_before, report.bytes,
                                  segments, spans.merged, spans.made}) {
      row.emplace_back(static_cast<int64_t>(number));
    }
    fmt::print("{}", query::to_json(table));
    return;
  }
  if (report.merged == 0) {
    fmt::print("nothing to merge; segments: {}\n", segments);
  } else {
    fmt::print("merged {} segments of {} bytes into {} of {}, {} rows; segments now: {}\n", report.merged,
               report.bytes_before, report.made, report.bytes, report.rows, segments);
  }
  if (spans.merged > 0) {
    fmt::print("merged {} files of request traces into {}\n", spans.merged, spans.made);
  }
}

}  // namespace

Status run_store_compact(const StoreCompactOptions& options) {
  if (!std::filesystem::exists(options.data_dir + "/FORMAT")) {
    return with_field(fail(ErrorCode::kNotFound, "{} is not a Plimsoll data directory", options.data_dir),
                      "--data");
  }
  const auto ingest = store::Ingest::open(options.data_dir);
  if (!ingest) {
    return propagate(ingest, "opening the data directory {}", options.data_dir);
  }
  const auto compactor =
      store::Compactor::open(**ingest, store::CompactionLimits::thorough(options.max_rows));
  if (!compactor) {
    return propagate(compactor);
  }
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto report = merge_all(**compactor, is_terminal);
  if (is_terminal) {
    fmt::print(stderr, "\r\x1b[K");
  }
  if (!report) {
    return propagate(report);
  }
  const auto segments = (*compactor)->count_segments();
  if (!segments) {
    return propagate(segments);
  }
  const auto spans = merge_spans((*ingest)->directory());
  if (!spans) {
    return propagate(spans);
  }
  print_summary(*report, *segments, *spans, options.is_json);
  return report->damaged.empty() ? Status()
                                 : fail(ErrorCode::kCorrupt, "{}", fmt::join(report->damaged, "; "));
}

}  // namespace plimsoll::cli
