#include "server/memory/large_blocks.h"

#ifndef PLIMSOLL_SANITIZED

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace plimsoll::server {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMaxMappings = 4096;
// Twice as many slots, and an address has one of so many that follow each other: at half load all of them are taken once in 10^19 times.
constexpr size_t kSlots = 2 * kMaxMappings;
constexpr size_t kProbes = 64;

std::atomic<size_t> min_mapped_bytes{SIZE_MAX};

// The mappings that there are, and their sizes. Without a lock, since a process that is forked while another thread holds one could not allocate.
struct Slot {
  std::atomic<uintptr_t> address = 0;  // 0: free
  size_t bytes = 0;                    // written and read by who has the block
};
std::array<Slot, kSlots> slots;
std::atomic<size_t> mappings{0};

Slot& slot_at(uintptr_t address, size_t probe) {
  constexpr uint64_t kGoldenRatio =
      0x9E37'79B9'7F4A'7C15;  // Knuth, The Art of Computer Programming, vol. 3, 6.4
  return slots[(((address / kPageBytes * kGoldenRatio) >> 32U) + probe) % kSlots];
}

// nullptr: there is none free.
Slot* claim_slot(uintptr_t address) {
  for (size_t probe = 0; probe < kProbes; ++probe) {
    Slot& slot = slot_at(address, probe);
    uintptr_t free = 0;
    if (slot.address.compare_exchange_strong(free, address, std::memory_order_relaxed)) {
      return &slot;
    }
  }
  return nullptr;
}

// nullptr: malloc() gave it.
Slot* slot_of(uintptr_t address) {
  if (address % kPageBytes != 0 || mappings.load(std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  for (size_t probe = 0; probe < kProbes; ++probe) {
    Slot& slot = slot_at(address, probe);
    if (slot.address.load(std::memory_order_relaxed) == address) {
      return &slot;
    }
  }
  return nullptr;
}

// nullptr: not mapped. `alignment` is a power of two.
void* map_block(size_t bytes, size_t alignment) {
  if (bytes == 0 || bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) {
    return nullptr;
  }
  const size_t wanted = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const size_t room = alignment > kPageBytes ? alignment : 0;
  void* const mapping =
      ::mmap(nullptr, wanted + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return nullptr;
  }
  const auto begin = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t address = room == 0 ? begin : (begin + alignment - 1) / alignment * alignment;
  if (address != begin) {
    ::munmap(mapping, address - begin);
  }
  if (const size_t behind = begin + wanted + room - (address + wanted); behind != 0) {
    ::munmap(reinterpret_cast<void*>(address + wanted), behind);  // NOLINT(performance-no-int-to-ptr)
  }
  Slot* const slot =
      mappings.fetch_add(1, std::memory_order_relaxed) < kMaxMappings ? claim_slot(address) : nullptr;
  if (slot == nullptr) {
    mappings.fetch_sub(1, std::memory_order_relaxed);
    ::munmap(reinterpret_cast<void*>(address), wanted);  // NOLINT(performance-no-int-to-ptr)
    return nullptr;
  }
  slot->bytes = wanted;
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void* allocate_once(size_t bytes, size_t alignment) {
  if (bytes >= min_mapped_bytes.load(std::memory_order_relaxed)) {
    if (void* const block = map_block(bytes, alignment)) {
      return block;
    }
  }
  if (alignment <= alignof(std::max_align_t)) {
    return std::malloc(std::max<size_t>(bytes, 1));
  }
  // aligned_alloc() wants a multiple of the alignment.
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  return rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
}

// As the standard has it: what the program has set is asked for memory until it gives up.
void* allocate(size_t bytes, size_t alignment) {
  while (true) {
    if (void* const block = allocate_once(bytes, alignment)) {
      return block;
    }
    if (const std::new_handler handler = std::get_new_handler()) {
      handler();
    } else {
      throw std::bad_alloc();
    }
  }
}

void release(void* block) {
  Slot* const slot = slot_of(reinterpret_cast<uintptr_t>(block));
  if (slot == nullptr) {
    std::free(block);
    return;
  }
  // Unmapped last: another thread may be given the address at once, and needs a slot of its own for it.
  const size_t bytes = slot->bytes;
  slot->address.store(0, std::memory_order_relaxed);
  mappings.fetch_sub(1, std::memory_order_relaxed);
  ::munmap(block, bytes);
}

}  // namespace

void map_large_blocks(size_t min_bytes) {
  min_mapped_bytes.store(min_bytes, std::memory_order_relaxed);
}

}  // namespace plimsoll::server

// All other forms of the standard library call these.
void* operator new(size_t bytes) {
  return plimsoll::server::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return plimsoll::server::allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* block) noexcept {
  plimsoll::server::release(block);
}
void operator delete(void* block, size_t /*bytes*/) noexcept {
  plimsoll::server::release(block);
}
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
  plimsoll::server::release(block);
}
void operator delete(void* block, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  plimsoll::server::release(block);
}

#else

namespace plimsoll::server {

void map_large_blocks(size_t /*min_bytes*/) {}

}  // namespace plimsoll::server

#endif
