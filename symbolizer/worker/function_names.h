// Functions at places of one binary, by its symbol table: what stacks need that are not a profile's. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::symbolizer {

struct CodePlace {
  uint64_t address = 0;         // as the program headers have it
  bool is_file_offset = false;  // where those are unknown
  bool operator==(const CodePlace&) const = default;
};

// As people read them, one for each place; empty: unknown. The one whose code it is, whatever was inlined there.
std::vector<std::string> functions_at(const Symtab& table, std::span<const CodePlace> places);

inline constexpr size_t kMaxPlacesOfText = 1000;
// "e1136,f40": ELF addresses and file offsets in hexadecimal digits.
std::string text_of_places(std::span<const CodePlace> places);
// kInvalid for anything else, and for more than kMaxPlacesOfText.
Result<std::vector<CodePlace>> parse_places(std::string_view text);

}  // namespace plimsoll::symbolizer
