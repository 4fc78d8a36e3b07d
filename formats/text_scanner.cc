#include "formats/text_scanner.h"

#include <algorithm>
#include <charconv>

namespace plimsoll::formats {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string_view without_spaces_around(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  const size_t end = text.find_last_not_of(kSpaces);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

// The number at the front of `text`, which is taken off; nothing where there is none, or it is too large.
template <typename Number>
std::optional<Number> take_number(std::string_view& text, int base) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<std::string_view> LineReader::next() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  ++number_;
  return without_spaces_around(line);
}

void TextScanner::skip_spaces() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size()));
}

bool TextScanner::take(std::string_view literal) {
  skip_spaces();
  if (!rest_.starts_with(literal)) {
    return false;
  }
  rest_.remove_prefix(literal.size());
  return true;
}

std::optional<int64_t> TextScanner::take_integer() {
  skip_spaces();
  return take_number<int64_t>(rest_, 10);
}

std::optional<uint64_t> TextScanner::take_hex() {
  skip_spaces();
  std::string_view digits = rest_;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
  }
  const auto value = take_number<uint64_t>(digits, 16);
  if (value) {
    rest_ = digits;
  }
  return value;
}

std::string_view TextScanner::take_word() {
  skip_spaces();
  const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpaces));
  rest_.remove_prefix(word.size());
  return word;
}

std::string_view TextScanner::rest() {
  skip_spaces();
  return rest_;
}

bool is_blank_or_comment(std::string_view line) {
  return line.empty() || line.front() == '#';
}

bool begins_memory_map(std::string_view line) {
  return line.find("--- Memory map: ---") != std::string_view::npos ||
         line.find("MAPPED_LIBRARIES:") != std::string_view::npos;
}

bool take_addresses(TextScanner& scanner, std::vector<uint64_t>& addresses) {
  addresses.clear();
  if (!scanner.take("@")) {
    return false;
  }
  while (!scanner.rest().empty()) {
    const bool is_marked = scanner.rest().starts_with("0x");
    const auto address = scanner.take_hex();
    if (!is_marked || !address) {
      return false;
    }
    addresses.push_back(*address);
  }
  return true;
}

}  // namespace plimsoll::formats
