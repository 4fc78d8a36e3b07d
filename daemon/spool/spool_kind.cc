#include "daemon/spool/spool_kind.h"

#include "daemon/spool/spooled_profile.h"
#include "proto/profile_codec.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::spool {
namespace {

Status check_profile(Bytes encoded) {
  const auto framed = wire::check_framing(encoded);
  return framed ? Status() : propagate(framed);
}

}  // namespace

const SpoolKind& kind_of_profiles() {
  static const SpoolKind kind{.noun = "profile",
                              .nouns = "profiles",
                              .suffix = kProfileSuffix,
                              .bytes_key = "limits.max_spool_bytes",
                              .upload_path = "/fleet/v1/profiles/",
                              .content_type = "application/x-plimsoll-profile",
                              .max_encoded_bytes = wire::ProfileLimits().max_encoded_bytes,
                              .check = check_profile};
  return kind;
}

const SpoolKind& kind_of_recordings() {
  static const SpoolKind kind{.noun = "recording of bursts",
                              .nouns = "recordings of bursts",
                              .suffix = "bursts",
                              .bytes_key = "bursts.max_spool_bytes",
                              .upload_path = "/fleet/v1/bursts/",
                              .content_type = "application/octet-stream",
                              .max_encoded_bytes = traces::BurstFileLimits().max_encoded_bytes,
                              .check = traces::check_burst_framing};
  return kind;
}

}  // namespace plimsoll::spool
