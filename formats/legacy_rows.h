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

class LegacyRows {
 public:
  LegacyRows(ApplicationProfile& profile, const Limits& limits) : profile_(profile), limits_(limits) {}

  // `return_addresses` leaf first. kTooLarge beyond the limits.
  Status add(std::span<const uint64_t> return_addresses, std::span<const int64_t> values);

  // Looks for the memory map from `line` on, and puts every location into its mapping.
  void read_memory_map(std::optional<std::string_view> line, LineReader& lines);

 private:
  uint32_t location(uint64_t return_address);

  ApplicationProfile& profile_;
  const Limits& limits_;
  boost::unordered_flat_map<uint64_t, uint32_t> locations_;  // by address
  std::vector<uint32_t> stack_;
};

// A real number as an integer, cut as pprof cuts it; nothing where it does not fit.
std::optional<int64_t> whole(double value);

// "line 7 of the profile is not ...: \"...\"".
std::unexpected<Error> bad_line(const LineReader& lines, std::string_view line, std::string_view expected);

}  // namespace plimsoll::formats
