#include "store/spans/span_order.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "traces/model/attribute_table.h"

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

// Sets of a span: each block has numbers of its own, given in the order in which keys came.
class AttributeTexts {
 public:
  explicit AttributeTexts(const PlacedSpan& placed) {
    for (const SpanAttribute& attribute : placed.names->attributes(placed.span.attributes)) {
      texts_.at(size_++) = {placed.names->text(SpanText::kAttributeKey, attribute.key),
                            placed.names->text(SpanText::kAttributeValue, attribute.value)};
    }
  }
  std::span<traces::Attribute> all() { return std::span(texts_).first(size_); }

 private:
  std::array<traces::Attribute, kMaxStoredAttributes> texts_;
  size_t size_ = 0;
};

bool is_set_before(const PlacedSpan& left, const PlacedSpan& right) {
  if (left.names == right.names && left.span.attributes == right.span.attributes) {
    return false;
  }
  AttributeTexts of_left(left);
  AttributeTexts of_right(right);
  return traces::compare_sets(of_left.all(), of_right.all()) < 0;
}

// A full order of contents but for attributes, that of traces/assembly/links.cc. Texts are looked at only where all numbers are the same.
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
  size_t kept = 0;
  for (size_t begin = 0; begin < spans.size();) {
    // Attributes decide last, and take long to compare: of those that are the same otherwise once each, and not as often as a sort does.
    size_t first = begin;
    size_t end = begin + 1;
    for (bool is_same = true; end < spans.size() && key_of(spans[end]) == key_of(spans[begin]); ++end) {
      is_same = is_same && !is_before(spans[begin], spans[end]);
      first = is_same && is_set_before(spans[end], spans[first]) ? end : first;
    }
    spans[kept++] = spans[first];
    begin = end;
  }
  spans.resize(kept);
}

}  // namespace plimsoll::store
