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

Result<TracesImported> TraceImport::import(const formats::InputFile& input) {
  const formats::TraceLimits limits;
  // The reader of profiles says what is wrong with a file that is too large for either.
  if (input.size_bytes > limits.max_decoded_bytes || is_raw_profile(input)) {
    return TracesImported();
  }
  const auto content = read_at(*input.fd, input.name, 0, input.size_bytes);
  if (!content) {
    return propagate(content);
  }
  traces::SpanSet spans;
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
  if (sink_ == nullptr) {
    auto sink = store::open_span_sink(directory_);
    if (!sink) {
      return propagate(sink);
    }
    sink_ = std::move(*sink);
  }
  const auto kept = sink_->add(spans, 1);
  return kept ? Result<TracesImported>(TracesImported{.read = *read, .refused = std::nullopt})
              : propagate(kept);
}

}  // namespace plimsoll::cli
