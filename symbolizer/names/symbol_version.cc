#include "symbolizer/names/symbol_version.h"

#include <algorithm>
#include <array>

#include "symbolizer/names/characters.h"

namespace plimsoll::symbolizer {
namespace {

// "foo@@@V1" in an assembler's source is "@" or "@@" by whether it defines the symbol; link-time optimization may show it as it is written.
constexpr size_t kMaxSigns = 3;

// Versions have dots and numbers of their own (GLIBC_2.34, libfoo.so.1): without_clone_suffixes() would take these for suffixes.
constexpr std::array<std::string_view, 6> kCloneWords{".cold",       ".part.", ".isra.",
                                                      ".constprop.", ".llvm.", ".lto_priv"};

bool is_version_character(char character) {
  return is_word_character(character) || character == '.' || character == '-' || character == '+';
}

size_t clones_begin(std::string_view version) {
  size_t begin = version.size();
  for (const std::string_view word : kCloneWords) {
    begin = std::min(begin, version.find(word));
  }
  return begin;
}

}  // namespace

VersionedName split_version(std::string_view linkage_name) {
  const VersionedName whole{.name = linkage_name, .version = {}, .clones = {}};
  const size_t at = linkage_name.find('@');
  if (at == 0 || at == std::string_view::npos) {
    return whole;
  }
  const size_t from = std::min(linkage_name.find_first_not_of('@', at), linkage_name.size());
  const std::string_view rest = linkage_name.substr(from);
  const std::string_view version = rest.substr(0, clones_begin(rest));
  const bool is_version = from - at <= kMaxSigns && !version.empty() && version != "plt" &&
                          std::ranges::all_of(rest, is_version_character);
  if (!is_version) {
    return whole;
  }
  return {.name = linkage_name.substr(0, at),
          .version = version,
          .clones = rest.substr(version.size()),
          .is_old = from - at == 1};
}

}  // namespace plimsoll::symbolizer
