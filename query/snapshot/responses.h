// How many of the machines that were drawn have sent something, and what that makes of the weights of those that did.
#pragma once

#include <span>
#include <vector>

#include "query/snapshot/origin_index.h"
#include "query/statistics/response.h"
#include "store/draws/draw_store.h"
#include "store/rows/dictionaries.h"

namespace plimsoll::query {

// By stratum, as the index numbers them. A machine has answered a draw with any profile of it. Strata of a draw without profiles are
// handed to their neighbours by name. What was not drawn, or in a draw that `drawn` does not know, has answered for itself: all that is
// there, and nothing else.
std::vector<statistics::StratumResponse> responses(const OriginIndex& origins,
                                                   const store::Dictionaries& dictionaries,
                                                   std::span<const store::DrawnWeight> drawn);

}  // namespace plimsoll::query
