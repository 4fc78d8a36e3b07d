// pprof's protobuf (profile.proto), encoded by hand: every server would carry a protobuf library otherwise.
#pragma once

#include <string>

#include "appprof/mappings.h"
#include "appprof/profile.h"

namespace plimsoll::appprof {

// Unsymbolized: locations with mappings and build IDs. One is subtracted from return addresses, so that they lie in the call.
// `labels` are those of the whole process, in each sample.
std::string write_pprof(const Profile& profile, const CodeMap& code, const Labels& labels);

// gzip, level 1. Empty where memory is short.
std::string gzip(const std::string& content);

// Leaves out the innermost frames that lie in the allocator: "who allocated" begins where it was called.
void drop_allocator_frames(Profile& profile, const CodeMap& code);

}  // namespace plimsoll::appprof
