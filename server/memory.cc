#include "server/memory.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <thread>

namespace plimsoll::server {
namespace {

// No thread recurses deeper than a message is nested (100) or an expression of SQL (1000 levels, SQLITE_LIMIT_EXPR_DEPTH, of some 200 bytes).
constexpr size_t kStackBytes = size_t{2} << 20;

}  // namespace

void reserve_little_memory() {
  ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(2U, std::thread::hardware_concurrency())));
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) == 0) {
    ::pthread_attr_setstacksize(&attributes, kStackBytes);
    ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
  }
}

}  // namespace plimsoll::server
