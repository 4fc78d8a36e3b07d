// Runs a call frame program (DWARF 5, section 6.4.2) up to an address.
#pragma once

#include "daemon/unwind/cfi_table.h"

namespace plimsoll::unwind {

// The programs of an entry: the CIE's makes the first row, the FDE's the others.
struct CfiProgram {
  const CfiTable::Cie& cie;
  Bytes table;  // what the offsets are of
  uint32_t offset = 0;
  uint32_t size_bytes = 0;
  uint64_t begin = 0;          // address of the entry's first row
  uint64_t table_address = 0;  // of the table's first byte, for encoded addresses
};

// The row that holds at `address`. False where the program is malformed, or has more than 10,000 instructions.
bool run(const CfiProgram& program, uint64_t address, UnwindRow& row);

}  // namespace plimsoll::unwind
