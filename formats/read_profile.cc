#include "formats/read_profile.h"

#include <algorithm>

#include "formats/decompress.h"
#include "formats/jemalloc_heap.h"
#include "formats/legacy_contention.h"
#include "formats/legacy_count.h"
#include "formats/legacy_cpu.h"
#include "formats/legacy_heap.h"
#include "formats/legacy_java.h"
#include "formats/pprof_reader.h"
#include "formats/symbolized.h"

namespace plimsoll::formats {
namespace {

constexpr const char* kKnownFormats =
    "supported are raw profiles, perf.data, pprof, CPU profiles of gperftools, and heap (gperftools, Go, "
    "jemalloc, Java), growth, contention and goroutine profiles as text, with or without symbols";

// pprof's first bytes are numbers below 32, but for a tab or a line break.
bool is_text(std::string_view content) {
  constexpr size_t kLookedAt = 200;
  return std::ranges::all_of(content.substr(0, kLookedAt), [](char character) {
    return static_cast<unsigned char>(character) >= 0x20 || character == '\n' || character == '\t' ||
           character == '\r';
  });
}

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
  if (compression_of(content) != Compression::kNone) {
    const auto plain = decompress(content, limits.max_decoded_bytes);
    if (!plain) {
      return propagate(plain);
    }
    Limits inner = limits;
    inner.max_encoded_bytes = limits.max_decoded_bytes;
    return compression_of(as_bytes(*plain)) != Compression::kNone
               ? fail(ErrorCode::kCorrupt, "the profile is compressed twice")
               : read_profile(as_bytes(*plain), inner);
  }
  if (looks_like_legacy_heap(as_text(content))) {
    return read_legacy_heap(as_text(content), limits);
  }
  // Before contention of C++, whose first line it shares.
  if (looks_like_legacy_java(as_text(content))) {
    return read_legacy_java(as_text(content), limits);
  }
  if (looks_like_legacy_contention(as_text(content))) {
    return read_legacy_contention(as_text(content), limits);
  }
  if (looks_symbolized(as_text(content))) {
    return read_symbolized(content, limits);
  }
  if (looks_like_jemalloc_heap(as_text(content))) {
    return read_jemalloc_heap(as_text(content), limits);
  }
  if (looks_like_legacy_count(as_text(content))) {
    return read_legacy_count(as_text(content), limits);
  }
  if (looks_like_legacy_cpu(content)) {
    return read_legacy_cpu(content, limits);
  }
  if (may_be_pprof(content) && !is_text(as_text(content))) {
    auto profile = read_pprof(content, limits);
    const bool is_damaged = !profile && profile.error().code == ErrorCode::kCorrupt;
    return is_damaged ? with_hint(propagate(profile, "read as a pprof profile"), kKnownFormats)
                      : std::move(profile);
  }
  return with_hint(fail(ErrorCode::kCorrupt, "unknown profile format"), kKnownFormats);
}

}  // namespace plimsoll::formats
