// Protobuf messages without generated code: fields by number, as docs of protobuf.dev/programming-guides/encoding have them.
//
//   WireMessage packet;
//   packet.number(8, timestamp_ns);
//   packet.message(11, event);
//   out += packet.bytes();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::formats {

class WireMessage {
 public:
  void number(uint32_t field, uint64_t value) {
    key(field, kVarint);
    varint(value);
  }
  void fixed64(uint32_t field, uint64_t value) {
    key(field, kFixed64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(value >> shift & 0xFF);
    }
  }
  void text(uint32_t field, std::string_view value) {
    key(field, kBytes);
    varint(value.size());
    bytes_ += value;
  }
  void message(uint32_t field, const WireMessage& value) { text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }
  bool is_empty() const { return bytes_.empty(); }

 private:
  static constexpr uint32_t kVarint = 0;
  static constexpr uint32_t kFixed64 = 1;
  static constexpr uint32_t kBytes = 2;

  void key(uint32_t field, uint32_t type) { varint(uint64_t{field} << 3U | type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace plimsoll::formats
