#include "query/views/predicate.h"

#include <algorithm>
#include <regex>

namespace plimsoll::query {
namespace {

// std::regex recurses with the length of pattern and subject: both are bounded, so that neither can exhaust the stack.
constexpr size_t kMaxPatternBytes = 500;
constexpr size_t kMaxSubjectBytes = 4096;

std::string_view trim(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) {
    return {};
  }
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

std::unexpected<Error> malformed(std::string_view text) {
  return with_hint(with_field(fail(ErrorCode::kInvalid, "\"{}\" is not a filter", text), "where"),
                   "write dim=value, dim!=value, dim=~regex, dim!~regex or \"dim in a,b\"");
}

}  // namespace

struct Predicate::Pattern {
  std::regex regex;
};

Result<Predicate> Predicate::parse(std::string_view text) {
  const size_t name_end = text.find_first_of("=! \t");
  if (name_end == std::string_view::npos || name_end == 0) {
    return malformed(text);
  }
  const auto dimension = find_dimension(text.substr(0, name_end));
  if (!dimension) {
    return with_field(propagate(dimension, "reading the filter \"{}\"", text), "where");
  }
  Predicate predicate;
  predicate.dimension_ = *dimension;
  std::string_view rest = trim(text.substr(name_end));
  bool is_pattern = false;
  if (rest.starts_with("=~") || rest.starts_with("!~")) {
    is_pattern = true;
    predicate.negated_ = rest.front() == '!';
    rest.remove_prefix(2);
  } else if (rest.starts_with("!=")) {
    predicate.negated_ = true;
    rest.remove_prefix(2);
    predicate.values_.emplace_back(trim(rest));
  } else if (rest.starts_with("=")) {
    rest.remove_prefix(1);
    predicate.values_.emplace_back(trim(rest));
  } else if (rest.starts_with("in ")) {
    rest.remove_prefix(3);
    while (true) {
      const size_t comma = rest.find(',');
      predicate.values_.emplace_back(trim(rest.substr(0, comma)));
      if (comma == std::string_view::npos) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
  } else {
    return malformed(text);
  }
  if (!is_pattern) {
    return predicate;
  }
  const std::string_view pattern = trim(rest);
  if (pattern.size() > kMaxPatternBytes) {
    return with_field(fail(ErrorCode::kInvalid, "a regular expression of over {} bytes", kMaxPatternBytes),
                      "where");
  }
  try {  // std::regex reports errors no other way
    predicate.pattern_ =
        std::make_shared<Pattern>(std::regex(pattern.begin(), pattern.end(), std::regex::ECMAScript));
  } catch (const std::regex_error& error) {
    return with_field(
        fail(ErrorCode::kInvalid, "\"{}\" is not a regular expression: {}", pattern, error.what()), "where");
  }
  return predicate;
}

bool Predicate::matches(const std::string& value) const {
  if (pattern_ == nullptr) {
    return std::ranges::find(values_, value) != values_.end();
  }
  try {  // a pattern can also prove too complex for the subject
    return std::regex_search(
        value.begin(), value.begin() + static_cast<std::ptrdiff_t>(std::min(value.size(), kMaxSubjectBytes)),
        pattern_->regex);
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace plimsoll::query
