// A binary of this machine that its operator permits to be sent to the server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/binary_part.h"
#include "http/message.h"

namespace plimsoll::binaries {

// Whether one of the patterns (as of a shell: *, ? and [...] match no '/') is of the whole path.
bool is_listed(const std::vector<std::string>& patterns, const std::string& path);

// The file at that path, if it is a regular one of that build, no larger than `max_bytes`, and where it really is (behind links) is listed too: a
// profiled program chooses its path, and what lies there may have been replaced since. kDenied, kConflict, kTooLarge or kNotFound otherwise.
Result<UniqueFd> open_offered(const std::vector<std::string>& patterns, const std::string& path,
                              std::string_view build_id, uint64_t max_bytes);

// What is sent of a file.
struct SentContent {
  elf::PartLayout layout;
  std::string digest;  // content_hash() (base/checksum.h) of these bytes
};

// Reads all that is to be sent. kUnsupported where a part cannot be told from the rest (elf/binary_part.h), kTooLarge beyond `max_bytes` of the file.
Result<SentContent> content_of(const std::shared_ptr<const UniqueFd>& file, elf::BinaryPart part,
                               uint64_t max_bytes);

// Those bytes as gzip, compressed while they are sent: a few 100 kB of memory, whatever their size. The same bytes are compressed to the
// same. Fails (kCorrupt) where the file has become shorter.
Result<std::unique_ptr<http::BodySource>> gzip_source(std::shared_ptr<const UniqueFd> file,
                                                      elf::PartLayout layout);

// Without its first `bytes`, which the server has. kInvalid where it has no more than these: a request with nothing in its body brings nothing to
// its end.
Result<std::unique_ptr<http::BodySource>> without_beginning(std::unique_ptr<http::BodySource> source,
                                                            uint64_t bytes);

}  // namespace plimsoll::binaries
