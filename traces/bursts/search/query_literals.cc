#include "traces/bursts/search/query_literals.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace plimsoll::traces {
namespace {

struct Unit {
  std::string_view name;
  double factor = 1;
};

constexpr std::array<Unit, 4> kTimes{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 7> kSizes{{{"B", 1},
                                      {"KB", 1e3},
                                      {"MB", 1e6},
                                      {"GB", 1e9},
                                      {"KiB", 1024},
                                      {"MiB", 1024.0 * 1024},
                                      {"GiB", 1024.0 * 1024 * 1024}}};
constexpr std::array<Unit, 1> kShares{{{"%", 1e4}}};

std::optional<uint64_t> integer_in(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  text.remove_prefix(is_hex ? 2 : 0);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> scaled(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& known : units) {
    const double value = number * known.factor;
    // All times, sizes and shares that there are; beyond it nothing is exact.
    constexpr double kMax = 9e18;
    if (known.name == unit && value >= 0 && value <= kMax) {
      return static_cast<uint64_t>(std::llround(value));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> number_in(std::string_view text, FieldType type) {
  switch (type) {
    case FieldType::kTime:
      return scaled(text, kTimes);
    case FieldType::kShare:
      return scaled(text, kShares);
    case FieldType::kBytes:
    case FieldType::kAny: {
      const auto number = integer_in(text);
      return number ? number : scaled(text, kSizes);
    }
    case FieldType::kCount:
    case FieldType::kId:
    case FieldType::kThread:
      return integer_in(text);
    case FieldType::kText:
      break;
  }
  return std::nullopt;
}

std::string_view expected_for(FieldType type) {
  switch (type) {
    case FieldType::kTime:
      return "a time with its unit, such as 50ms";
    case FieldType::kShare:
      return "a share, such as 50%";
    case FieldType::kBytes:
      return "a size, such as 4096 or 1MB";
    case FieldType::kCount:
      return "a whole number";
    case FieldType::kId:
      return "an ID, such as 17 or 0x7f";
    case FieldType::kThread:
      return "a thread ID, such as 4711";
    case FieldType::kText:
      return "a word or a text in quotes";
    case FieldType::kAny:
      break;
  }
  return "a number, a word or a text in quotes";
}

}  // namespace plimsoll::traces
