// From small keys to IDs, where there are millions of both: one cache miss a look-up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/huge_page_allocator.h"

namespace plimsoll::store {

// How many look-ups ahead of its own a key is prefetched: as long as memory takes, and few enough to be still there.
inline constexpr int kLookUpsAhead = 16;

// Open addressing, at most half full. A Key has == and hash(), whose highest bits differ where keys do. IDs are not 0.
template <typename Key>
class KeyIndex {
 public:
  // 0 where the key is new.
  uint32_t find(const Key& key) const { return slots_.empty() ? 0 : slots_[slot_of(key)].id; }

  // Where find() of the key begins to read: to be prefetched some look-ups ahead by callers that look up many keys, so that their
  // cache misses pass at the same time. (Prefetching here would be lost: gcc takes a function that does nothing else for one
  // without effect.)
  const void* place_of(const Key& key) const {
    return slots_.empty() ? nullptr : &slots_[key.hash() >> shift_];
  }

  // For so many keys in all; adding up to that many moves none.
  void reserve(size_t keys) {
    if (const size_t slots = std::bit_ceil(2 * keys); slots > std::max(slots_.size(), kFirstSlots)) {
      grow_to(slots);
    }
  }

  uint64_t memory_bytes() const { return slots_.size() * sizeof(Slot); }

  // `key` is one that find() did not find. Where there is no memory for it, nothing changes.
  void add(const Key& key, uint32_t id) {
    if ((used_ + 1) * 2 > slots_.size()) {
      grow_to(slots_.empty() ? kFirstSlots : slots_.size() * 2);
    }
    slots_[slot_of(key)] = {key, id};
    ++used_;
  }

  // Does nothing for a key that is not there. Allocates nothing.
  void remove(const Key& key) {
    if (find(key) == 0) {
      return;
    }
    size_t free = slot_of(key);
    // A key further on that was placed beyond the slot which becomes free moves there, or find() would stop before it (Knuth, The Art of
    // Computer Programming, vol. 3, 6.4, algorithm R).
    for (size_t slot = next(free); slots_[slot].id != 0; slot = next(slot)) {
      const size_t wanted = slots_[slot].key.hash() >> shift_;
      if (distance(wanted, slot) >= distance(free, slot)) {
        slots_[free] = slots_[slot];
        free = slot;
      }
    }
    slots_[free].id = 0;
    --used_;
  }

 private:
  static constexpr size_t kFirstSlots = 64;

  struct Slot {
    Key key;
    uint32_t id = 0;  // 0: free
  };

  using Slots = std::vector<Slot, HugePageAllocator<Slot>>;

  // The key's, or the free one that it gets.
  size_t slot_of(const Key& key) const {
    size_t slot = key.hash() >> shift_;
    while (slots_[slot].id != 0 && !(slots_[slot].key == key)) {
      slot = next(slot);
    }
    return slot;
  }

  size_t next(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  // Forward, around the end.
  size_t distance(size_t from, size_t to) const { return (to - from) & (slots_.size() - 1); }

  void grow_to(size_t slots) {
    Slots larger(slots);
    const Slots before = std::exchange(slots_, std::move(larger));
    shift_ = std::countl_zero(slots_.size()) + 1;
    for (const Slot& slot : before) {
      if (slot.id != 0) {
        slots_[slot_of(slot.key)] = slot;
      }
    }
  }

  Slots slots_;  // a power of two of them
  size_t used_ = 0;
  int shift_ = 0;  // which leaves as many bits of a hash as a slot's number has
};

}  // namespace plimsoll::store
