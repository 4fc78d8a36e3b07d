#include "capture/identity/rule_template.h"

#include <algorithm>

#include "base/printable.h"

namespace plimsoll::identity {
namespace {

constexpr size_t kMaxExpandedBytes = 256;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

// The name at the start of `text`: digits alone, or what a name may consist of.
std::string_view bare_name(std::string_view text) {
  const bool is_number = !text.empty() && is_digit(text.front());
  const auto end = std::ranges::find_if_not(text, is_number ? is_digit : is_name_character);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

}  // namespace

Result<RuleTemplate> RuleTemplate::parse(std::string_view text) {
  RuleTemplate parsed;
  const std::string whole(text);
  while (!text.empty()) {
    if (text.front() != '$') {
      const size_t end = std::min(text.find('$'), text.size());
      parsed.pieces_.push_back({std::string(text.substr(0, end)), false});
      text.remove_prefix(end);
      continue;
    }
    text.remove_prefix(1);
    if (text.starts_with('$')) {
      parsed.pieces_.push_back({"$", false});
      text.remove_prefix(1);
      continue;
    }
    const bool has_braces = text.starts_with('{');
    text.remove_prefix(has_braces ? 1 : 0);
    const std::string_view name = bare_name(text);
    text.remove_prefix(name.size());
    if (name.empty() || (has_braces && !text.starts_with('}'))) {
      return with_hint(fail(ErrorCode::kInvalid, "\"{}\" has a $ that no name follows", whole),
                       "write $1, ${name}, or $$ for a dollar");
    }
    text.remove_prefix(has_braces ? 1 : 0);
    parsed.pieces_.push_back({std::string(name), true});
  }
  return parsed;
}

std::vector<std::string_view> RuleTemplate::names() const {
  std::vector<std::string_view> names;
  for (const Piece& piece : pieces_) {
    if (piece.is_name) {
      names.emplace_back(piece.text);
    }
  }
  return names;
}

std::string RuleTemplate::expand(
    const std::function<std::string_view(std::string_view name)>& value_of) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.is_name ? value_of(piece.text) : std::string_view(piece.text);
  }
  return printable(std::string_view(text).substr(0, kMaxExpandedBytes));
}

}  // namespace plimsoll::identity
