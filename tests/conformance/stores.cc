#include "tests/conformance/stores.h"

namespace plimsoll::testing {

std::vector<StoreImplementation> store_implementations() {
  return {memory_store("Memory", UINT64_MAX), memory_store("MemoryInBlocksOf5", 5),
          local_store("Local", UINT64_MAX), local_store("LocalInBlocksOf5", 5)};
}

}  // namespace plimsoll::testing
