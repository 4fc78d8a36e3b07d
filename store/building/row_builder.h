// From a raw profile to rows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/dictionaries/dictionary_builder.h"
#include "store/model/batch.h"
#include "store/model/row.h"

namespace plimsoll::store {

// A location that came with its name.
struct NamedLocation {
  uint32_t location;                     // dictionary ID
  std::vector<wire::NamedFrame> frames;  // innermost first
};

struct BuiltProfile {
  uint32_t origin = 0;
  ProfileRecord record;
  std::vector<Row> rows;
  std::vector<NamedLocation> named;
  std::vector<uint32_t> binaries;  // dictionary ID of each of the profile's binaries
};

// Adds what the profile's rows need to the dictionaries, and gives the rows. The profile must be valid (wire::validate). Pure: no database is
// touched. kConflict where an event has another unit or kind than in the dictionaries, which are to be rolled back then.
Result<BuiltProfile> build_rows(const wire::RawProfile& profile, int64_t archive_sequence,
                                DictionaryBuilder& dictionaries);

}  // namespace plimsoll::store
