// From an application's profile to the parts of a raw profile.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/application_profile.h"
#include "formats/maps_text.h"
#include "proto/profile.pb.h"

namespace plimsoll::formats {

// Where the code at an address lies: kind, owner and address of a wire::Locations entry.
struct CodePlace {
  wire::LocationKind kind = wire::UNRESOLVED;
  uint32_t owner = 0;
  uint64_t address = 0;
};

// Who knows what lay at the addresses of a process.
class CodePlaces {
 public:
  virtual ~CodePlaces() = default;

  // Adds binaries to `profile` where they are not there yet. The process is entry 0 of its processes.
  virtual CodePlace find(const Location& location, wire::RawProfile& profile) = 0;
};

// By the mappings in the profile: file offsets, since the program headers are unknown.
class OwnMappings : public CodePlaces {
 public:
  // Borrows the mappings.
  explicit OwnMappings(const std::vector<Mapping>& mappings);
  CodePlace find(const Location& location, wire::RawProfile& profile) override;

 private:
  const std::vector<Mapping>& mappings_;
  std::vector<uint32_t> binary_plus_1_;  // of each mapping, once it was needed
};

// Adds events, locations, frames, stacks and samples to `raw`, whose process 0 and thread 0 are there. Locations that
// came with functions are NAMED; the others lie where `places` says. Rows of the same stack become one. A hit is a sample
// where all of a type stand for as much (sample_counts.h), which the scale then says; else a unit of the value, and the scale is 1.
//
// kUnsupported for negative values (a difference of two profiles); kTooLarge where the sums or the names have no room
// in a raw profile.
Status add_samples(const ApplicationProfile& application, CodePlaces& places, wire::RawProfile& raw);

}  // namespace plimsoll::formats
