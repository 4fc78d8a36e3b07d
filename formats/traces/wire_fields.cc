#include "formats/traces/wire_fields.h"

namespace plimsoll::formats {
namespace {

// https://protobuf.dev/programming-guides/encoding; groups (3, 4) are of no message here.
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr uint64_t kMaxFieldNumber = (uint64_t{1} << 29) - 1;

}  // namespace

bool WireFields::next() {
  if (!is_sound_ || reader_.remaining() == 0) {
    return false;
  }
  value_ = 0;
  bytes_ = {};
  const uint64_t tag = reader_.uleb128();
  const uint64_t number = tag >> 3U;
  switch (tag & 7U) {
    case kVarint:
      value_ = reader_.uleb128();
      break;
    case kFixed64:
      value_ = reader_.read<uint64_t>();
      break;
    case kLengthDelimited:
      bytes_ = reader_.bytes(reader_.uleb128());
      break;
    case kFixed32:
      value_ = reader_.read<uint32_t>();
      break;
    default:
      is_sound_ = false;
  }
  is_sound_ = is_sound_ && reader_.ok() && number != 0 && number <= kMaxFieldNumber;
  number_ = static_cast<uint32_t>(number);
  return is_sound_;
}

}  // namespace plimsoll::formats
