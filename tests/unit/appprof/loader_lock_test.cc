// What runs with the loader's lock held must not allocate: an allocator that takes stacks may wait for that lock with its own held.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdio.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "appprof/mappings.h"

namespace {

using Callback = int (*)(dl_phdr_info*, size_t, void*);

// Of this thread, since counting began.
struct Counts {
  bool is_lock_held = false;
  int objects = 0;      // that the loader told of
  int allocations = 0;  // with its lock held
};
constinit thread_local Counts t_counts;

struct Visit {
  Callback callback;
  void* argument;
};

int visit_counted(dl_phdr_info* info, size_t size, void* argument) {
  const Visit& visit = *static_cast<const Visit*>(argument);
  ++t_counts.objects;
  t_counts.is_lock_held = true;
  const int result = visit.callback(info, size, visit.argument);
  t_counts.is_lock_held = false;
  return result;
}

}  // namespace

// In place of the C library's, which holds the lock while it calls back.
extern "C" int dl_iterate_phdr(Callback callback, void* argument) {
  static const auto real = reinterpret_cast<int (*)(Callback, void*)>(::dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  Visit visit{callback, argument};
  return real(&visit_counted, &visit);
}

[[gnu::noinline]] void* operator new(size_t size) {
  t_counts.allocations += t_counts.is_lock_held ? 1 : 0;
  void* block = std::malloc(size);
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, size_t /*size*/) noexcept {
  std::free(block);
}

namespace plimsoll::appprof {
namespace {

TEST(AppprofLoaderLock, NothingIsAllocatedWhileObjectsAreListed) {
  t_counts = {};
  const CodeMap code = CodeMap::read();
  const Counts counts = t_counts;
  EXPECT_GT(counts.objects, 1) << "they are listed through this program";
  EXPECT_EQ(counts.allocations, 0);
  const LoadedObject* const found = code.find_object(reinterpret_cast<uintptr_t>(&::fopen));
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->path.starts_with('/')) << found->path;
}

}  // namespace
}  // namespace plimsoll::appprof
