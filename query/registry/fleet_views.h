// Views about machines, jobs, draws and the server itself, and orders.
#pragma once

#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// compare, coverage, machines, jobs, draws, collection, status, store, binaries, binaries/missing, collection/measure, audit
std::vector<View> fleet_views();

}  // namespace plimsoll::query
