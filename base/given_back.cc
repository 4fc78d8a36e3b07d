#include "base/given_back.h"

#include <malloc.h>

namespace plimsoll {

MemoryGivenBack::~MemoryGivenBack() {
  ::malloc_trim(0);
}

}  // namespace plimsoll
