#include "daemon/memory.h"

#include <malloc.h>

namespace plimsoll {
namespace {

// Setting either ends the adjusting of both.
constexpr int kMappedAloneBytes = 512 << 10;
constexpr int kKeptFreeBytes = 1 << 20;

}  // namespace

void return_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, kMappedAloneBytes);
  ::mallopt(M_TRIM_THRESHOLD, kKeptFreeBytes);
}

}  // namespace plimsoll
