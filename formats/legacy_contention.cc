#include "formats/legacy_contention.h"

#include <array>
#include <optional>
#include <vector>

#include "base/time.h"
#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

struct ContentionHeader {
  int64_t cycles_per_second = 0;  // 0: not told
  int64_t sampling_period = 1;
  int64_t ms_since_reset = 0;
  int64_t discarded = 0;
};

// True where the line is "KEY = INTEGER" with a key that belongs here.
bool take_attribute(std::string_view line, ContentionHeader& header) {
  struct Attribute {
    std::string_view key;
    int64_t* value;
  };
  const std::array<Attribute, 4> attributes{{
      {"cycles/second", &header.cycles_per_second},
      {"sampling period", &header.sampling_period},
      {"ms since reset", &header.ms_since_reset},
      {"discarded samples", &header.discarded},
  }};
  TextScanner scanner(line);
  for (const Attribute& attribute : attributes) {
    if (!scanner.take(attribute.key)) {
      continue;
    }
    if (!scanner.take("=")) {
      return false;
    }
    const auto value = scanner.take_integer();
    if (!value || *value < 0 || !scanner.rest().empty()) {
      return false;
    }
    *attribute.value = *value;
    return true;
  }
  return false;
}

// Delays come in cycles of the processor.
std::optional<int64_t> delay_ns(int64_t cycles, const ContentionHeader& header) {
  if (header.sampling_period == 0 || header.cycles_per_second == 0) {
    return cycles;
  }
  const double cycles_per_ns = static_cast<double>(header.cycles_per_second) / 1e9;
  return whole(static_cast<double>(cycles) * static_cast<double>(header.sampling_period) / cycles_per_ns);
}

std::optional<int64_t> contentions(int64_t sampled, const ContentionHeader& header) {
  int64_t scaled = sampled;
  const bool overflows =
      header.sampling_period > 0 && __builtin_mul_overflow(sampled, header.sampling_period, &scaled);
  return overflows ? std::nullopt : std::optional(scaled);
}

// "CYCLES COUNT @ ADDRESSES" as contentions and nanoseconds.
bool take_row(std::string_view line, const ContentionHeader& header, std::array<int64_t, 2>& values,
              std::vector<uint64_t>& addresses) {
  TextScanner scanner(line);
  const auto cycles = scanner.take_integer();
  const auto count = scanner.take_integer();
  if (!cycles || !count || *cycles < 0 || *count < 0 || !take_addresses(scanner, addresses)) {
    return false;
  }
  const auto scaled_count = contentions(*count, header);
  const auto scaled_ns = delay_ns(*cycles, header);
  if (!scaled_count || !scaled_ns) {
    return false;
  }
  values = {*scaled_count, *scaled_ns};
  return true;
}

ApplicationProfile profile_of(const ContentionHeader& header) {
  ApplicationProfile profile;
  profile.types = {{"contentions", "count"}, {"delay", "nanoseconds"}};
  profile.period_type = {"contentions", "count"};
  profile.period = header.sampling_period;
  profile.discarded = static_cast<uint64_t>(header.discarded);
  if (__builtin_mul_overflow(header.ms_since_reset, kNsPerMs, &profile.duration_ns)) {
    profile.duration_ns = 0;
  }
  return profile;
}

}  // namespace

bool looks_like_legacy_contention(std::string_view text) {
  return text.starts_with("--- contentionz ") || text.starts_with("--- mutex:") ||
         text.starts_with("--- contention:");
}

Result<ApplicationProfile> read_legacy_contention(std::string_view text, const Limits& limits,
                                                  AddressKind address_kind) {
  LineReader lines(text);
  const std::string_view first = lines.next().value_or(std::string_view());
  if (!looks_like_legacy_contention(first)) {
    return bad_line(lines, first, "the header of a contention profile");
  }
  ContentionHeader header;
  auto line = lines.next();
  while (line && (is_blank_or_comment(*line) || line->find('=') != std::string_view::npos)) {
    if (!is_blank_or_comment(*line) && !take_attribute(*line, header)) {
      return bad_line(lines, *line, "an attribute of a contention profile that is known here");
    }
    line = lines.next();
  }
  ApplicationProfile profile = profile_of(header);
  LegacyRows rows(profile, limits, address_kind);
  std::vector<uint64_t> addresses;
  std::array<int64_t, 2> values{};
  for (; line && !line->starts_with("---") && !begins_memory_map(*line); line = lines.next()) {
    if (is_blank_or_comment(*line)) {
      continue;
    }
    if (!take_row(*line, header, values, addresses)) {
      return bad_line(lines, *line, "\"CYCLES COUNT @ ADDRESSES\"");
    }
    if (auto added = rows.add(addresses, values); !added) {
      return propagate(added);
    }
  }
  rows.read_memory_map(line, lines);
  return profile;
}

}  // namespace plimsoll::formats
