// Memory for large tables.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace plimsoll {

// As std::allocator; what takes a huge page or more is asked for in huge pages, so that a read that misses the caches does not
// look for its page as well, and filling it takes few faults. A kernel without them gives others.
template <typename T>
class HugePageAllocator {
 public:
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  explicit(false) HugePageAllocator(const HugePageAllocator<U>& /*other*/) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) {
      return static_cast<T*>(::operator new(bytes));
    }
    void* const memory = ::operator new(bytes, kAlignment);
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kHugePageBytes) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, kAlignment);
    }
  }

  bool operator==(const HugePageAllocator&) const = default;

 private:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  static constexpr std::align_val_t kAlignment{kHugePageBytes};
};

// For as much as an answer may have; reserve before filling it, since growing copies.
template <typename T>
using LargeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace plimsoll
