#include "proto/unknown_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <deque>

namespace plimsoll::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

class Copy {
 public:
  explicit Copy(Bytes message)
      : message_(message),
        stream_(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size())) {
    stream_.SetTotalBytesLimit(INT32_MAX);
  }

  // Up to the end of the stream's limit.
  void append_message(const Descriptor& type, size_t depth, std::string& out) {
    for (int start = stream_.CurrentPosition(); const uint32_t tag = stream_.ReadTag();
         start = stream_.CurrentPosition()) {
      const FieldDescriptor* const field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool is_kept = is_known(field, tag);
      if (is_kept && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        append_nested(*field->message_type(), tag, depth, out);
        continue;
      }
      if (!WireFormatLite::SkipField(&stream_, tag)) {
        return;
      }
      if (is_kept) {
        out.append(as_text(message_.subspan(static_cast<size_t>(start),
                                            static_cast<size_t>(stream_.CurrentPosition() - start))));
      }
    }
  }

 private:
  void append_nested(const Descriptor& type, uint32_t tag, size_t depth, std::string& out) {
    uint32_t size = 0;
    if (!stream_.ReadVarint32(&size)) {
      return;
    }
    if (depth == nested_.size()) {
      nested_.emplace_back();
    }
    std::string& content = nested_[depth];
    content.clear();
    const auto outer = stream_.PushLimit(static_cast<int>(size));
    append_message(type, depth + 1, content);
    stream_.PopLimit(outer);
    append_varint(tag, out);
    append_varint(static_cast<uint32_t>(content.size()), out);
    out += content;
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

bool is_known(const FieldDescriptor* field, uint32_t tag) {
  if (field == nullptr) {
    return false;
  }
  const auto type = WireFormatLite::GetTagWireType(tag);
  return type ==
             WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field->type())) ||
         (field->is_packable() && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

std::string without_unknown_fields(Bytes message, const Descriptor& type) {
  std::string out;
  out.reserve(message.size());
  Copy(message).append_message(type, 0, out);
  return out;
}

}  // namespace plimsoll::wire
