#include "daemon/service/ready_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace plimsoll {

Result<ReadySocket> ReadySocket::open() {
  constexpr std::string_view kOpening = "opening a socket to be told of a start";
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail_errno(errno, "{}", kOpening);
  }
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // A name without a path has the kernel choose one (unix(7), autobind).
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name.sun_family) != 0) {
    return fail_errno(errno, "{}", kOpening);
  }
  socklen_t size = sizeof name;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return fail_errno(errno, "{}", kOpening);
  }
  // It begins with a zero byte, which NOTIFY_SOCKET has as '@'.
  std::string address(name.sun_path, size - offsetof(sockaddr_un, sun_path));
  address[0] = '@';
  return ReadySocket(std::move(fd), std::move(address));
}

bool ReadySocket::take_ready() const {
  bool is_ready = false;
  std::array<char, 4096> message{};
  for (ssize_t size = 0; (size = ::recv(fd_.get(), message.data(), message.size(), 0)) >= 0;) {
    // Lines; the first begins without a line's end before it.
    const std::string text = "\n" + std::string(message.data(), static_cast<size_t>(size)) + "\n";
    is_ready = is_ready || text.find("\nREADY=1\n") != std::string::npos;
  }
  return is_ready;
}

}  // namespace plimsoll
