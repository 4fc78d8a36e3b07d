// What the readers of legacy text share: from rows of return addresses to samples of locations.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/application_profile.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {

// What the addresses of stacks are. A return address may be the first byte of the next function: the call lies before
// it.
enum class AddressKind {
  kReturns,         // return addresses, all of them
  kReturnsButLeaf,  // the leaf is where the program was
  kPlaces,          // places in code, as files have them that bring their symbols
};

class LegacyRows {
 public:
  LegacyRows(ApplicationProfile& profile, const Limits& limits, AddressKind address_kind)
      : profile_(profile), limits_(limits), address_kind_(address_kind) {}

  // `stack` leaf first. kTooLarge beyond the limits.
  Status add(std::span<const uint64_t> stack, std::span<const int64_t> values);

  // Looks for the memory map from `line` on, and puts every location into its mapping.
  void read_memory_map(std::optional<std::string_view> line, LineReader& lines);
  // Where nothing else can come before it.
  void read_memory_map_here(const LineReader& lines);

 private:
  uint32_t location(uint64_t address);

  ApplicationProfile& profile_;
  const Limits& limits_;
  const AddressKind address_kind_;
  boost::unordered_flat_map<uint64_t, uint32_t> locations_;  // by address
  std::vector<uint32_t> stack_;
};

// A real number as an integer, cut as pprof cuts it; nothing where it does not fit.
std::optional<int64_t> whole(double value);

// "line 7 of the profile is not ...: \"...\"".
std::unexpected<Error> bad_line(const LineReader& lines, std::string_view line, std::string_view expected);

}  // namespace plimsoll::formats
