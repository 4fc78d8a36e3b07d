// Debug information as elfutils' libdw reads it: what it can read and our own reader cannot (docs/symbolizing.md).
#pragma once

#include <memory>

#include "base/byte_reader.h"
#include "base/result.h"
#include "symbolizer/dwarf/second_reader.h"

namespace plimsoll::symbolizer {

// Borrows both files' bytes; an empty supplement: there is none at hand. A relocatable file is copied, and its relocations are
// applied; addresses are then those of elf/module_layout.h. Opens no file, whatever the DWARF names: split DWARF is not read.
// kCorrupt or kUnsupported where libdw cannot read the file, kTooLarge for relocatable files beyond 1 GiB.
Result<std::unique_ptr<SecondReader>> open_libdw(Bytes debug, Bytes supplement);

}  // namespace plimsoll::symbolizer
