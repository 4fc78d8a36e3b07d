// Reads the numbers and marks of line-based text formats. Borrows the text; never throws, never reads past its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plimsoll::formats {

// Takes lines off a text, and counts them.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  // The next line without its end and without spaces around it; nothing after the last one.
  std::optional<std::string_view> next();
  uint64_t number() const { return number_; }  // of the line that next() gave, from 1
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  uint64_t number_ = 0;
};

// Within one line. Each take_...() skips spaces first, and takes nothing where it gives false or nothing.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view literal);
  std::optional<int64_t> take_integer();
  // With or without "0x" before it; at most 64 bits.
  std::optional<uint64_t> take_hex();
  // Up to the next space.
  std::string_view take_word();
  std::string_view rest();  // without spaces before it

 private:
  void skip_spaces();
  std::string_view rest_;
};

// "# ..." or nothing.
bool is_blank_or_comment(std::string_view line);

// "--- Memory map: ---" or "MAPPED_LIBRARIES:": what follows is the text of mappings.
bool begins_memory_map(std::string_view line);

// Reads "@ 0x1 0x2", leaf first, to the end of the line. False where something else stands there.
bool take_addresses(TextScanner& scanner, std::vector<uint64_t>& addresses);

}  // namespace plimsoll::formats
