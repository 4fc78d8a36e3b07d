// From a dictionary's entries to their IDs.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll::store {

// Of the parts that make an entry what it is: integers, enumerations and texts.
template <typename... Parts>
uint64_t hash_of(const Parts&... parts) {
  size_t hash = 0;
  (boost::hash_combine(hash, parts), ...);
  return hash;
}

// Holds hashes and IDs alone: the entries stay where they are, in the list that each call is given. An entry is found with
// two cache misses, however long its texts are.
template <typename Entry>
class EntryIndex {
 public:
  // The ID of the entry, which has that hash; 0 where it is new.
  uint32_t find(uint64_t hash, const Entry& entry, std::span<const Entry> entries) const {
    // An entry whose hash another one had got before it is found under the next free number.
    for (auto known = ids_.find(hash); known != ids_.end(); known = ids_.find(++hash)) {
      if (entries[known->second] == entry) {
        return known->second;
      }
    }
    return 0;
  }

  // `id` is that of an entry which find() did not find.
  void add(uint64_t hash, uint32_t id) {
    while (!ids_.emplace(hash, id).second) {
      ++hash;
    }
  }

  // Of the entry that was added last. Does nothing where it is not there.
  void remove_last(uint64_t hash, uint32_t id) {
    auto known = ids_.find(hash);
    while (known != ids_.end() && known->second != id) {
      known = ids_.find(++hash);
    }
    if (known != ids_.end()) {
      ids_.erase(known);
    }
  }

 private:
  boost::unordered_flat_map<uint64_t, uint32_t> ids_;
};

}  // namespace plimsoll::store
