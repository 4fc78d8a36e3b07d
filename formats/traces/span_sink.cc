#include "formats/traces/span_sink.h"

#include "base/printable.h"

namespace plimsoll::formats {

Status SpanSink::add(const traces::NamedSpan& span) {
  const Status added = spans_.add(span);
  if (added) {
    ++taken_;
    return {};
  }
  if (added.error().code != ErrorCode::kInvalid) {
    return added;
  }
  reject(added.error().message);
  return {};
}

Status SpanSink::reject_parent(traces::SpanId span) {
  reject("span " + traces::span_id_text(span) + " has an unreadable parent ID");
  return {};
}

void SpanSink::reject(const std::string& reason) {
  if (rejected_++ == 0) {
    first_rejection_ = printable(reason);
  }
}

}  // namespace plimsoll::formats
