// What `plimsoll fdo worker` does: the process that makes compiler profiles of untrusted binaries.
#pragma once

#include "base/result.h"

namespace plimsoll::fdo {

// Reads a wire::ProfileRequest from standard input, confines itself (symbolizer/process/confinement.h), finds and parses the files,
// writes the profile to symbolizer::kTableDescriptor and the reply to standard output. What goes wrong with the files is part of the
// reply; an error is that nothing could be said.
Status run_profile_child();

}  // namespace plimsoll::fdo
