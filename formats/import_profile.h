// A file with an application's profile, as a raw profile.
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/application_profile.h"
#include "proto/profile.pb.h"

namespace plimsoll::formats {

// What a file does not say of itself.
struct ImportLabels {
  std::string machine = "import";  // ID of the machine that the profile is filed under
  std::string job = {};            // empty: the main binary's name, else the file's
  std::string platform = {};       // hardware generation of the machine; empty: unknown
  std::string file_name = {};
  int64_t modified_ns = 0;   // wall clock, of the file: when the profile ended, where it does not tell
  int64_t given_end_ns = 0;  // when the profile ended, whatever else says; 0: not given
  int64_t now_ns = 0;        // by which times are checked; 0: they are not
};

// Whether machine, job and platform are names that profiles may have: kInvalid, with "--machine", "--job" or "--platform" as its
// field, if not.
Status check_labels(const ImportLabels& labels);

// Reads the content by its format and makes the profile of a machine that ran one process. The same content under the
// same labels has the same ID. Wrong labels are kInvalid with "--machine" or "--job" as their field.
Result<wire::RawProfile> import_profile(Bytes content, const ImportLabels& labels, const Limits& limits = {});

}  // namespace plimsoll::formats
