#include "symbolizer/dwarf/aranges.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/byte_reader.h"

namespace plimsoll::symbolizer {
namespace {

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i)));
  }
  return text;
}

// A set of 32-bit DWARF with addresses of 8 bytes, whose first entry is aligned to 16.
std::string set_of(uint64_t unit, const std::vector<AddressRange>& ranges, uint16_t version = 2) {
  std::string body = number(version, 2) + number(unit, 4) + "\x08" + std::string(1, '\0') + number(0, 4);
  for (const AddressRange& range : ranges) {
    body += number(range.from, 8) + number(range.to - range.from, 8);
  }
  body += std::string(16, '\0');
  return number(body.size(), 4) + body;
}

// "unit 1c: 1000-1010 2000-2020"
std::string text_of(const std::string& section, uint64_t budget = 1000) {
  const auto found = read_aranges(as_bytes(section), budget);
  std::string text;
  for (const auto& [unit, ranges] : std::map(found.begin(), found.end())) {
    text += fmt::format("unit {:x}:", unit);
    for (const AddressRange& range : ranges) {
      text += fmt::format(" {:x}-{:x}", range.from, range.to);
    }
    text += '\n';
  }
  return text;
}

TEST(Aranges, EachUnitHasItsPieces) {
  EXPECT_EQ(text_of(set_of(0, {{0x1000, 0x1010}, {0x2000, 0x2020}}) + set_of(0x1c, {{0x3000, 0x3001}})),
            "unit 0: 1000-1010 2000-2020\n"
            "unit 1c: 3000-3001\n");
  EXPECT_EQ(text_of(""), "");
}

TEST(Aranges, EmptyOnesAreNone) {
  EXPECT_EQ(text_of(set_of(0, {{0x1000, 0x1000}, {0x2000, 0x2020}})), "unit 0: 2000-2020\n");
}

TEST(Aranges, SixtyFourBitSetsAreReadWithAddressesOfFourBytes) {
  const std::string body = number(2, 2) + number(0x40, 8) + "\x04" + std::string(1, '\0')  // ends at byte 24
                           + number(0x1000, 4) + number(0x10, 4) + number(0, 8);
  EXPECT_EQ(text_of(number(0xffffffff, 4) + number(body.size(), 8) + body), "unit 40: 1000-1010\n");
}

TEST(Aranges, ADamagedSetEndsTheReading) {
  const std::string sound = set_of(0, {{0x1000, 0x1010}});
  const std::string expected = "unit 0: 1000-1010\n";
  EXPECT_EQ(text_of(sound + set_of(0x1c, {{0x3000, 0x3001}}, 7)), expected) << "of another version";
  EXPECT_EQ(text_of(sound + number(1000, 4) + "short"), expected) << "longer than the section";
  EXPECT_EQ(text_of(sound + "\x01"), expected);
  EXPECT_EQ(text_of(set_of(0, {{UINT64_MAX - 1, UINT64_MAX + uint64_t{7}}, {0x1000, 0x1010}})), expected)
      << "beyond the last address";
}

TEST(Aranges, TheBudgetEndsTheReading) {
  EXPECT_EQ(text_of(set_of(0, {{0x1000, 0x1010}, {0x2000, 0x2020}}), 1), "unit 0: 1000-1010\n");
}

}  // namespace
}  // namespace plimsoll::symbolizer
