#include "query/fdo/profile/function_name.h"

#include <algorithm>
#include <array>

#include "symbolizer/symtab/member_name.h"

namespace plimsoll::fdo {
namespace {

// Followed by a number.
constexpr std::array<std::string_view, 8> kNumbered{"llvm", "part",    "constprop", "isra",
                                                    "cold", "memprof", "lto_priv",  "warm"};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char character) { return character >= '0' && character <= '9'; });
}

// The text behind the last dot, which is not the first character.
std::string_view last_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot + 1);
}

std::string_view without(std::string_view name, std::string_view part) {
  return name.substr(0, name.size() - part.size() - 1);
}

std::string_view without_last_suffix(std::string_view name) {
  const std::string_view last = last_part(name);
  if (last == "cold") {
    return without(name, last);
  }
  if (!is_number(last)) {
    return name;
  }
  const std::string_view rest = without(name, last);
  const std::string_view word = last_part(rest);
  return std::ranges::find(kNumbered, word) != kNumbered.end() ? without(rest, word) : name;
}

}  // namespace

std::string_view name_when_compiled(std::string_view linkage_name) {
  while (true) {
    const std::string_view rest = without_last_suffix(linkage_name);
    if (rest.size() == linkage_name.size()) {
      return linkage_name;
    }
    linkage_name = rest;
  }
}

std::string_view stable_name(std::string_view linkage_name) {
  constexpr std::string_view kUnique = ".__uniq.";
  constexpr std::string_view kRustHash =
      "17h";  // the length of what follows, as all parts of such a name have it
  constexpr size_t kRustHashBytes = 3 + 16 + 1;  // "17h", the digits and an E
  std::string_view name = name_when_compiled(linkage_name);
  const size_t unique = name.rfind(kUnique);
  if (unique != std::string_view::npos && unique != 0 && is_number(name.substr(unique + kUnique.size()))) {
    name = name_when_compiled(name.substr(0, unique));
  }
  if (name.starts_with("_ZN") && name.ends_with('E') && name.size() > kRustHashBytes + 3) {
    const std::string_view hash = name.substr(name.size() - kRustHashBytes);
    const std::string_view digits = hash.substr(kRustHash.size(), hash.size() - kRustHash.size() - 1);
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (hash.starts_with(kRustHash) && std::ranges::all_of(digits, is_hex)) {
      return name.substr(0, name.size() - kRustHashBytes);
    }
  }
  return name;
}

bool is_part_of_function(std::string_view linkage_name) {
  while (true) {
    const std::string_view rest = without_last_suffix(linkage_name);
    const std::string_view suffix = linkage_name.substr(rest.size());
    if (suffix.starts_with(".cold") || suffix.starts_with(".part.")) {
      return true;
    }
    if (suffix.empty()) {
      return false;
    }
    linkage_name = rest;
  }
}

std::string_view profile_name(const symbolizer::SymtabFrame& frame) {
  const std::string_view name = name_when_compiled(frame.function);
  const std::string_view known_as = name_when_compiled(frame.known_as);
  return symbolizer::is_same_member(name, known_as) ? known_as : name;
}

bool can_stand_in_profile(std::string_view name) {
  constexpr std::string_view kMarks = "[#!0123456789";
  const auto is_odd = [](char character) { return static_cast<unsigned char>(character) <= ' '; };
  if (name.empty() || kMarks.find(name.front()) != std::string_view::npos) {
    return false;
  }
  return std::ranges::none_of(name, is_odd);
}

}  // namespace plimsoll::fdo
