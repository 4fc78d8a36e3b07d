// Annotated code for people and for programs.
#pragma once

#include <string>

#include "query/annotate/annotation.h"
#include "query/annotate/listing.h"

namespace plimsoll::annotate {

// An instruction with so much of the function's samples, of any event, is marked as hot.
inline constexpr double kHotShare = 0.05;

// A table a function: a share and a count for each event, the address, and the instruction below its source line; "*" marks hot ones.
// Branches are arrows behind instructions, with how often they were taken. Shares are of the function's own samples.
std::string to_text(const Annotation& annotation, Order order);

// The same data as one document (docs/annotate.md).
std::string to_json(const Annotation& annotation, Order order);

}  // namespace plimsoll::annotate
