#include "query/views/predicate.h"

#include <algorithm>
#include <regex>

namespace plimsoll::query {
namespace {

constexpr size_t kMaxPatternBytes = 500;
constexpr size_t kMaxSubjectBytes = 4096;

// libstdc++ tries the ways to match one after the other unless told otherwise: then a pattern of a few bytes takes
// exponential time, or recurses with the length of the subject until the stack is exhausted. In polynomial mode it
// follows all of them together, which rules out back-references only.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial;

// A search that starts anew at each byte of the subject is quadratic; one that may first skip anything is not.
std::regex compile(const std::string& pattern) {
  const std::regex checked(pattern, kSyntax);  // on its own: "a)(b" would become valid within the group
  return std::regex("(?:.|[\\r\\n])*(?:" + pattern + ")", kSyntax);
}

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
    predicate.pattern_ = std::make_shared<Pattern>(compile(std::string(pattern)));
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
  const auto end = value.begin() + static_cast<std::ptrdiff_t>(std::min(value.size(), kMaxSubjectBytes));
  return std::regex_search(value.begin(), end, pattern_->regex,
                           std::regex_constants::match_continuous | std::regex_constants::match_any);
}

}  // namespace plimsoll::query
