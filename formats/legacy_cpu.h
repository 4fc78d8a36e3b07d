// CPU profiles of gperftools (CPUPROFILE=FILE), binary: words of 8 or 4 bytes,
//
//   0, 3 (words of the header that follow), version, period in microseconds, 0
//   samples, depth, address... leaf first         for each stack
//   0, 1, 0
//   the text of the memory map
//
// https://gperftools.github.io/gperftools/cpuprofile-fileformat.html
#pragma once

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/application_profile.h"
#include "formats/legacy_rows.h"

namespace plimsoll::formats {

bool looks_like_legacy_cpu(Bytes content);

// Types: samples and cpu. The leaf is where the program was, the others are return addresses, unless told otherwise;
// where a profiler's signal handler has written the leaf twice, once as a return address, that one is left out.
Result<ApplicationProfile> read_legacy_cpu(Bytes content, const Limits& limits = {},
                                           AddressKind address_kind = AddressKind::kReturnsButLeaf);

}  // namespace plimsoll::formats
