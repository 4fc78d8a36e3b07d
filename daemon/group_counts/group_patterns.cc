#include "daemon/group_counts/group_patterns.h"

#include <re2/re2.h>

namespace plimsoll {
namespace {

constexpr int64_t kMaxMemoryBytes = 1 << 20;
constexpr size_t kMaxExpressions = 100;

}  // namespace

GroupPatterns::GroupPatterns() = default;
GroupPatterns::GroupPatterns(GroupPatterns&&) noexcept = default;
GroupPatterns& GroupPatterns::operator=(GroupPatterns&&) noexcept = default;
GroupPatterns::~GroupPatterns() = default;

Result<GroupPatterns> GroupPatterns::compile(const std::vector<std::string>& expressions) {
  if (expressions.size() > kMaxExpressions) {
    return fail(ErrorCode::kInvalid, "{} regular expressions, over {}", expressions.size(), kMaxExpressions);
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxMemoryBytes);
  GroupPatterns patterns;
  for (const std::string& expression : expressions) {
    auto compiled = std::make_unique<const re2::RE2>(expression, options);
    if (!compiled->ok()) {
      return fail(ErrorCode::kInvalid, "\"{}\" is not a regular expression: {}", expression,
                  compiled->error());
    }
    patterns.expressions_.push_back(std::move(compiled));
  }
  return patterns;
}

std::optional<size_t> GroupPatterns::first_match(std::string_view path) const {
  for (size_t i = 0; i < expressions_.size(); ++i) {
    if (re2::RE2::PartialMatch({path.data(), path.size()}, *expressions_[i])) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll
