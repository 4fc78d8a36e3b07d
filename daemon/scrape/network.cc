#include "daemon/scrape/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/time.h"
#include "daemon/scrape/tcp_table.h"
#include "daemon/scrape/unix_sockets.h"

namespace plimsoll::scrape {
namespace {

// The owner of a namespace may give it any number of addresses; which are known already is found by comparing.
constexpr size_t kMaxAddresses = 1000;

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

// As inet_ntop() writes it: "::1" of "0:0::1".
std::string canonical(const std::string& host) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, host.c_str(), &address) == 1) {
      return ::inet_ntop(family, &address, text.data(), text.size());
    }
  }
  return host;
}

bool is_loopback_host(const std::string& host) {
  return host == "::1" || host.starts_with("127.");
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

const sockaddr* as_sockaddr(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

// Nothing of a size of 0: it is no numeric address.
SocketAddress address_of(const std::string& host, uint16_t port) {
  SocketAddress address;
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  if (::inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    std::memcpy(&address.storage, &ipv4, sizeof ipv4);
    address.size = sizeof ipv4;
  } else if (::inet_pton(AF_INET6, host.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    std::memcpy(&address.storage, &ipv6, sizeof ipv6);
    address.size = sizeof ipv6;
  }
  return address;
}

SocketAddress own_address_of(const UniqueFd& fd) {
  SocketAddress own;
  own.size = sizeof(own.storage);
  const bool is_known =
      fd.valid() && ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) == 0;
  return is_known ? own : SocketAddress{};
}

// The address from which packets go there, with a port of 0. A datagram socket that connects sends nothing.
SocketAddress source_towards(const SocketAddress& target) {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const UniqueFd datagrams(::socket(target.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!datagrams.valid() || ::connect(datagrams.get(), as_sockaddr(target), target.size) != 0) {
    return {};
  }
  SocketAddress source = own_address_of(datagrams);
  constexpr in_port_t kAnyPort = 0;
  std::memcpy(reinterpret_cast<char*>(&source.storage) + offsetof(sockaddr_in, sin_port), &kAnyPort,
              sizeof kAnyPort);
  return source;
}

std::unexpected<Error> no_connection(int error_number) {
  return with_hint(fail(ErrorCode::kUnavailable, "{}", std::generic_category().message(error_number)),
                   "check that the application listens there");
}

// Until the connection is made or refused.
Status wait_for_connection(int fd, const ConnectLimits& limits) {
  std::array<pollfd, 2> polled{{{fd, POLLOUT, 0}, {limits.cancel_fd, POLLIN, 0}}};
  const int64_t deadline_ns = monotonic_now_ns() + limits.timeout_ns;
  while (polled[0].revents == 0) {
    const int64_t left_ns = deadline_ns - monotonic_now_ns();
    if (left_ns <= 0) {
      return fail(ErrorCode::kUnavailable, "no answer within {} ms", limits.timeout_ns / kNsPerMs);
    }
    // A descriptor below zero is passed over.
    ::poll(polled.data(), polled.size(), static_cast<int>(std::min<int64_t>(left_ns / kNsPerMs + 1, 1000)));
    if (polled[1].revents != 0) {
      return fail(ErrorCode::kUnavailable, "it was cancelled");
    }
  }
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    return no_connection(error != 0 ? error : errno);
  }
  return {};
}

// The other end is there before this one knows that it is connected, unless the kernel answers with SYN cookies. Few tries: while they
// last, the namespace's owner could make a connection of the same addresses in it.
Status check_other_end(const identity::ProcFs& proc_fs, uint32_t pid, const SocketAddress& own,
                       const SocketAddress& target) {
  constexpr int kTries = 5;
  constexpr int kBetweenMs = 1;
  for (int tries = 0; tries < kTries; ++tries) {
    const auto found = has_connection(proc_fs, pid, target.storage, own.storage);
    if (!found) {
      return propagate(found);
    }
    if (*found) {
      return {};
    }
    ::poll(nullptr, 0, kBetweenMs);
  }
  return fail(ErrorCode::kDenied, "the connection does not lead into the network namespace of process {}",
              pid);
}

// With an address of its own that the namespace has no connection from yet: one that was there before could be made up.
Status bind_to_unused(const identity::ProcFs& proc_fs, uint32_t pid, const UniqueFd& fd,
                      const SocketAddress& target) {
  const SocketAddress source = source_towards(target);
  if (source.size == 0 || ::bind(fd.get(), as_sockaddr(source), source.size) != 0) {
    return no_connection(errno);
  }
  const auto found = has_connection(proc_fs, pid, target.storage, own_address_of(fd).storage);
  if (!found) {
    return propagate(found);
  }
  return *found ? Status(fail(ErrorCode::kUnavailable,
                              "the network namespace of process {} has a connection of its addresses already",
                              pid))
                : Status();
}

Status connect_checked(const identity::ProcFs& proc_fs, uint32_t pid, const UniqueFd& fd,
                       const SocketAddress& target, const ConnectLimits& limits) {
  if (const Status bound = bind_to_unused(proc_fs, pid, fd, target); !bound) {
    return bound;
  }
  if (::connect(fd.get(), as_sockaddr(target), target.size) != 0 && errno != EINPROGRESS) {
    return no_connection(errno);
  }
  const Status connected = wait_for_connection(fd.get(), limits);
  return connected ? check_other_end(proc_fs, pid, own_address_of(fd), target) : connected;
}

}  // namespace

std::vector<std::string> parse_own_ipv4(std::string_view fib_trie) {
  constexpr std::string_view kLeaf = "|-- ";
  std::vector<std::string> addresses;
  std::string_view leaf;
  while (!fib_trie.empty() && addresses.size() < kMaxAddresses) {
    const std::string_view line = take_line(fib_trie);
    if (line.starts_with(kLeaf)) {
      leaf = line.substr(kLeaf.size());
    } else if (line == "/32 host LOCAL" && !leaf.empty() && !leaf.starts_with("127.") &&
               std::ranges::find(addresses, leaf) == addresses.end()) {
      addresses.emplace_back(leaf);
    }
  }
  return addresses;
}

std::vector<std::string> parse_own_ipv6(std::string_view if_inet6) {
  constexpr size_t kDigits = 32;
  constexpr std::string_view kGlobal = "00";  // RT_SCOPE_UNIVERSE
  std::vector<std::string> addresses;
  while (!if_inet6.empty() && addresses.size() < kMaxAddresses) {
    std::string_view line = take_line(if_inet6);
    // Address, number of the interface, length of the prefix, scope; flags and the interface follow.
    std::array<std::string_view, 4> fields;
    for (std::string_view& field : fields) {
      field = line.substr(0, line.find(' '));
      line.remove_prefix(field.size());
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    }
    std::array<uint8_t, 16> bytes{};
    bool is_address = fields[0].size() == kDigits && fields[3] == kGlobal;
    for (size_t i = 0; i < bytes.size() && is_address; ++i) {
      const char* const digits = fields[0].data() + 2 * i;
      const auto [end, error] = std::from_chars(digits, digits + 2, bytes[i], 16);
      is_address = error == std::errc() && end == digits + 2;
    }
    std::array<char, INET6_ADDRSTRLEN> host{};
    if (is_address && ::inet_ntop(AF_INET6, bytes.data(), host.data(), host.size()) != nullptr) {
      addresses.emplace_back(host.data());
    }
  }
  return addresses;
}

std::vector<std::string> own_addresses(const identity::ProcFs& proc_fs, uint32_t pid) {
  const bool is_ours = proc_fs.other_network(pid).empty();
  const auto file = [&](std::string_view name) {
    return proc_fs.network_file(name, is_ours ? std::nullopt : std::optional(pid)).value_or(std::string());
  };
  std::vector<std::string> addresses = parse_own_ipv4(file("fib_trie"));
  for (std::string& address : parse_own_ipv6(file("if_inet6"))) {
    addresses.push_back(std::move(address));
  }
  return addresses;
}

std::string reached_host(const ListeningSocket& socket, bool is_ours,
                         const std::vector<std::string>& addresses) {
  if (is_ours && !socket.loopback_host.empty()) {
    return socket.loopback_host;
  }
  if (socket.host != "0.0.0.0" && socket.host != "::") {
    const bool is_own = std::ranges::find(addresses, socket.host) != addresses.end();
    return is_own ? socket.host : std::string();
  }
  // A socket of all IPv6 addresses takes IPv4 as well, unless it was told not to, which is nowhere to be seen.
  const auto found = std::ranges::find_if(addresses, [&](const std::string& address) {
    return socket.host == "::" || address.find(':') == std::string::npos;
  });
  return found == addresses.end() ? std::string() : *found;
}

Status check_reach(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host) {
  const std::string address = canonical(host);
  if (is_loopback_host(address)) {
    return proc_fs.other_network(pid).empty()
               ? Status()
               : with_hint(fail(ErrorCode::kDenied,
                                "process {} listens on the loopback of a network namespace of its own", pid),
                           "let it listen on a Unix socket, or on an address of that namespace");
  }
  const std::vector<std::string> addresses = own_addresses(proc_fs, pid);
  if (std::ranges::find(addresses, address) == addresses.end()) {
    return with_hint(
        fail(ErrorCode::kDenied, "{} is no address of process {}'s network namespace", host, pid),
        "only loopback and a process's own addresses are scraped");
  }
  return {};
}

Status check_endpoint(const identity::ProcFs& proc_fs, uint32_t pid, const config::ScrapeEndpoint& endpoint) {
  if (!endpoint.socket_path.empty()) {
    return check_unix_listener(proc_fs, pid, endpoint.socket_path);
  }
  const Status reach = check_reach(proc_fs, pid, endpoint.host);
  return reach ? check_listener(proc_fs, pid, endpoint.host, endpoint.port) : reach;
}

Result<UniqueFd> connect_to_network_of(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host,
                                       uint16_t port, const ConnectLimits& limits) {
  const SocketAddress target = address_of(host, port);
  if (target.size == 0) {
    return fail(ErrorCode::kInvalid, "connecting to {}, port {}: it is no numeric address", host, port);
  }
  UniqueFd fd(::socket(target.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail_errno(errno, "connecting to {}, port {}", host, port);
  }
  if (const Status connected = connect_checked(proc_fs, pid, fd, target, limits); !connected) {
    return propagate(connected, "connecting to {}, port {}", host, port);
  }
  return fd;
}

}  // namespace plimsoll::scrape
