#include "formats/tar_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "formats/tar_reader.h"

namespace plimsoll::formats {
namespace {

// Places in a header block: POSIX.1-2017, pax, "ustar Interchange Format".
constexpr size_t kNameFieldBytes = 100;
constexpr size_t kModeAt = 100;
constexpr size_t kSizeFieldAt = 124;
constexpr size_t kSumAt = 148;
constexpr size_t kSumBytes = 8;
constexpr size_t kTypeFieldAt = 156;
constexpr size_t kMagicFieldAt = 257;
// Eleven octal digits.
constexpr uint64_t kMaxWrittenBytes = (uint64_t{1} << 33U) - 1;

void put(std::string& block, size_t at, std::string_view text) {
  std::ranges::copy(text, block.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string header_block(std::string_view name, uint64_t size_bytes, char type) {
  std::string block(kTarBlockBytes, '\0');
  put(block, 0, name.substr(0, kNameFieldBytes));
  put(block, kModeAt, std::string_view("0000644\0000000000\0000000000\0", 24));
  put(block, kSizeFieldAt, fmt::format("{:011o}", size_bytes));
  put(block, kSizeFieldAt + 12, "00000000000");
  put(block, kTypeFieldAt, std::string_view(&type, 1));
  put(block, kMagicFieldAt, std::string_view("ustar\00000", 8));
  // The sum counts its own field as blanks.
  put(block, kSumAt, std::string(kSumBytes, ' '));
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned so_far, char byte) {
    return so_far + static_cast<unsigned char>(byte);
  });
  put(block, kSumAt, fmt::format("{:06o}", sum));
  block[kSumAt + 6] = '\0';
  return block;
}

std::string padded(std::string content) {
  content.resize((content.size() + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes, '\0');
  return content;
}

}  // namespace

Result<std::string> tar_head(std::string_view name, uint64_t size_bytes) {
  if (size_bytes > kMaxWrittenBytes) {
    return fail(ErrorCode::kTooLarge, "{} has {} bytes, too many for an archive", name, size_bytes);
  }
  std::string head;
  if (name.size() > kNameFieldBytes) {
    const std::string content = std::string(name) + '\0';
    head = header_block("././@LongLink", content.size(), 'L') + padded(content);
  }
  return head + header_block(name, size_bytes, '0');
}

std::string tar_end() {
  return std::string(2 * kTarBlockBytes, '\0');
}

}  // namespace plimsoll::formats
