#include "base/checksum.h"

#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <memory>
#include <span>
#include <vector>

namespace plimsoll {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;

std::string canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return {reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest};
}

}  // namespace

uint64_t checksum64(Bytes bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string content_hash(Bytes bytes) {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

struct ContentHasher::State {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> xxh{XXH3_createState(), &XXH3_freeState};
};

ContentHasher::ContentHasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(state_->xxh.get());
}

ContentHasher::~ContentHasher() = default;

void ContentHasher::add(Bytes piece) {
  XXH3_128bits_update(state_->xxh.get(), piece.data(), piece.size());
}

std::string ContentHasher::hash() const {
  return canonical(XXH3_128bits_digest(state_->xxh.get()));
}

Result<std::string> content_hash_of_file(const UniqueFd& fd, const std::string& name, uint64_t max_bytes) {
  ContentHasher hasher;
  std::vector<char> piece(kPieceBytes);
  uint64_t offset = 0;
  while (true) {
    const ssize_t got = ::pread(fd.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    if (got < 0 && errno != EINTR) {
      return fail_errno(errno, "reading {}", name);
    }
    if (got == 0) {
      return hasher.hash();
    }
    if (got > 0) {
      offset += static_cast<uint64_t>(got);
      hasher.add(std::as_bytes(std::span(piece.data(), static_cast<size_t>(got))));
    }
    if (offset > max_bytes) {
      return fail(ErrorCode::kTooLarge, "{} has more than {} bytes", name, max_bytes);
    }
  }
}

}  // namespace plimsoll
