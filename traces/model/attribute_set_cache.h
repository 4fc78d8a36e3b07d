// Lists of attributes that an AttributeTable has lately made a set of. Spans of a resource bring the same texts again and again: one hash and one
// comparison of a whole list, in place of two look-ups for each of its attributes.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace plimsoll::traces {

struct Attribute;

// Never more than kMaxLists lists of kMaxListBytes: half a MiB. Filled once without a hit for each list, as by attributes that differ from span to span,
// it is of no use, and keeps nothing any more. One thread at a time.
class AttributeSetCache {
 public:
  static constexpr size_t kMaxLists = 256;
  static constexpr size_t kMaxListBytes = 2048;  // with 8 bytes an attribute; longer ones are not kept

  // The set that was kept for the same attributes in the same order; nothing: it is unknown.
  std::optional<uint32_t> find(std::span<const Attribute> attributes);
  // For the list that find() was asked for last.
  void keep(uint32_t set);
  // What the lists mean has changed.
  void clear() { known_.clear(); }

 private:
  struct Known {
    std::string list = {};
    uint32_t set = 0;
  };

  void write_list(std::span<const Attribute> attributes);

  boost::unordered_flat_map<uint64_t, Known> known_;  // by hash; of two lists with one hash the later one
  std::string list_;                                  // at hand; empty: not to be kept
  uint64_t hash_ = 0;                                 // of it
  size_t hits_ = 0;                                   // since it was full
  bool is_useless_ = false;
};

}  // namespace plimsoll::traces
