// Which copies of a span are one, and which of them stays.
#pragma once

#include <vector>

#include "store/spans/span_dictionaries.h"
#include "store/spans/span_record.h"

namespace plimsoll::store {

// Borrows the dictionaries of its block.
struct PlacedSpan {
  SpanRecord span;
  const SpanDictionaries* names = nullptr;

  const SpanMethod& method() const { return names->method(span.method); }
  const SpanProcess& process() const { return names->process(span.process); }
};

// Sorts by (trace, ID, half of a shared call, kind), and leaves one of each: of those that differ the one that the assembly of trees would
// keep, whatever order they came in and whichever blocks they are of.
void keep_distinct(std::vector<PlacedSpan>& spans);

}  // namespace plimsoll::store
