// Which sampled code of a binary people know by a name: for this folder's sources and their tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"
#include "query/fdo/code/function_extents.h"
#include "query/fdo/counts/binary_counts.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::annotate {

// A frame's name as the store shows it: demangled, without the suffixes of clones.
std::string shown_name(const symbolizer::SymtabFrame& frame);
// The name of the function that an extent is a part of. `symbols`: null where there are none.
std::string shown_name(const fdo::FunctionExtent& extent, const symbolizer::Symtab* symbols);

// Adds those of the symbol table, in the code that no extent covers, where samples there are of `function`: local functions that
// `strip -x` took from .symtab, or .plt. Costs a pass over the table, in that case alone.
void add_extents_of_table(std::string_view function, const elf::ElfFile& binary,
                          const symbolizer::Symtab& symbols, std::span<const fdo::BinaryCounts> counts,
                          std::vector<fdo::FunctionExtent>& extents);

struct FunctionMatch {
  const std::vector<fdo::FunctionExtent>& extents;  // function_extents()
  const symbolizer::Symtab* symbols;                // null: none
  std::span<const fdo::BinaryCounts> counts;        // by event
  std::string_view binary;                          // what messages call it
};

// Addresses with samples of any event, ascending, in extents that are called `function`: by the name that people read, or as linked.
//
// kNotFound where there are none: names the functions with the most samples, or, of a function that was inlined everywhere, those that it
// was inlined into.
Result<std::vector<uint64_t>> sampled_addresses_of(std::string_view function, const FunctionMatch& match);

}  // namespace plimsoll::annotate
