// Checksums against accidental damage, not against forgery.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// XXH3, 64 bits. Its value is part of our file formats.
uint64_t checksum64(Bytes bytes);

// XXH3, 128 bits, as 16 bytes in canonical (big-endian) order. Names a binary that has no build ID.
std::string content_hash(Bytes bytes);
// The same of bytes that come piece by piece. One thread.
class ContentHasher {
 public:
  ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;
  ~ContentHasher();

  void add(Bytes piece);
  // Of all that was added; more may follow.
  std::string hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same of a whole file, read piece by piece; kTooLarge where it holds more than `max_bytes`. `name` is for errors.
Result<std::string> content_hash_of_file(const UniqueFd& fd, const std::string& name, uint64_t max_bytes);

}  // namespace plimsoll
