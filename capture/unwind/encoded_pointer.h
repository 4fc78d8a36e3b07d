// Addresses as exception frames hold them: DW_EH_PE_* (LSB Core, "DWARF Exception Header Encoding").
#pragma once

#include <cstdint>
#include <optional>

#include "base/byte_reader.h"

namespace plimsoll::unwind {

// Reads one; `address` is the ELF address of the reader's first byte, for those that are relative to their own place.
// Nothing for encodings that need what is known only at run time, and for absent values (DW_EH_PE_omit).
std::optional<uint64_t> read_encoded(ByteReader& reader, uint8_t encoding, uint64_t address);

}  // namespace plimsoll::unwind
