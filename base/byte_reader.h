// The one checked way to read bytes that come from outside (files, ring buffers, requests).
//
// A read past the end returns zeros, and marks the reader as failed; the caller reads a whole structure and
// asks ok() once. No read ever touches memory outside the span. Borrows the bytes.
//
//   ByteReader reader(bytes);
//   const auto magic = reader.read<uint32_t>();
//   const auto length = reader.read<uint64_t>();
//   const auto body = reader.bytes(length);
//   if (!reader.ok()) return fail(ErrorCode::kCorrupt, "truncated header");
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace plimsoll {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  // False once any read or seek has left the bytes.
  bool ok() const { return ok_; }
  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }

  // The next object, in this machine's (little-endian) byte order; zero-filled on failure.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T read() {
    T value{};
    const Bytes source = bytes(sizeof(T));
    if (ok_) {
      std::memcpy(&value, source.data(), sizeof(T));
    }
    return value;
  }

  // The next `size` bytes, borrowed; empty on failure.
  Bytes bytes(uint64_t size) {
    if (!ok_ || size > remaining()) {
      ok_ = false;
      return {};
    }
    const Bytes result = bytes_.subspan(offset_, static_cast<size_t>(size));
    offset_ += static_cast<size_t>(size);
    return result;
  }

  // The text up to the next zero byte, which is consumed as well; fails where there is none.
  std::string_view c_string() {
    const std::string_view rest = as_text(bytes_.subspan(offset_));
    const size_t end = rest.find('\0');
    if (!ok_ || end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    offset_ += end + 1;
    return rest.substr(0, end);
  }

  // LEB128 numbers, as DWARF and its like hold them; one of more than 64 bits marks the reader as failed.
  uint64_t uleb128() {
    uint64_t value = 0;
    unsigned shift = 0;
    leb128(value, shift);
    return value;
  }
  int64_t sleb128() {
    uint64_t value = 0;
    unsigned shift = 0;
    const bool is_negative = (leb128(value, shift) & 0x40U) != 0;
    if (is_negative && shift < 64) {
      value |= ~uint64_t{0} << shift;
    }
    return static_cast<int64_t>(value);
  }

  void skip(uint64_t size) { bytes(size); }

  void seek(uint64_t offset) {
    if (offset > bytes_.size()) {
      ok_ = false;
      return;
    }
    offset_ = static_cast<size_t>(offset);
  }

 private:
  // Returns the last byte.
  uint8_t leb128(uint64_t& value, unsigned& shift) {
    uint8_t byte = 0;
    do {
      byte = read<uint8_t>();
      if (shift >= 64) {
        ok_ = false;
        return 0;
      }
      value |= uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    } while ((byte & 0x80U) != 0);
    return byte;
  }

  Bytes bytes_;
  size_t offset_ = 0;
  bool ok_ = true;
};

// `size` bytes at `offset`, or nothing where that leaves the bytes; for formats that point at their parts.
inline Result<Bytes> slice(Bytes bytes, uint64_t offset, uint64_t size, std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    return fail(ErrorCode::kCorrupt, "{} at offset {} of {} bytes is outside the {} available bytes", what,
                offset, size, bytes.size());
  }
  return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
}

}  // namespace plimsoll
