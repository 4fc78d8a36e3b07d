#include "appprof/listening_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace plimsoll::appprof {
namespace {

// What a process that was killed left behind. A socket that still answers stays, and so does anything else: bind() says so.
void remove_dead_socket(const sockaddr_un& where) {
  struct stat status{};
  if (::lstat(where.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    return;
  }
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool is_dead = probe >= 0 &&
                       ::connect(probe, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 &&
                       errno == ECONNREFUSED;
  if (probe >= 0) {
    ::close(probe);
  }
  if (is_dead) {
    ::unlink(where.sun_path);
  }
}

}  // namespace

void ListeningSocket::remove_path() const noexcept {
  if (!path.empty() && FileIdentity::at(path.c_str()) == file) {
    ::unlink(path.c_str());
  }
}

ListeningSocket open_listening_socket(const ListenAddress& address, std::string& why) {
  ListeningSocket opened;
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (!address.path.empty()) {
    auto& where = reinterpret_cast<sockaddr_un&>(storage);
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path, address.path.c_str(), address.path.size() + 1);
    size = sizeof(where);
    remove_dead_socket(where);
  } else if (address.host.find(':') != std::string::npos) {
    auto& where = reinterpret_cast<sockaddr_in6&>(storage);
    where.sin6_family = AF_INET6;
    where.sin6_port = htons(static_cast<uint16_t>(address.port));
    ::inet_pton(AF_INET6, address.host.c_str(), &where.sin6_addr);
    size = sizeof(where);
  } else {
    auto& where = reinterpret_cast<sockaddr_in&>(storage);
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<uint16_t>(address.port));
    ::inet_pton(AF_INET, address.host.c_str(), &where.sin_addr);
    size = sizeof(where);
  }
  opened.descriptor = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  if (opened.descriptor >= 0 && address.path.empty()) {
    ::setsockopt(opened.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  const bool is_bound = opened.descriptor >= 0 &&
                        ::bind(opened.descriptor, reinterpret_cast<const sockaddr*>(&storage), size) == 0;
  if (is_bound && !address.path.empty()) {
    opened.path = address.path;
    opened.file = FileIdentity::at(address.path.c_str());
  }
  // A Unix socket has its permissions before any client can connect: a profile shows what a program does.
  if (!is_bound || (!address.path.empty() && ::chmod(address.path.c_str(), address.mode) != 0) ||
      ::listen(opened.descriptor, 16) != 0) {
    why = "cannot listen on " +
          (address.path.empty() ? address.host + ":" + std::to_string(address.port) : address.path) + ": " +
          ::strerrordesc_np(errno);
    return opened;
  }
  if (!address.path.empty()) {
    opened.shown_address = "unix:" + address.path;
    return opened;
  }
  size = sizeof(storage);
  ::getsockname(opened.descriptor, reinterpret_cast<sockaddr*>(&storage), &size);
  const bool is_v6 = storage.ss_family == AF_INET6;
  const int port = ntohs(is_v6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                               : reinterpret_cast<sockaddr_in&>(storage).sin_port);
  opened.shown_address =
      "http://" + (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
  return opened;
}

}  // namespace plimsoll::appprof
