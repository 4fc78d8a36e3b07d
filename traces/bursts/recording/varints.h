// What the content of a recording is made of (burst_file.h): varints, and texts with their length. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_reader.h"

namespace plimsoll::traces {

// Of a text; what is longer is cut where it is written.
inline constexpr uint64_t kMaxRecordedTextBytes = 4096;

class VarintWriter {
 public:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }
  // Small where it is near 0, on either side.
  void signed_number(int64_t value) {
    number(static_cast<uint64_t>(value) << 1U ^ static_cast<uint64_t>(value >> 63U));
  }
  void text(std::string_view value) {
    const std::string_view kept = value.substr(0, kMaxRecordedTextBytes);
    number(kept.size());
    bytes_ += kept;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Bytes may be anything: after the first failure numbers are 0 or arbitrary within their bound, and ok() says so.
class VarintReader {
 public:
  explicit VarintReader(Bytes bytes) : bytes_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = bytes_.read<uint8_t>();
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    is_sound_ = false;
    return 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1U ^ (~(value & 1) + 1));
  }
  uint64_t number_up_to(uint64_t max) {
    const uint64_t value = number();
    is_sound_ = is_sound_ && value <= max;
    return is_sound_ ? value : 0;
  }
  // How many parts of `min_bytes` each follow: never more than fit into what is left.
  uint64_t count(uint64_t max, uint64_t min_bytes) {
    return number_up_to(std::min<uint64_t>(max, bytes_.remaining() / min_bytes));
  }
  std::string text() {
    const uint64_t size = number_up_to(kMaxRecordedTextBytes);
    return std::string(as_text(bytes_.bytes(size)));
  }
  bool ok() const { return is_sound_ && bytes_.ok(); }
  bool is_at_end() const { return bytes_.remaining() == 0; }

 private:
  ByteReader bytes_;
  bool is_sound_ = true;
};

}  // namespace plimsoll::traces
