// An OTLP message, written field by field: an encoder that shares nothing with the reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::formats {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) {
    bytes += static_cast<char>(value | 0x80U);
  }
  return bytes + static_cast<char>(value);
}
inline std::string part(uint32_t field, std::string_view content) {
  return varint(field << 3U | 2U) + varint(content.size()) + std::string(content);
}
inline std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3U) + varint(value);
}
inline std::string fixed64(uint32_t field, uint64_t value) {
  std::string bytes = varint(field << 3U | 1U);
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(value >> (8 * i));
  }
  return bytes;
}
inline std::string attribute(std::string_view key, std::string_view value) {
  return part(1, part(1, key) + part(2, part(1, value)));
}

// Two spans of the service cart, namespace shop, with fields that a reader passes over.
inline std::string otlp_request() {
  const std::string trace = "\x5b\x8e\xff\xf7\x98\x03\x81\x03\xd2\x69\xb6\x33\x81\x3f\xc6\x0c";
  const std::string id = "\xee\xe1\x9b\x7e\xc3\xc1\xb1";
  const std::string server = part(1, trace) + part(2, id + '\x74') + part(5, "add") + number(6, 2) +
                             fixed64(7, 1544712660000000000) + fixed64(8, 1544712661000000000) +
                             part(9, part(1, "key") + part(2, number(2, 1))) + number(10, 3) +
                             part(11, fixed64(1, 5)) + part(15, part(2, "failed") + number(3, 2)) +
                             varint(16U << 3U | 5U) + std::string("\1\0\0\0", 4) + part(99, "unknown");
  const std::string client = part(4, id + '\x74') + part(1, trace) + part(2, id + '\x75') + part(5, "store") +
                             number(6, 3) + fixed64(8, 1544712660500000000) + fixed64(7, 1544712660000000000);
  const std::string resource = attribute("service.name", "cart") + attribute("service.namespace", "shop") +
                               attribute("k8s.pod.name", "cart-7") + attribute("k8s.node.name", "n1") +
                               attribute("service.version", "1.2");
  // The resource behind its spans: fields come in any order.
  return part(1, part(2, part(1, part(1, "lib")) + part(2, server) + part(2, client)) + part(1, resource));
}

}  // namespace plimsoll::formats
