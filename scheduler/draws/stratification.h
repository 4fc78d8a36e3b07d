// Strata by what machines are: a part of the fleet for each combination of some attributes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/machine.pb.h"

namespace plimsoll::scheduler {

// What strata can be made of: platform, datacenter, cluster, ...
std::span<const std::string_view> stratum_attributes();

class Stratification {
 public:
  // Names of stratum_attributes(), none twice; none at all: one stratum. kInvalid names the nearest for others.
  static Result<Stratification> make(std::vector<std::string> attributes);

  // "platform=AMD Zen 3, datacenter=eu-1", as profiles and tables name it; an attribute that is not known is "?". Of no attributes: "".
  std::string stratum_of(const wire::Machine& machine) const;

 private:
  explicit Stratification(std::vector<std::string> attributes) : attributes_(std::move(attributes)) {}
  std::vector<std::string> attributes_;
};

}  // namespace plimsoll::scheduler
