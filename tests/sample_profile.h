// A raw profile that uses every field of profile.proto, and is valid.
#pragma once

#include "proto/profile_codec.h"

namespace plimsoll::wire {

RawProfile sample_profile();

}  // namespace plimsoll::wire
