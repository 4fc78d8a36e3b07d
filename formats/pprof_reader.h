// pprof's profile.proto; decompressed, where it came compressed.
#pragma once

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

// Checks every index into the string table, and every ID of mappings, locations and functions, which may be any number
// and stand in any order. drop_frames are dropped (drop_frames.h). Of labels those with texts are taken, the
// last one of a key; left out are numeric ones, comments and default_sample_type. An error names the field.
//
// Cost: memory of a small multiple of the decoded size, within the limits; parts are parsed one at a time.
Result<ApplicationProfile> read_pprof(Bytes encoded, const Limits& limits = {});

}  // namespace plimsoll::formats
