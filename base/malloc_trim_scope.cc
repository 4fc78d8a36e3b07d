#include "base/malloc_trim_scope.h"

#include <malloc.h>

namespace plimsoll {

MallocTrimScope::~MallocTrimScope() {
  ::malloc_trim(0);
}

}  // namespace plimsoll
