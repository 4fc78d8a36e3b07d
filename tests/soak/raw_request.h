// Bytes sent to a server as they are, HTTP or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::soak {

struct RawAnswer {
  unsigned status = 0;  // 0: none came
  std::string text;     // head and body, as far as they came
};

// On a connection of its own to a port of 127.0.0.1: sends the bytes, tells the server whether that is all (a half-closed connection), and
// reads until the first answer's head is there, the server ends the connection or the time is over.
RawAnswer send_raw(uint16_t port, std::string_view bytes, bool half_closes, int64_t timeout_ms);

}  // namespace plimsoll::soak
