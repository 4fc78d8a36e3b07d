// Raw profiles of the archive in one file, as they were accepted.
//
//   8    "PLIMPACK"
//   4    version (1)
//   4    0
//   then for each profile, by its number in the archive:
//   8    its number
//   8    when it was received, wall clock in ns
//   4    1 if it was imported, else 0
//   4    bytes of its ID
//   8    bytes of the encoded profile
//        ID, encoded profile
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "store/archive/archive.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {

class ProfilePack {
 public:
  ProfilePack();

  // By ascending numbers.
  void add(const ArchivedProfile& profile);

  bool is_empty() const { return range_.last == 0; }
  const PackRange& range() const { return range_; }
  const std::string& content() const { return content_; }
  // fingerprint_of_id() of the last profile.
  int64_t last_fingerprint() const { return last_fingerprint_; }

 private:
  std::string content_;
  PackRange range_;
  int64_t last_fingerprint_ = 0;
};

// By which a profile differs from one of the same number in another archive; never 0.
int64_t fingerprint_of_id(std::string_view id);

// Those of a pack. kCorrupt for what is none; kUnsupported for a later version.
Result<std::vector<ArchivedProfile>> parse_pack(Bytes content);

}  // namespace plimsoll::store
