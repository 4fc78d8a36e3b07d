// Views that compiler profiles are made from.
#pragma once

#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// fdo-counts
std::vector<View> fdo_views();

}  // namespace plimsoll::query
