#include "formats/legacy_rows.h"

#include "base/printable.h"
#include "formats/maps_text.h"

namespace plimsoll::formats {

uint32_t LegacyRows::location(uint64_t address) {
  const auto next = static_cast<uint32_t>(profile_.locations.size());
  const auto [entry, is_new] = locations_.try_emplace(address, next);
  if (is_new) {
    profile_.locations.push_back({.address = address});
  }
  return entry->second;
}

Status LegacyRows::add(std::span<const uint64_t> stack, std::span<const int64_t> values) {
  const size_t entries = profile_.samples.stack_entries() + stack.size();
  if (profile_.samples.size() >= limits_.max_entries || entries > limits_.max_stack_entries ||
      profile_.locations.size() + stack.size() > limits_.max_entries) {
    return fail(ErrorCode::kTooLarge, "the profile has over {} rows or addresses, or over {} on all stacks",
                limits_.max_entries, limits_.max_stack_entries);
  }
  stack_.clear();
  for (size_t i = 0; i < stack.size(); ++i) {
    const bool is_return =
        address_kind_ == AddressKind::kReturns || (address_kind_ == AddressKind::kReturnsButLeaf && i > 0);
    stack_.push_back(location(stack[i] - (is_return ? 1 : 0)));
  }
  profile_.samples.add(stack_, values);
  return {};
}

void LegacyRows::read_memory_map(std::optional<std::string_view> line, LineReader& lines) {
  while (line && !begins_memory_map(*line)) {
    line = lines.next();
  }
  read_memory_map_here(lines);
}

void LegacyRows::read_memory_map_here(const LineReader& lines) {
  profile_.mappings = parse_maps_text(lines.rest(), kMaxMappings);
  const MappingIndex mappings(profile_.mappings);
  for (Location& location : profile_.locations) {
    location.mapping_plus_1 = mappings.find(location.address);
  }
}

std::optional<int64_t> whole(double value) {
  constexpr double kLargest = 9.2e18;
  const bool fits = value > -kLargest && value < kLargest;  // NaN does not
  return fits ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

std::unexpected<Error> bad_line(const LineReader& lines, std::string_view line, std::string_view expected) {
  constexpr size_t kShownBytes = 80;
  return with_field(fail(ErrorCode::kCorrupt, "line {} of the profile is not {}: \"{}\"", lines.number(),
                         expected, printable(line.substr(0, kShownBytes))),
                    fmt::format("line {}", lines.number()));
}

}  // namespace plimsoll::formats
