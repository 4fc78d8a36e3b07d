// Views of the repository of binaries.
#pragma once

#include "query/registry/view.h"

namespace plimsoll::query {

// "binaries"
View binaries_view();
// "binaries/missing"
View missing_binaries_view();

}  // namespace plimsoll::query
