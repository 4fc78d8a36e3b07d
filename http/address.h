// Socket addresses as people write them, and a listening socket bound to one.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::http {

struct ListeningSocket {
  UniqueFd fd;  // non-blocking
  std::string address;
  uint16_t port = 0;
  bool is_loopback = false;
};

// Binds to "127.0.0.1:7070", "[::1]:7070" or "localhost:7070"; port 0 takes a free one. Whatever is not
// loopback is refused with kDenied unless allowed.
Result<ListeningSocket> listen_on(const std::string& address, bool allow_beyond_loopback);

// Whether listen_on() would try: kInvalid for what is no address, kDenied as there. Takes no port.
Status check_listening(const std::string& address, bool allow_beyond_loopback);

// "127.0.0.1:7070", "[::1]:7070"; empty for other families.
std::string text_of(const sockaddr* address);

}  // namespace plimsoll::http
