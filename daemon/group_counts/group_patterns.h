// Which control groups an operator wants counted: regular expressions over their paths.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace plimsoll {

// Immutable: any thread may use it. Linear in the length of what is matched (RE2).
class GroupPatterns {
 public:
  // Matches nothing.
  GroupPatterns();
  GroupPatterns(GroupPatterns&&) noexcept;
  GroupPatterns& operator=(GroupPatterns&&) noexcept;
  ~GroupPatterns();

  // kInvalid names the expression that RE2 does not take, or says that they are over 100.
  static Result<GroupPatterns> compile(const std::vector<std::string>& expressions);

  // The first expression that matches a part of the path, by its place in the list; nothing: none does.
  std::optional<size_t> first_match(std::string_view path) const;

  bool empty() const { return expressions_.empty(); }

 private:
  std::vector<std::unique_ptr<const re2::RE2>> expressions_;
};

}  // namespace plimsoll
