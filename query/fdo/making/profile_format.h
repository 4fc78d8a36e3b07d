// The files that compilers read.
#pragma once

#include <cstdint>
#include <string>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

enum class ProfileFormat : uint8_t { kText, kBinary, kGcov };

// Empty for a profile without functions, which some compilers refuse, and which is of no use to any.
std::string bytes_of(const SampleProfile& profile, ProfileFormat format);

}  // namespace plimsoll::fdo
