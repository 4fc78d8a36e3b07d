// From a binary and what the fleet measured in it to the annotated code of a function.
//
//   auto annotation = annotate({.binary = elf, .symbols = &symtab, .counts = counts, .function = "parse", .name = "search"});
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "elf/elf_file.h"
#include "query/annotate/annotation.h"
#include "query/fdo/counts/binary_counts.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::annotate {

// Borrows all.
struct AnnotateInput {
  const elf::ElfFile& binary;
  const symbolizer::Symtab* symbols = nullptr;  // null: none are known
  std::span<const fdo::BinaryCounts> counts =
      {};                     // an event each, at least one; of addresses (to_addresses())
  std::string function = {};  // as people read it, or as linked
  std::string name = {};      // what messages call the binary
};

// Every sample of the counts that lies in the code of the function, its cold parts included, is counted at one instruction: the one that
// contains its address. Where none does, a row of its own stands there.
//
// kNotFound where no sampled function has the name (sampled_addresses_of()), kInvalid for a binary without symbols or code, kUnsupported for
// machines other than x86-64 and AArch64, kTooLarge where the code is. Parses an untrusted file: for the process that is confined. Costs
// some microseconds an instruction.
Result<Annotation> annotate(const AnnotateInput& input);

// Whether samples of the event lie at the instruction that caused them, as far as its name says: "cycles:pp", "ibs_op//", page faults.
bool is_precise(std::string_view event);

}  // namespace plimsoll::annotate
