// "Did you mean": the nearest known word to a misspelt one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace plimsoll {

// The known word with the fewest edits (insert, delete, replace, swap two neighbours) from `word`, if at most a third of its
// letters, and at least one edit, are off; nothing otherwise. Costs |word| x |known word| for each known
// word.
std::optional<std::string_view> nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace plimsoll
