// The format that gcc reads with -fauto-profile=FILE, as AutoFDO's create_gcov writes it.
#pragma once

#include <string>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// For gcc 5 to 13, which know no discriminators: a line has the largest count of its blocks.
std::string write_gcov(const SampleProfile& profile);

}  // namespace plimsoll::fdo
