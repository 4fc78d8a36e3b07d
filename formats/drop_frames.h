// Leaves out of a profile's stacks what the profile says nobody wants to see, as pprof does: the allocator of a heap profile.
#pragma once

#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

// Of each stack, the outermost function that drop_frames matches whole and keep_frames does not, and all that it calls; but not the
// stack's outermost frames as long as all of them match, so that something is left of a program that is one. Functions are matched
// without the parameters and template arguments of their names. kCorrupt, with the field, where one is no regular expression.
Status drop_frames(ApplicationProfile& profile);

}  // namespace plimsoll::formats
