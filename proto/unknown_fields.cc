#include "proto/unknown_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <deque>
#include <utility>

namespace plimsoll::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr size_t kMaxKeptBytes = size_t{1} << 20U;

class Copy {
 public:
  explicit Copy(Bytes message)
      : message_(message),
        stream_(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size())) {
    stream_.SetTotalBytesLimit(INT32_MAX);
  }

  // Up to the end of the stream's limit. False where it is malformed.
  bool append_message(const Descriptor& type, size_t depth, std::string& out) {
    for (int start = stream_.CurrentPosition(); const uint32_t tag = stream_.ReadTag();
         start = stream_.CurrentPosition()) {
      const FieldDescriptor* const field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool is_kept = is_known(field, tag);
      if (is_kept && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!append_nested(*field->message_type(), tag, depth, out)) {
          return false;
        }
        continue;
      }
      if (!WireFormatLite::SkipField(&stream_, tag)) {
        return false;
      }
      if (is_kept) {
        out.append(as_text(message_.subspan(static_cast<size_t>(start),
                                            static_cast<size_t>(stream_.CurrentPosition() - start))));
      }
    }
    return stream_.ConsumedEntireMessage();
  }

 private:
  bool append_nested(const Descriptor& type, uint32_t tag, size_t depth, std::string& out) {
    uint32_t size = 0;
    if (!stream_.ReadVarint32(&size) || size > bytes_left(stream_, message_)) {
      return false;
    }
    if (depth == nested_.size()) {
      nested_.emplace_back();
    }
    std::string& content = nested_[depth];
    content.clear();
    const auto outer = stream_.PushLimit(static_cast<int>(size));
    const bool is_whole = append_message(type, depth + 1, content);
    stream_.PopLimit(outer);
    if (!is_whole) {
      return false;
    }
    append_varint(tag, out);
    append_varint(static_cast<uint32_t>(content.size()), out);
    out += content;
    // One large message after another at each depth would keep as much memory as all of them.
    if (content.capacity() > kMaxKeptBytes) {
      content = std::string();
    }
    return true;
  }

  static void append_varint(uint32_t value, std::string& out) {
    std::array<uint8_t, 5> bytes{};
    const uint8_t* const end = CodedOutputStream::WriteVarint32ToArray(value, bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(end - bytes.data()));
  }

  const Bytes message_;
  CodedInputStream stream_;
  std::deque<std::string> nested_;  // by depth, used again; stable when one is added
};

}  // namespace

size_t bytes_left(CodedInputStream& stream, Bytes message) {
  const int until_limit = stream.BytesUntilLimit();
  return until_limit >= 0 ? static_cast<size_t>(until_limit)
                          : message.size() - static_cast<size_t>(stream.CurrentPosition());
}

bool is_known(const FieldDescriptor* field, uint32_t tag) {
  if (field == nullptr) {
    return false;
  }
  const auto type = WireFormatLite::GetTagWireType(tag);
  return type ==
             WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field->type())) ||
         (field->is_packable() && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

Result<std::string> without_unknown_fields(Bytes message, const Descriptor& type) {
  std::string out;
  out.reserve(message.size());
  return Copy(message).append_message(type, 0, out)
             ? Result<std::string>(std::move(out))
             : fail(ErrorCode::kCorrupt, "the message is malformed within what its type does not know");
}

}  // namespace plimsoll::wire
