#include "cli/trace_import.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "proto/profile_codec.h"
#include "store/store.h"

namespace plimsoll::cli {
namespace {

// A raw profile, which may be large and is read whole by its own reader.
bool is_raw_profile(const formats::InputFile& input) {
  constexpr uint64_t kBeginBytes = 64;
  const auto begin = read_at(*input.fd, input.name, 0, std::min(input.size_bytes, kBeginBytes));
  return begin && wire::looks_like_profile(as_bytes(*begin));
}

}  // namespace

Result<TracesImported> TraceImport::read(const formats::InputFile& input) {
  const formats::TraceLimits limits;
  // The reader of profiles says what is wrong with a file that is too large for either.
  if (input.size_bytes > limits.max_decoded_bytes || is_raw_profile(input)) {
    return TracesImported();
  }
  const auto content = read_at(*input.fd, input.name, 0, input.size_bytes);
  if (!content) {
    return propagate(content);
  }
  // All that have few values: who gives a file gives it for what is in it.
  traces::SpanSet spans({.keeps_attributes = true});
  const auto read = formats::read_spans(as_bytes(*content), spans, limits);
  // Only what has been recognized can be too large.
  if (!read && read.error().code == ErrorCode::kTooLarge) {
    return propagate(read);
  }
  if (!read) {
    return TracesImported{.read = {}, .refused = read.error()};
  }
  if (read->taken == 0 && read->rejected > 0) {
    return fail(ErrorCode::kCorrupt, "none of its {} spans can be stored: {}", read->rejected,
                read->first_rejection);
  }
  if (read->taken == 0) {
    return TracesImported();
  }
  read_spans_ += spans.spans().size();
  read_.push_back(std::move(spans));
  return TracesImported{.read = *read, .refused = std::nullopt};
}

bool TraceImport::is_full() const {
  constexpr uint64_t kSpansOfGroup = 65'536;
  constexpr size_t kFilesOfGroup = 256;
  return read_spans_ >= kSpansOfGroup || read_.size() >= kFilesOfGroup;
}

Status TraceImport::store() {
  // Gone even where it fails: the files are reported as failed, and must not come with later ones.
  const std::vector<traces::SpanSet> read = std::exchange(read_, {});
  read_spans_ = 0;
  if (read.empty()) {
    return {};
  }
  if (sink_ == nullptr) {
    auto sink = store::open_span_sink(directory_);
    if (!sink) {
      return propagate(sink);
    }
    sink_ = std::move(*sink);
  }
  std::vector<store::SpanBatch> batches;
  for (const traces::SpanSet& spans : read) {
    batches.push_back({&spans, 1});
  }
  const auto kept = sink_->add_all(batches);
  return kept ? Status() : propagate(kept);
}

Status TraceImport::merge() {
  while (sink_ != nullptr) {
    const auto merged = sink_->merge_once({});
    if (!merged || merged->merged == 0) {
      return merged ? Status() : propagate(merged);
    }
  }
  return {};
}

}  // namespace plimsoll::cli
