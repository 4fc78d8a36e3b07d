#include "server/memory/memory.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/process_memory.h"
#include "server/memory/large_blocks.h"

namespace plimsoll::server {
namespace {

// No thread recurses deeper than a message is nested (100) or an expression of SQL (1000 levels, SQLITE_LIMIT_EXPR_DEPTH, of some 200 bytes).
constexpr size_t kStackBytes = size_t{2} << 20;

// A block so large is mapped by itself, and is gone when it is freed; smaller ones leave holes in a heap which others do not fit into. As glibc's own
// largest threshold, where there is memory enough for many holes.
int mapped_alone_bytes() {
  constexpr uint64_t kMost = uint64_t{32} << 20;
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  constexpr unsigned kParts = 2048;
  return static_cast<int>(std::max(memory_share(kMost, kParts), kLeast));
}

}  // namespace

void reserve_little_memory() {
  const int threshold = mapped_alone_bytes();
  map_large_blocks(static_cast<size_t>(threshold));
  ::mallopt(M_MMAP_THRESHOLD, threshold);
  ::mallopt(M_TRIM_THRESHOLD, 2 * threshold);
  ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(2U, std::thread::hardware_concurrency())));
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) == 0) {
    ::pthread_attr_setstacksize(&attributes, kStackBytes);
    ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
  }
}

}  // namespace plimsoll::server
