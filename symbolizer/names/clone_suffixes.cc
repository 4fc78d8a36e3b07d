#include "symbolizer/names/clone_suffixes.h"

#include <algorithm>
#include <array>

#include "symbolizer/names/characters.h"

namespace plimsoll::symbolizer {
namespace {

// Without a number: what of a function hardly ever runs, or handles its exceptions, and other names for the same code.
constexpr std::array<std::string_view, 4> kWords{"cold", "eh", "lto_priv", "localalias"};

// With a number, whatever the word: compilers, linkers and optimizers number the clones and parts that they make. But not code that was
// written, or runs, as a function of its own: bodies of parallel loops, later halves of coroutines, Go's initializers, versions for some processors.
constexpr std::array<std::string_view, 14> kOwnCode{
    "_omp_fn",  "_omp_cpyfn", "omp_outlined", "omp_outlined_debug__",
    "omp_par",  "_loopfn",    "init",         "default",
    "resolver", "ifunc",      "resume",       "destroy",
    "cleanup",  "actor"};
constexpr std::array<std::string_view, 11> kProcessors{"arch_",  "avx", "sse",  "ssse", "fma", "bmi",
                                                       "popcnt", "aes", "gfni", "mmx",  "_M"};

bool is_of_own_code(std::string_view word) {
  return std::ranges::find(kOwnCode, word) != kOwnCode.end() ||
         std::ranges::any_of(kProcessors, [&](std::string_view prefix) { return word.starts_with(prefix); });
}

enum class BareNumbers { kStay, kGo };

std::string_view without_number(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view digits = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  return !digits.empty() && std::ranges::all_of(digits, is_digit) ? name.substr(0, dot) : name;
}

std::string_view without_last_suffix(std::string_view name, BareNumbers bare_numbers) {
  const std::string_view rest = without_number(name);
  const bool has_number = rest.size() != name.size();
  const size_t dot = rest.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view word = rest.substr(dot + 1);
    const bool is_word =
        !word.empty() && !is_digit(word.front()) && std::ranges::all_of(word, is_word_character);
    if (is_word &&
        (std::ranges::find(kWords, word) != kWords.end() || (has_number && !is_of_own_code(word)))) {
      return rest.substr(0, dot);
    }
    if (is_word && has_number && is_of_own_code(word)) {
      return name;  // its number is part of its name
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
