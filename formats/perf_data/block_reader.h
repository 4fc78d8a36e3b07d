// Bytes of a file of any size, by blocks: what was read last is kept, nothing is mapped.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/loaded_image.h"

namespace plimsoll::perf_data {

// One thread. Memory: one block.
class BlockReader {
 public:
  BlockReader(elf::ReadAt read, uint64_t size_bytes) : read_(std::move(read)), size_bytes_(size_bytes) {}

  uint64_t size_bytes() const { return size_bytes_; }

  // Borrowed until the next call. kCorrupt, saying where, when the file ends before; `what` is for that error.
  Result<Bytes> read(uint64_t offset, uint64_t size_bytes, std::string_view what);

 private:
  elf::ReadAt read_;
  uint64_t size_bytes_;
  std::string block_;
  uint64_t block_offset_ = 0;
};

}  // namespace plimsoll::perf_data
