// The rows of annotated code in the order in which they are read: instructions below headings, which are the source lines and inlined
// calls that they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "query/annotate/annotation.h"

namespace plimsoll::annotate {

enum class Order : uint8_t {
  kSource,   // by line, the instructions of each together; inlined calls by function and line
  kAddress,  // as the instructions lie in memory; a line may have several headings
};

struct ListingRow {
  uint32_t depth =
      0;  // 0: a line of the function itself, and its instructions; 1: of a call inlined there, ...
  bool is_heading = false;
  Place place = {};        // of a heading
  size_t instruction = 0;  // else: in AnnotatedFunction::instructions
};

struct Listing {
  size_t events = 0;
  std::vector<ListingRow> rows = {};
  std::vector<Count> counts =
      {};  // row-major, then by event; of a heading: of all instructions up to the next one that is not deeper

  std::span<const Count> counts_of(size_t row) const {
    return std::span(counts).subspan(row * events, events);
  }
};

// The counts of the headings of depth 0 sum up to those of the function, in either order. Costs instructions x depth, and sorts them.
Listing listing_of(const Annotation& annotation, const AnnotatedFunction& function, Order order);

}  // namespace plimsoll::annotate
