// Any profile of an application, told apart by its content.
#pragma once

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

// pprof; gperftools' CPU profiles; text of heaps (gperftools, old Go, jemalloc, Java), growth, contention (Java's too)
// and counts (goroutines); files of one of these behind its symbols; each compressed (formats/decompress.h) or not. kCorrupt, with the known formats as a
// hint, where it is none of them.
Result<ApplicationProfile> read_profile(Bytes content, const Limits& limits = {});

}  // namespace plimsoll::formats
