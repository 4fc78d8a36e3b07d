#include "formats/legacy_count.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/printable.h"
#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kMaxCountNameBytes = 100;

// "goroutine" of "goroutine profile: total 7".
std::optional<std::string_view> name_in(std::string_view line) {
  TextScanner scanner(line);
  const std::string_view name = scanner.take_word();
  const bool is_header = !name.empty() && name.size() <= kMaxCountNameBytes && scanner.take("profile:") &&
                         scanner.take("total") && scanner.take_integer().value_or(-1) >= 0 &&
                         scanner.rest().empty();
  return is_header ? std::optional(name) : std::nullopt;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

bool looks_like_legacy_count(std::string_view text) {
  return name_in(first_line(text)).has_value();
}

Result<ApplicationProfile> read_legacy_count(std::string_view text, const Limits& limits) {
  LineReader lines(text);
  const std::string_view first = lines.next().value_or(std::string_view());
  const auto name = name_in(first);
  if (!name) {
    return bad_line(lines, first, "\"NAME profile: total COUNT\"");
  }
  ApplicationProfile profile;
  profile.types = {{printable(*name), "count"}};
  LegacyRows rows(profile, limits, AddressKind::kReturns);
  std::vector<uint64_t> addresses;
  auto line = lines.next();
  for (; line && !begins_memory_map(*line); line = lines.next()) {
    if (is_blank_or_comment(*line)) {
      continue;
    }
    TextScanner scanner(*line);
    const auto count = scanner.take_integer();
    if (!count || *count < 0 || !take_addresses(scanner, addresses)) {
      return bad_line(lines, *line, "\"COUNT @ ADDRESSES\"");
    }
    if (auto added = rows.add(addresses, std::array{*count}); !added) {
      return propagate(added);
    }
  }
  rows.read_memory_map(line, lines);
  return profile;
}

}  // namespace plimsoll::formats
