#include "formats/heap_text.h"

#include <cmath>

#include "formats/legacy_rows.h"

namespace plimsoll::formats {

std::optional<HeapNumbers> take_heap_numbers(TextScanner& line) {
  const auto objects = line.take_integer();
  const bool first = objects && line.take(":");
  const auto bytes = line.take_integer();
  const bool second = first && bytes && line.take("[");
  const auto allocated_objects = line.take_integer();
  const bool third = second && allocated_objects && line.take(":");
  const auto allocated_bytes = line.take_integer();
  if (!third || !allocated_bytes || !line.take("]")) {
    return std::nullopt;
  }
  return HeapNumbers{{*objects, *bytes}, {*allocated_objects, *allocated_bytes}};
}

std::vector<ValueType> heap_types(bool has_allocations) {
  std::vector<ValueType> types;
  if (has_allocations) {
    types = {{"alloc_objects", "count"}, {"alloc_space", "bytes"}};
  }
  types.push_back({"inuse_objects", "count"});
  types.push_back({"inuse_space", "bytes"});
  return types;
}

Result<HeapValues> scaled_heap_values(HeapValues sampled, int64_t period_bytes) {
  if (sampled.objects == 0 && sampled.bytes != 0) {
    return fail(ErrorCode::kCorrupt, "{} bytes in no object", sampled.bytes);
  }
  if (sampled.objects == 0 || sampled.bytes == 0) {
    return HeapValues{};
  }
  if (period_bytes <= 1) {
    return sampled;
  }
  const auto objects = static_cast<double>(sampled.objects);
  const auto bytes = static_cast<double>(sampled.bytes);
  const double scale = 1 / (1 - std::exp(-bytes / objects / static_cast<double>(period_bytes)));
  const auto scaled_objects = whole(objects * scale);
  const auto scaled_bytes = whole(bytes * scale);
  if (!scaled_objects || !scaled_bytes) {
    return fail(ErrorCode::kCorrupt, "{} bytes in {} objects, sampled every {} bytes, stand for too much",
                sampled.bytes, sampled.objects, period_bytes);
  }
  return HeapValues{*scaled_objects, *scaled_bytes};
}

Status append_scaled(const HeapValues& sampled, int64_t period_bytes, std::vector<int64_t>& values) {
  const auto scaled = scaled_heap_values(sampled, period_bytes);
  if (!scaled) {
    return propagate(scaled);
  }
  values.push_back(scaled->objects);
  values.push_back(scaled->bytes);
  return {};
}

}  // namespace plimsoll::formats
