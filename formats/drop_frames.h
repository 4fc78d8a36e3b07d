// Leaves out of a profile's stacks what its drop_frames match, as pprof does: the allocator of a heap profile.
#pragma once

#include "formats/application_profile.h"

namespace plimsoll::formats {

// Of each stack, the outermost function that drop_frames matches whole and keep_frames does not, and all that it calls; but not the
// stack's outermost frames as long as all of them match, so that something is left of a program that is one. Functions are matched
// without the parameters of their names.
//
// The expressions come from outside: of one that is no regular expression, or so large that matching it could take minutes, the profile's
// remarks say so, and nothing is dropped. Names are matched once each, by their first 500 bytes, and 8 MiB of them at most.
void drop_frames(ApplicationProfile& profile);

}  // namespace plimsoll::formats
