// Requests of a fleet on which a new version is rolled out host by host, slower in one bucket or nowhere.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

// What else goes on, which is no regression.
enum class Disturbance : uint8_t {
  kNone,  // attributes are correlated: kernel follows hw in 9 of 10 hosts, vm follows disk in 8 of 10 requests
  kSlowHost,  // a host of the new version takes 2.5 times as long
  kOtherMix,  // hosts of the new version get more requests of slow types and vms
  kBusyHour,  // 1 of 24 hours takes 1.6 times as long, and the new version has more of its requests
};
std::string name_of(Disturbance disturbance);

struct VersionGeneratorOptions {
  uint64_t seed = 1;
  size_t requests = 30'000;
  uint32_t hosts = 400;
  double new_share = 0.3;  // of hosts
  double factor = 1;       // of requests of the new version with hw=1 and disk=1
  double host_sigma = 0.08;
  Disturbance disturbance = Disturbance::kNone;
};

// Attributes type 3, hw 3, disk 3, region 4, vm 5 and kernel 3; hw, region and kernel are a host's. Times are log-normal (0.4) around a
// median of type, hw, disk, vm, region and host (host_sigma), and 3 % are stalls of 2 to 20 times as long.
ComparedRequests generated_versions(const VersionGeneratorOptions& options);

}  // namespace plimsoll::diagnosis
