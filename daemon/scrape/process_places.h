// Where the code of a live process lies: its mappings, with the build IDs and program headers of its binaries.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include "capture/identity/processes.h"
#include "formats/to_raw_profile.h"

namespace plimsoll::scrape {

// Borrows the mappings; one raw profile. An address that the process has nothing at now is looked for in the mappings
// that its profile told of.
class ProcessPlaces : public formats::CodePlaces {
 public:
  ProcessPlaces(const identity::Mappings& live, const std::vector<formats::Mapping>& told)
      : live_(live), told_(told) {}

  formats::CodePlace find(const formats::Location& location, wire::RawProfile& profile) override;

 private:
  const identity::Mappings& live_;
  formats::OwnMappings told_;
  boost::unordered_flat_map<const identity::BinaryInfo*, uint32_t> binaries_;
};

// Index of the binary in the profile, where it is added if need be.
uint32_t add_binary(const identity::BinaryInfo& info, wire::RawProfile& profile);

}  // namespace plimsoll::scrape
