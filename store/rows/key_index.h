// From small keys to IDs, where there are millions of both: one cache miss a look-up.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/huge_page_allocator.h"

namespace plimsoll::store {

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

  // `key` is one that find() did not find.
  void add(const Key& key, uint32_t id) {
    if ((used_ + 1) * 2 > slots_.size()) {
      grow();
    }
    slots_[slot_of(key)] = {key, id};
    ++used_;
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
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  void grow() {
    const Slots before = std::move(slots_);
    slots_ = Slots(before.empty() ? kFirstSlots : before.size() * 2);
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
