#include "formats/perf_data/block_reader.h"

#include <algorithm>

namespace plimsoll::perf_data {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

}  // namespace

Result<Bytes> BlockReader::read(uint64_t offset, uint64_t size_bytes, std::string_view what) {
  if (offset > size_bytes_ || size_bytes > size_bytes_ - offset) {
    return with_hint(fail(ErrorCode::kCorrupt, "{} at offset {} has {} bytes, but the file ends at {}", what,
                          offset, size_bytes, size_bytes_),
                     "the recording is truncated: copy it again, or record again");
  }
  const bool is_here =
      offset >= block_offset_ && offset - block_offset_ + size_bytes <= static_cast<uint64_t>(block_.size());
  if (!is_here) {
    auto block = read_(offset, std::min(std::max(size_bytes, kBlockBytes), size_bytes_ - offset));
    if (!block) {
      block_.clear();
      return propagate(block, "reading {} at offset {}", what, offset);
    }
    block_ = std::move(*block);
    block_offset_ = offset;
  }
  return as_bytes(block_).subspan(static_cast<size_t>(offset - block_offset_),
                                  static_cast<size_t>(size_bytes));
}

}  // namespace plimsoll::perf_data
