#include "base/zeroed_memory.h"

#include <sys/mman.h>

#include <memory>
#include <new>
#include <utility>

namespace plimsoll {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

}  // namespace

ZeroedMemory::ZeroedMemory(size_t bytes) {
  const bool is_huge = bytes >= kHugePageBytes;
  mapped_bytes_ = bytes + (is_huge ? kHugePageBytes : 1);  // room to start at a huge page; never nothing
  mapping_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = mapping_;
  if (is_huge) {
    size_t room = mapped_bytes_;
    std::align(kHugePageBytes, bytes, data_, room);
    ::madvise(data_, bytes, MADV_HUGEPAGE);
  }
}

ZeroedMemory::ZeroedMemory(ZeroedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(std::exchange(other.data_, nullptr)) {}

ZeroedMemory::~ZeroedMemory() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_bytes_);
  }
}

}  // namespace plimsoll
