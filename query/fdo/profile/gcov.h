// The format that gcc reads with -fauto-profile=FILE, as AutoFDO's create_gcov writes it.
#pragma once

#include <string>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// For gcc 12 and later (version 2 of the format). These know no discriminators: a line has the largest count of its blocks. gcc itself
// cuts names at their first dot, so that functions which only differ behind it are added up.
std::string write_gcov(const SampleProfile& profile);

}  // namespace plimsoll::fdo
