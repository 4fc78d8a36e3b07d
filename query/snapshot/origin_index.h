// Whose profiles a snapshot has, by number: what queries would otherwise look up by name for each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "store/rows/dictionaries.h"

namespace plimsoll::query {

// Immutable; borrows nothing. Every list is by dictionary ID of an origin; entry 0 means nothing. Made in about 200 ns an origin.
struct OriginIndex {
  OriginIndex() = default;
  explicit OriginIndex(const store::Dictionaries& dictionaries);

  // A machine in a draw; a machine's profiles that were not drawn are one too. Versions of its attributes are one machine.
  struct Unit {
    uint32_t machine = 0;
    // A part of the fleet that one draw drew from separately. Numbered by name, then by when the draw began: the same part in
    // successive draws stands side by side.
    uint32_t stratum = 0;
    // The same part in any draw.
    uint32_t part = 0;
  };

  std::vector<Unit> sampling_units;
  std::vector<uint32_t> unit_of_origin;
  // A series of snapshots on a machine; dense from 0.
  std::vector<uint32_t> series_of_origin;
  size_t machines = 0;
  size_t series = 0;

  uint32_t machine_of(uint32_t origin) const { return sampling_units[unit_of_origin[origin]].machine; }
  uint32_t stratum_of(uint32_t origin) const { return sampling_units[unit_of_origin[origin]].stratum; }
};

}  // namespace plimsoll::query
