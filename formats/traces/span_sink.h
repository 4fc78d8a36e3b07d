// Where the readers of this folder put spans: counts what was taken, and what could not be.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "traces/model/span_set.h"

namespace plimsoll::formats {

// Borrows the set. One thread.
class SpanSink {
 public:
  explicit SpanSink(traces::SpanSet& spans) : spans_(spans) {}

  // A span that cannot be one (no ID, impossible times) is counted and left out; an error means that the limits are exceeded.
  Status add(const traces::NamedSpan& span);
  // One that its reader could not make sense of.
  void reject(const std::string& reason);
  // One whose parent has an ID that cannot be read: as a root it would be a request of its own.
  Status reject_parent(traces::SpanId span);

  // Says which attributes spans are to bring.
  const traces::SpanSet& spans() const { return spans_; }

  uint64_t taken() const { return taken_; }
  uint64_t rejected() const { return rejected_; }
  const std::string& first_rejection() const { return first_rejection_; }

 private:
  traces::SpanSet& spans_;
  uint64_t taken_ = 0;
  uint64_t rejected_ = 0;
  std::string first_rejection_;
};

}  // namespace plimsoll::formats
