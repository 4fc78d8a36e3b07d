// From what an application has counted since its start to what happened between two scrapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/application_profile.h"

namespace plimsoll::scrape {

// One endpoint. Keeps 16 bytes for each stack with its labels, and a number for each of its types that is counted since the start;
// snapshots pass through.
class SinceLast {
 public:
  // What the values that come now began from.
  enum class Start {
    kUnknown,     // the same process as before, or the first scrape of one that has run for long
    kThisScrape,  // the process, or its counts, are younger than the scrape before
  };

  // Replaces what `profile` counts since its start by the difference to the call before. A value that shrank tells of a
  // reset: then all are new. Not so objects that were allocated, beside their bytes: these may be an estimate that
  // shrinks (since_last.cc), and none is new until there are more than ever before. The first call of a start that is
  // unknown only remembers, and takes these types out: no type may be left. Other types than before (old heap profiles
  // leave some out while they say nothing) are a first call.
  void apply(formats::ApplicationProfile& profile, Start start);

 private:
  using Values = std::unordered_map<std::string, std::vector<int64_t>>;  // by stack and labels

  // Everything of `before` is still in `now`, of these of the types.
  static bool goes_on(const Values& before, const Values& now, const std::vector<size_t>& judged);

  bool has_previous_ = false;
  Values previous_;
  std::vector<formats::ValueType> previous_types_;  // of its values
};

}  // namespace plimsoll::scrape
