// Numbers as binary formats have them, little-endian. For the writers of profiles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::fdo {

class BinaryWriter {
 public:
  size_t size() const { return bytes_.size(); }
  const std::string& bytes() const { return bytes_; }

  template <typename Number>
  void fixed(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void uleb128(uint64_t value) {
    do {
      const auto low = static_cast<unsigned char>(value & 0x7fU);
      value >>= 7U;
      bytes_ += static_cast<char>(value == 0 ? low : low | 0x80U);
    } while (value != 0);
  }
  void text(std::string_view text) { bytes_ += text; }

 private:
  std::string bytes_;
};

}  // namespace plimsoll::fdo
