// The mappings at the end of legacy profiles: /proc/PID/maps, or the shorter form that some handlers write.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "formats/application_profile.h"

namespace plimsoll::formats {

// Executable mappings, in the order of the text:
//
//   00400000-00fcb000 r-xp 00001000 fd:01 1234    /srv/server
//   0x400000-0xfcb000: server (@1000) 3f4e1c7a
//   build=/srv/server                             "$build" stands for it in the paths that follow
//
// Other lines are left out, as other readers of these texts do. At most `max_mappings`.
std::vector<Mapping> parse_maps_text(std::string_view text, size_t max_mappings);

// The mapping that holds an address, as index plus one; 0: none.
//
// Where no mapping holds it, one that begins further up in its file may still cover it: handlers write the executable
// part alone of files that the linker lays out in several.
class MappingIndex {
 public:
  // Of mappings that overlap the first in their order wins; of another what lies before the next known one counts.
  explicit MappingIndex(const std::vector<Mapping>& mappings);
  uint32_t find(uint64_t address) const;

 private:
  struct Range {
    uint64_t end;
    uint32_t mapping_plus_1;
  };
  using Ranges = std::map<uint64_t, Range>;  // by start, without overlap
  static void add(Ranges& ranges, uint64_t start, Range range);
  static uint32_t find_in(const Ranges& ranges, uint64_t address);

  Ranges mapped_;
  Ranges before_them_;  // from the byte of the file's offset 0 to the mapping
};

}  // namespace plimsoll::formats
