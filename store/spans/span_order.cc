#include "store/spans/span_order.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace plimsoll::store {
namespace {

auto key_of(const PlacedSpan& placed) {
  const SpanRecord& span = placed.span;
  return std::tuple(span.trace.high, span.trace.low, span.id, span.is_shared, placed.method().kind);
}

auto texts_of(const PlacedSpan& placed) {
  const SpanRecord& span = placed.span;
  const SpanMethod& method = placed.method();
  const SpanProcess& process = placed.process();
  const SpanDictionaries& names = *placed.names;
  return std::tuple(names.text(SpanText::kService, method.service),
                    names.text(SpanText::kOperation, method.operation), span.parent, process.machine == 0,
                    process.replica == 0, names.text(SpanText::kMachine, process.machine),
                    names.text(SpanText::kReplica, process.replica),
                    names.text(SpanText::kVersion, process.version), span.status, process.weight);
}

// A full order of contents, that of traces/assembly/links.cc. Texts are looked at only where all numbers are the same.
bool is_before(const PlacedSpan& left, const PlacedSpan& right) {
  const auto key_of_left = key_of(left);
  const auto key_of_right = key_of(right);
  if (key_of_left != key_of_right) {
    return key_of_left < key_of_right;
  }
  // The one that ends last comes first.
  const auto times = [](const PlacedSpan& placed) {
    return std::tuple(-placed.span.end_ns, placed.span.start_ns);
  };
  if (times(left) != times(right)) {
    return times(left) < times(right);
  }
  return texts_of(left) < texts_of(right);
}

}  // namespace

void keep_distinct(std::vector<PlacedSpan>& spans) {
  std::ranges::sort(spans, is_before);
  const auto copies = std::ranges::unique(spans, {}, key_of);
  spans.erase(copies.begin(), copies.end());
}

}  // namespace plimsoll::store
