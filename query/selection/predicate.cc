#include "query/selection/predicate.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace plimsoll::query {
namespace {

// What pprof's expressions look at.
constexpr std::array<std::string_view, 3> kNamesOfFrames{"function", "file", "binary"};

constexpr size_t kMaxPatternBytes = 500;
constexpr int64_t kMaxPatternMemoryBytes = int64_t{1} << 20;

enum class Comparison { kEqual, kMatch, kIn };

struct Operator {
  std::string_view text;
  Comparison comparison;
  bool negated;
};

// The first that fits is meant: longer ones before those that they begin with.
constexpr std::array<Operator, 5> kOperators{{
    {"=~", Comparison::kMatch, false},
    {"!~", Comparison::kMatch, true},
    {"!=", Comparison::kEqual, true},
    {"=", Comparison::kEqual, false},
    {"in ", Comparison::kIn, false},
}};

std::string_view trim(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) {
    return {};
  }
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> values;
  while (true) {
    const size_t comma = list.find(',');
    values.emplace_back(trim(list.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return values;
    }
    list.remove_prefix(comma + 1);
  }
}

std::unexpected<Error> malformed(std::string_view text) {
  return with_hint(with_field(fail(ErrorCode::kInvalid, "\"{}\" is not a filter", text), "where"),
                   "write dim=value, dim!=value, dim=~regex, dim!~regex or \"dim in a,b\"");
}

Result<std::shared_ptr<const re2::RE2>> compile(std::string_view parameter, std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return with_field(fail(ErrorCode::kInvalid, "a regular expression of over {} bytes", kMaxPatternBytes),
                      std::string(parameter));
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxPatternMemoryBytes);
  options.set_dot_nl(true);
  auto compiled = std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) {
    return with_field(
        fail(ErrorCode::kInvalid, "\"{}\" is not a regular expression: {}", pattern, compiled->error()),
        std::string(parameter));
  }
  return compiled;
}

}  // namespace

Predicate Predicate::equal_to(std::string_view dimension, std::string_view value) {
  Predicate predicate;
  predicate.text_ = fmt::format("{}={}", dimension, value);
  predicate.dimension_ = *find_dimension(dimension);
  predicate.values_.emplace_back(value);
  return predicate;
}

Result<Predicate> Predicate::of_frames(std::string_view parameter, std::string_view pattern, bool negated) {
  auto compiled = compile(parameter, pattern);
  if (!compiled) {
    return propagate(compiled);
  }
  Predicate predicate;
  predicate.text_ = fmt::format("{}={}", parameter, pattern);
  predicate.dimension_ = *find_dimension(kNamesOfFrames.front());
  predicate.looks_at_all_names_ = true;
  predicate.negated_ = negated;
  predicate.pattern_ = std::move(*compiled);
  return predicate;
}

Result<Predicate> Predicate::parse(std::string_view text) {
  const size_t name_end = text.find_first_of("=! \t");
  if (name_end == std::string_view::npos || name_end == 0) {
    return malformed(text);
  }
  const auto dimension = find_dimension(text.substr(0, name_end));
  if (!dimension) {
    return with_field(propagate(dimension, "reading the filter \"{}\"", text), "where");
  }
  const std::string_view condition = trim(text.substr(name_end));
  const auto used = std::ranges::find_if(
      kOperators, [&](const Operator& candidate) { return condition.starts_with(candidate.text); });
  if (used == kOperators.end()) {
    return malformed(text);
  }
  const std::string_view operand = trim(condition.substr(used->text.size()));
  Predicate predicate;
  predicate.text_ = text;
  predicate.dimension_ = *dimension;
  predicate.negated_ = used->negated;
  switch (used->comparison) {
    case Comparison::kEqual:
      predicate.values_.emplace_back(operand);
      break;
    case Comparison::kIn:
      predicate.values_ = split_list(operand);
      break;
    case Comparison::kMatch: {
      auto pattern = compile("where", operand);
      if (!pattern) {
        return propagate(pattern);
      }
      predicate.pattern_ = std::move(*pattern);
      break;
    }
  }
  return predicate;
}

std::vector<std::string_view> Predicate::names() const {
  return looks_at_all_names_ ? std::vector<std::string_view>(kNamesOfFrames.begin(), kNamesOfFrames.end())
                             : std::vector<std::string_view>{dimension_.name};
}

bool Predicate::matches(const std::string& value) const {
  return pattern_ == nullptr ? std::ranges::find(values_, value) != values_.end()
                             : re2::RE2::PartialMatch(value, *pattern_);
}

}  // namespace plimsoll::query
