// Older builds of the program and older profiles, added to a profile.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/fdo.h"
#include "cli/fdo_input.h"
#include "query/fdo/profile/older_build.h"
#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::cli {

struct FdoMerged {
  fdo::SampleProfile profile;
  std::vector<fdo::MergedBuild> builds = {};  // empty: none was asked for
};

// Adds what options.older and options.older_profiles name to `profile`, which is of `data`. An older build without samples in the
// selection is part of the answer; one that cannot be read is an error. Needs the lines of `data`.
Result<FdoMerged> merge_older(const FdoAutofdoOptions& options, const FdoData& data,
                              fdo::SampleProfile profile);

}  // namespace plimsoll::cli
