// The environment variables that Plimsoll's programs read: PLIMSOLL_ in front, and then a key of a configuration (settings.h), or one of a few
// names for people at a command line.
#pragma once

#include "base/result.h"

namespace plimsoll::config {

// kInvalid where the environment (as main() is given it) has a variable of this project that no program reads: a spelling mistake;
// the hint is the nearest that there is. Variables for tests pass: PLIMSOLL_CORPUS, PLIMSOLL_TEST_...
Status check_variables(const char* const* environment);

}  // namespace plimsoll::config
