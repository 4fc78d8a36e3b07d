// The definition of an experiment (docs/wsmeter.md) that all users of a server share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace plimsoll::store {

struct ExperimentDefinition {
  std::string name = {};
  std::string feature = {};  // what is tested, in a sentence; empty: not described
  std::string owner = {};    // empty: unknown
  // Those of the views experiment/plan and experiment/result, sorted by name: control, test, where, since, margin, ... What they mean is
  // checked by who defines (query::check_definition()), not by the store.
  std::vector<std::pair<std::string, std::string>> parameters = {};
  int64_t defined_ns = 0;  // wall clock; when the name was first defined
  int64_t changed_ns = 0;

  // The values of one parameter, in their order.
  std::vector<std::string> values_of(std::string_view parameter) const;
};

// Of one data directory.
inline constexpr size_t kMaxExperiments = 1000;
// Of one definition.
inline constexpr size_t kMaxExperimentNameBytes = 64;
inline constexpr size_t kMaxExperimentOwnerBytes = 256;
inline constexpr size_t kMaxExperimentParameters = 64;
inline constexpr size_t kMaxExperimentBytes = 16384;  // of all its texts

// A name stands in a path of the API and on command lines, where a file ends in .toml: 1 to 64 bytes of printable UTF-8 without '/', that
// begin with neither '.' nor '-', begin and end with no space, and do not end with ".toml". kInvalid, with the field "name".
Status check_experiment_name(std::string_view name);

// Its name, kInvalid where a text is not printable UTF-8 or a parameter has no name, kTooLarge past the limits above.
Status check_experiment_texts(const ExperimentDefinition& definition);

}  // namespace plimsoll::store
