#include "symbolizer/names/clone_suffixes.h"

#include <algorithm>
#include <array>

#include "symbolizer/names/characters.h"

namespace plimsoll::symbolizer {
namespace {

struct Suffix {
  std::string_view word;
  bool needs_number;
};

constexpr std::array<Suffix, 10> kSuffixes{{
    {".part", true},
    {".isra", true},
    {".constprop", true},
    {".specialized", true},
    {".clone", true},
    {".llvm", true},
    {".__uniq", true},
    {".cold", false},
    {".lto_priv", false},
    {".localalias", false},
}};

enum class BareNumbers { kStay, kGo };

std::string_view without_number(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view digits = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  return !digits.empty() && std::ranges::all_of(digits, is_digit) ? name.substr(0, dot) : name;
}

std::string_view without_last_suffix(std::string_view name, BareNumbers bare_numbers) {
  const std::string_view rest = without_number(name);
  const bool has_number = rest.size() != name.size();
  for (const auto& [word, needs_number] : kSuffixes) {
    if (rest.ends_with(word) && (has_number || !needs_number)) {
      return rest.substr(0, rest.size() - word.size());
    }
  }
  return bare_numbers == BareNumbers::kGo ? rest : name;
}

std::string_view without_suffixes(std::string_view name, BareNumbers bare_numbers) {
  while (true) {
    const std::string_view rest = without_last_suffix(name, bare_numbers);
    if (rest.size() == name.size()) {
      return name;
    }
    name = rest;
  }
}

bool is_identifier(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_word_character);
}

// By a scheme that may leave dots in names: Rust's older one does, and a static initializer is named after its file.
bool has_own_dots(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_GLOBAL__");
}

}  // namespace

std::string_view without_clone_suffixes(std::string_view linkage_name) {
  const std::string_view bare = without_suffixes(linkage_name, BareNumbers::kGo);
  if (is_identifier(bare)) {
    return bare;
  }
  return has_own_dots(linkage_name) ? without_suffixes(linkage_name, BareNumbers::kStay) : linkage_name;
}

}  // namespace plimsoll::symbolizer
