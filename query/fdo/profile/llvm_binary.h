// LLVM's extensible binary sample profiles: a tenth of the text in size, read a hundred times as fast, and only as far as a unit needs it.
#pragma once

#include <string>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// For clang 12 and later. Names in full, nothing compressed; the same profile gives the same bytes.
std::string write_llvm_binary(const SampleProfile& profile);

}  // namespace plimsoll::fdo
