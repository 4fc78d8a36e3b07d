#include "cli/trace_import.h"

#include <utility>

#include "base/file.h"
#include "store/store.h"

namespace plimsoll::cli {

Result<formats::SpansRead> TraceImport::import(const formats::InputFile& input) {
  const formats::TraceLimits limits;
  const auto content = input.size_bytes > limits.max_decoded_bytes
                           ? fail(ErrorCode::kTooLarge, "{} bytes", input.size_bytes)
                           : read_at(*input.fd, input.name, 0, input.size_bytes);
  // What is no trace may be a profile, whose reader says what is wrong with it.
  if (!content) {
    return formats::SpansRead();
  }
  traces::SpanSet spans;
  const auto read = formats::read_spans(as_bytes(*content), spans, limits);
  if (!read || read->taken == 0) {
    return formats::SpansRead();
  }
  if (sink_ == nullptr) {
    auto sink = store::open_span_sink(directory_);
    if (!sink) {
      return propagate(sink);
    }
    sink_ = std::move(*sink);
  }
  const auto kept = sink_->add(spans, 1);
  return kept ? read : propagate(kept);
}

}  // namespace plimsoll::cli
