// Spans of any number of traces and files, in any order, with the dictionaries of their names.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "traces/model/attribute_table.h"
#include "traces/model/name_table.h"
#include "traces/model/span.h"

namespace plimsoll::traces {

struct SpanLimits {
  uint64_t max_spans = 50'000'000;  // 4 GB
  uint32_t max_names = 200'000;     // of each kind
  bool keeps_attributes = false;
  AttributeLimits attributes = {};
};

// The dictionaries of a SpanSet.
struct Names {
  explicit Names(uint32_t max_names)
      : services("service", max_names),
        operations("operation", max_names),
        replicas("replica", max_names),
        machines("machine", max_names),
        versions("version", max_names) {}

  NameTable services;
  NameTable operations;
  NameTable replicas;
  NameTable machines;
  NameTable versions;
};

// Filled by one thread. Memory: 80 bytes a span, and each name once.
class SpanSet {
 public:
  explicit SpanSet(const SpanLimits& limits = {})
      : limits_(limits), names_(limits.max_names), attributes_(limits.attributes) {}

  // kTooLarge beyond the limits; kInvalid without a trace or a span ID, or where the times are before 1970 or leave 64 bits.
  Status add(const NamedSpan& span);

  const std::vector<Span>& spans() const { return spans_; }
  const Names& names() const { return names_; }
  // Whether readers are to hand over attributes at all, which takes them time.
  bool keeps_attributes() const { return limits_.keeps_attributes; }
  const SpanLimits& limits() const { return limits_; }
  const AttributeTable& attributes() const { return attributes_; }

 private:
  SpanLimits limits_;
  Names names_;
  AttributeTable attributes_;
  std::vector<Span> spans_;
};

}  // namespace plimsoll::traces
