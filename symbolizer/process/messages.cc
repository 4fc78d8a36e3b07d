#include "symbolizer/process/messages.h"

#include "base/byte_reader.h"

namespace plimsoll::symbolizer {

std::string framed(const wire::TableEvent& event) {
  const std::string message = event.SerializeAsString();
  const auto size = static_cast<uint32_t>(message.size());
  return std::string(as_text(std::as_bytes(std::span(&size, 1)))) + message;
}

Result<std::optional<wire::TableEvent>> take_event(std::string_view& received) {
  ByteReader reader(as_bytes(received));
  const auto size = reader.read<uint32_t>();
  if (reader.ok() && size > kMaxSaidBytes) {
    return fail(ErrorCode::kCorrupt, "it announced a message of {} bytes", size);
  }
  const Bytes message = reader.bytes(size);
  if (!reader.ok()) {
    return std::nullopt;
  }
  received.remove_prefix(reader.offset());
  wire::TableEvent event;
  if (!event.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return fail(ErrorCode::kCorrupt, "it said what is no message");
  }
  return event;
}

}  // namespace plimsoll::symbolizer
