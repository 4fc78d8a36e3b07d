#include "formats/read_profile.h"

#include "formats/gzip.h"
#include "formats/legacy_contention.h"
#include "formats/legacy_heap.h"
#include "formats/pprof_reader.h"

namespace plimsoll::formats {
namespace {

constexpr const char* kKnownFormats =
    "known are raw profiles, pprof, and the text of heap, growth and contention profiles";

// pprof has no magic number, but begins with one of its fields: a number or something with a length.
bool may_be_pprof(Bytes content) {
  if (content.empty()) {
    return false;
  }
  const auto tag = static_cast<uint8_t>(content[0]);
  return tag >> 3U >= 1 && tag >> 3U <= 15 && ((tag & 7U) == 0 || (tag & 7U) == 2);
}

}  // namespace

Result<ApplicationProfile> read_profile(Bytes content, const Limits& limits) {
  if (content.size() > limits.max_encoded_bytes) {
    return fail(ErrorCode::kTooLarge, "the profile has {} bytes; at most {} are read", content.size(),
                limits.max_encoded_bytes);
  }
  if (looks_gzipped(content)) {
    const auto inflated = gunzip(content, limits.max_decoded_bytes);
    if (!inflated) {
      return propagate(inflated);
    }
    Limits inner = limits;
    inner.max_encoded_bytes = limits.max_decoded_bytes;
    return looks_gzipped(as_bytes(*inflated)) ? fail(ErrorCode::kCorrupt, "the profile is compressed twice")
                                              : read_profile(as_bytes(*inflated), inner);
  }
  if (looks_like_legacy_heap(as_text(content))) {
    return read_legacy_heap(as_text(content), limits);
  }
  if (looks_like_legacy_contention(as_text(content))) {
    return read_legacy_contention(as_text(content), limits);
  }
  if (may_be_pprof(content)) {
    auto profile = read_pprof(content, limits);
    const bool is_damaged = !profile && profile.error().code == ErrorCode::kCorrupt;
    return is_damaged ? with_hint(propagate(profile, "read as a pprof profile"), kKnownFormats)
                      : std::move(profile);
  }
  return with_hint(fail(ErrorCode::kCorrupt, "the format of the profile is not known"), kKnownFormats);
}

}  // namespace plimsoll::formats
