#include "daemon/events/pmu_terms.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace plimsoll::perf {
namespace {

constexpr size_t kMaxTerms = 64;
constexpr size_t kMaxRanges = 64;
constexpr int kBits = 64;

std::string_view without_spaces_around(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// Takes what comes before the separator, and the separator, from `text`.
std::string_view take_until(char separator, std::string_view& text) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::optional<int> bit_number(std::string_view text) {
  int bit = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bit);
  const bool is_bit =
      parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && bit >= 0 && bit < kBits;
  return is_bit ? std::optional(bit) : std::nullopt;
}

// "3" or "0-7".
std::optional<FormatField::Bits> bits_from(std::string_view text) {
  const bool is_range = text.find('-') != std::string_view::npos;
  const auto first = bit_number(take_until('-', text));
  const auto last = is_range ? bit_number(text) : first;
  if (!first || !last || *last < *first) {
    return std::nullopt;
  }
  return FormatField::Bits{*first, *last};
}

bool overlaps(const FormatField& field, const FormatField::Bits& bits) {
  return std::ranges::any_of(field.ranges, [&](const FormatField::Bits& other) {
    return bits.first <= other.last && other.first <= bits.last;
  });
}

uint64_t low_bits(int count) {
  return count >= kBits ? UINT64_MAX : (uint64_t{1} << static_cast<unsigned>(count)) - 1;
}

}  // namespace

Result<std::vector<Term>> parse_terms(std::string_view text) {
  if (text.size() > kMaxTermsBytes) {
    return fail(ErrorCode::kTooLarge, "terms of {} bytes", text.size());
  }
  std::vector<Term> terms;
  while (!text.empty()) {
    std::string_view term = take_until(',', text);
    const bool has_value = term.find('=') != std::string_view::npos;
    const std::string_view name = without_spaces_around(take_until('=', term));
    const std::string_view value = without_spaces_around(term);
    if (name.empty() || (has_value && value.empty()) || terms.size() == kMaxTerms) {
      return fail(ErrorCode::kInvalid, "\"{}={}\" is not a term, or one too many", name, value);
    }
    terms.push_back({std::string(name), std::string(value)});
  }
  return terms;
}

Result<uint64_t> parse_term_value(std::string_view text) {
  std::string_view digits = text;
  const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (is_hex) {
    digits.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
    return fail(ErrorCode::kInvalid, "\"{}\" is not a 64-bit number", text);
  }
  return value;
}

Result<FormatField> parse_format(std::string_view text) {
  constexpr std::array<std::string_view, 3> kFields{"config", "config1", "config2"};
  std::string_view rest = without_spaces_around(text);
  const std::string_view name = take_until(':', rest);
  FormatField field;
  while (field.config < static_cast<int>(kFields.size()) &&
         kFields[static_cast<size_t>(field.config)] != name) {
    ++field.config;
  }
  if (field.config == static_cast<int>(kFields.size())) {
    return fail(ErrorCode::kUnsupported, "a term that fills \"{}\"", name);
  }
  while (!rest.empty() && field.ranges.size() < kMaxRanges) {
    const auto bits = bits_from(take_until(',', rest));
    if (!bits || overlaps(field, *bits)) {
      return fail(ErrorCode::kCorrupt, "\"{}\" is not a term format", text);
    }
    field.ranges.push_back(*bits);
  }
  if (field.ranges.empty() || !rest.empty()) {
    return fail(ErrorCode::kCorrupt, "\"{}\" is not a term format", text);
  }
  return field;
}

Status fill_field(const FormatField& field, uint64_t value, EventCode& code) {
  uint64_t& config = field.config == 0 ? code.config : field.config == 1 ? code.config1 : code.config2;
  uint64_t rest = value;
  for (const FormatField::Bits& bits : field.ranges) {
    const int width = bits.last - bits.first + 1;
    const auto shift = static_cast<unsigned>(bits.first);
    config = (config & ~(low_bits(width) << shift)) | (rest & low_bits(width)) << shift;
    rest = width >= kBits ? 0 : rest >> static_cast<unsigned>(width);
  }
  return rest == 0 ? Status()
                   : fail(ErrorCode::kInvalid, "the value {:#x} is too large for its field", value);
}

}  // namespace plimsoll::perf
