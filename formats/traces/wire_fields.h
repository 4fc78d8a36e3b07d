// Protobuf's wire format, field by field, without building messages: spans are small, many, and from outside.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::formats {

// Walks over the fields of one message. Allocates nothing, so that no message takes more memory than its bytes.
//
//   for (WireFields fields(message); fields.next();) {
//     switch (fields.number()) { case 5: name = as_text(fields.bytes()); ... }
//   }
//   if (!fields.ok()) ...
class WireFields {
 public:
  explicit WireFields(Bytes message) : reader_(message) {}

  // False at the end, and where the message is malformed (ok()).
  bool next();
  bool ok() const { return is_sound_; }

  uint32_t number() const { return number_; }
  // Of a varint, or a number of 4 or 8 bytes; 0 of a field of another type.
  uint64_t value() const { return value_; }
  // Of a text, bytes or message, borrowed; empty of a field of another type.
  Bytes bytes() const { return bytes_; }
  std::string_view text() const { return as_text(bytes_); }

 private:
  ByteReader reader_;
  uint32_t number_ = 0;
  uint64_t value_ = 0;
  Bytes bytes_;
  bool is_sound_ = true;
};

}  // namespace plimsoll::formats
