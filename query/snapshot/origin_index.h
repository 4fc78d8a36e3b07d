// Whose profiles a snapshot has, by number: what queries would otherwise look up by name for each of them.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/append_only_list.h"
#include "store/model/dictionaries.h"

namespace plimsoll::query {

// Immutable. Every list of origins is by dictionary ID; entry 0 means nothing. Copies share the lists.
struct OriginIndex {
  // A machine in a draw; a machine's profiles that were not drawn are one too. Versions of its attributes are one machine.
  struct Unit {
    uint32_t machine = 0;
    // A part of the fleet that one draw drew from separately, numbered as they came.
    uint32_t stratum = 0;
    // The same part in any draw.
    uint32_t part = 0;
  };

  AppendOnlyList<Unit> sampling_units;
  AppendOnlyList<uint32_t> unit_of_origin;
  // Where its events begin among Dictionaries::origin_events; one more than there are origins.
  AppendOnlyList<uint32_t> first_event{0};
  AppendOnlyList<int64_t> middle_ns;  // of its window: what decides whether it is in a range of time
  // A series of snapshots on a machine; dense from 0.
  AppendOnlyList<uint32_t> series_of_origin;
  // What is observed by itself: a machine in a draw, and each series there; dense from 0.
  AppendOnlyList<uint32_t> thing_of_origin;
  // Where a stratum stands among all, which are ordered by name, then by when the draw began: the same part in successive draws stands
  // side by side.
  std::vector<uint32_t> place_of_stratum;
  size_t machines = 0;
  size_t series = 0;
  size_t observed_things = 0;

  uint32_t machine_of(uint32_t origin) const { return sampling_units[unit_of_origin[origin]].machine; }
  uint32_t stratum_of(uint32_t origin) const { return sampling_units[unit_of_origin[origin]].stratum; }
};

// Makes the index, and one with what has been added since. One thread.
class OriginIndexer {
 public:
  // Adds the origins that it has not seen: about 200 ns for each of them, and 100 ns for each stratum there is.
  void extend(const store::Dictionaries& dictionaries);

  const OriginIndex& index() const { return index_; }

 private:
  // Numbers, dense from 0, in the order in which keys come.
  template <typename Key>
  class Numbers {
   public:
    uint32_t of(const Key& key) {
      return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
    }
    size_t size() const { return numbers_.size(); }

   private:
    boost::unordered_flat_map<Key, uint32_t> numbers_;
  };
  struct Stratum {
    uint32_t draw;
    std::string name;
  };
  struct Draw {
    std::string id;
    int64_t start_ns;  // of its first window
  };

  void add(const store::OriginEntry& origin);
  void order_strata();

  OriginIndex index_;
  std::vector<uint32_t> machine_of_entry_;
  Numbers<std::string> machine_numbers_;
  Numbers<std::string> draw_numbers_;
  Numbers<std::string> names_of_series_;
  Numbers<std::string> part_numbers_;
  Numbers<uint64_t> series_numbers_;   // of a machine and a name
  Numbers<uint64_t> thing_numbers_;    // of a unit and a series
  Numbers<uint64_t> unit_numbers_;     // of a machine and a draw
  Numbers<uint64_t> stratum_numbers_;  // of a draw and a part
  std::vector<Draw> draws_;
  std::vector<Stratum> strata_;
  bool must_order_ = false;
};

}  // namespace plimsoll::query
