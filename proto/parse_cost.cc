#include "proto/parse_cost.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <unordered_map>

#include "proto/unknown_fields.h"

namespace plimsoll::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// As Protobuf's own.
constexpr int kMaxNested = 100;
// What an allocation takes beside its content, and a place in a list, which doubles as it grows.
constexpr uint64_t kAllocation = 16;
constexpr uint64_t kPlaceInList = 16;
constexpr uint64_t kString = 32;

uint64_t cost_of_text(uint64_t bytes) {
  return kString + kAllocation + bytes + kAllocation;
}

uint64_t bytes_of_number(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    default:
      return 4;
  }
}

// Numbers in a packed list: each varint has one byte without its highest bit.
uint64_t numbers_in(Bytes packed, const FieldDescriptor& field) {
  switch (WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()))) {
    case WireFormatLite::WIRETYPE_FIXED32:
      return packed.size() / 4;
    case WireFormatLite::WIRETYPE_FIXED64:
      return packed.size() / 8;
    default:
      return static_cast<uint64_t>(std::ranges::count_if(
          packed, [](std::byte byte) { return (std::to_integer<unsigned>(byte) & 0x80U) == 0; }));
  }
}

class Walk {
 public:
  Walk(Bytes message, uint64_t max_bytes)
      : message_(message),
        stream_(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size())),
        max_bytes_(max_bytes) {
    stream_.SetTotalBytesLimit(INT32_MAX);
  }

  Result<ParseCost> run(const Descriptor& type) {
    const bool is_whole = add_message(&type, 0, kNoGroup);
    if (cost_ > max_bytes_) {
      return fail(ErrorCode::kTooLarge, "the message takes over {} bytes of memory", max_bytes_);
    }
    return is_whole ? Result<ParseCost>({cost_, has_unknown_fields_})
                    : fail(ErrorCode::kCorrupt, "the message is malformed before byte {}",
                           stream_.CurrentPosition());
  }

 private:
  static constexpr int kNoGroup = 0;  // no field has that number

  // False where it is malformed, or over the bound. Up to the end of the group of that number, or of the stream's limit. `type` null: unknown.
  // What is refused here Protobuf must not meet: it would stop elsewhere than without_unknown_fields() does.
  bool add_message(const Descriptor* type, int depth, int group) {
    if (depth > kMaxNested) {
      return false;
    }
    while (const uint32_t tag = stream_.ReadTag()) {
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      if (number == 0) {
        return false;
      }
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_END_GROUP) {
        return number == group;
      }
      const FieldDescriptor* const field = type == nullptr ? nullptr : type->FindFieldByNumber(number);
      if (!add_field(field, tag, depth) || cost_ > max_bytes_) {
        return false;
      }
    }
    // A tag of 0 is no end.
    return group == kNoGroup && stream_.ConsumedEntireMessage();
  }

  bool add_field(const FieldDescriptor* field, uint32_t tag, int depth) {
    if (!is_known(field, tag)) {
      has_unknown_fields_ = true;
      return WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP
                 ? add_message(nullptr, depth + 1, WireFormatLite::GetTagFieldNumber(tag))
                 : WireFormatLite::SkipField(&stream_, tag);
    }
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      return add_delimited(*field, depth);
    }
    cost_ += field->is_repeated() ? kPlaceInList : 0;
    return WireFormatLite::SkipField(&stream_, tag);
  }

  bool add_delimited(const FieldDescriptor& field, int depth) {
    uint32_t size = 0;
    if (!stream_.ReadVarint32(&size) || size > bytes_left(stream_, message_)) {
      return false;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      cost_ += size_of(*field.message_type()) + kAllocation + kPlaceInList;
      const auto outer = stream_.PushLimit(static_cast<int>(size));
      const bool is_whole =
          add_message(field.message_type(), depth + 1, kNoGroup) && stream_.BytesUntilLimit() == 0;
      stream_.PopLimit(outer);
      return is_whole;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      cost_ += cost_of_text(size) + kPlaceInList;
    } else {
      const Bytes packed = message_.subspan(static_cast<size_t>(stream_.CurrentPosition()), size);
      cost_ += 2 * numbers_in(packed, field) * bytes_of_number(field) + kAllocation;
    }
    return stream_.Skip(static_cast<int>(size));
  }

  uint64_t size_of(const Descriptor& type) {
    const auto [known, is_new] = sizes_.try_emplace(&type, 0);
    if (is_new) {
      known->second =
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong();
    }
    return known->second;
  }

  const Bytes message_;
  google::protobuf::io::CodedInputStream stream_;
  const uint64_t max_bytes_;
  uint64_t cost_ = 0;
  bool has_unknown_fields_ = false;
  std::unordered_map<const Descriptor*, uint64_t> sizes_;
};

}  // namespace

Result<ParseCost> parse_cost(Bytes message, const Descriptor& type, uint64_t max_bytes) {
  return Walk(message, max_bytes).run(type);
}

}  // namespace plimsoll::wire
