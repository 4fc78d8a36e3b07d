// Tar archives as streams: POSIX (ustar, pax) and GNU, with their long names. Untrusted bytes; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/decompress.h"

namespace plimsoll::formats {

inline constexpr size_t kTarBlockBytes = 512;

// By the first block's checksum, which holds for every version of tar.
bool looks_like_tar(Bytes beginning);

class TarReader {
 public:
  struct Member {
    std::string name;  // as the archive has it: any bytes
    uint64_t size_bytes = 0;
    int64_t modified_ns = 0;  // 0: not recorded
    bool is_sparse = false;   // its content is not what follows
  };

  // `source` gives the archive from its first byte on.
  explicit TarReader(PullBytes source) : source_(std::move(source)) {}

  // The next regular file; nothing at the end. Passes over what is left of the one before, over folders and over links.
  // kCorrupt where the archive is damaged or cut off: nothing after that can be found.
  Result<std::optional<Member>> next();

  // The next bytes of that file, as PullBytes.
  Result<Bytes> read();

 private:
  struct Header {
    char type = 0;
    Member member;
  };
  // What a header says of the file after it, in place of the file's own header.
  struct Overrides {
    std::string name = {};
    std::optional<uint64_t> size_bytes = {};
    std::optional<int64_t> modified_ns = {};
    bool is_sparse = false;
  };

  Status refill();
  Result<std::optional<Header>> read_header();
  Result<Header> parse_header(Bytes bytes) const;
  Result<std::string> read_text();
  Status read_pax(Overrides& overrides);
  Status pass(uint64_t size_bytes);

  const PullBytes source_;
  Bytes pulled_;
  uint64_t offset_ = 0;         // in the archive, of what is read next
  uint64_t left_bytes_ = 0;     // of the current member's content
  uint64_t padding_bytes_ = 0;  // behind it
};

}  // namespace plimsoll::formats
