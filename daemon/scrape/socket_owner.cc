#include "daemon/scrape/socket_owner.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace plimsoll::scrape {
namespace {

// With socket activation it makes the sockets of programs that it starts at their first connection, and keeps them. Users have one too.
constexpr const char* kManager = "systemd";

constexpr const char* kAnyIpv4 = "00000000";
constexpr const char* kAnyIpv6 = "00000000000000000000000000000000";

// The addresses of one family at which a socket would answer; the kernel takes the first group that has one.
using Preference = std::vector<std::vector<std::string>>;

// One for each family that the host has addresses in.
std::vector<Preference> preferences_for(const std::string& host) {
  std::vector<Preference> preferences;
  const bool is_name = host == "localhost";
  in_addr ipv4{};
  if (::inet_pton(AF_INET, is_name ? "127.0.0.1" : host.c_str(), &ipv4) == 1) {
    const std::string text = kernel_text(ipv4);
    preferences.push_back({{text, kernel_text_in_ipv6(text)}, {kAnyIpv4}, {kAnyIpv6}});
  }
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, is_name ? "::1" : host.c_str(), &ipv6) == 1) {
    preferences.push_back({{kernel_text(ipv6)}, {kAnyIpv6}});
  }
  return preferences;
}

// How a socket at a host is reached on loopback.
std::string loopback_host_of(const std::string& host) {
  if (host == "0.0.0.0") {
    return "127.0.0.1";
  }
  return host == "::" || host == "::1" ? "::1" : host.starts_with("127.") ? host : std::string();
}

// Of IPv4 and IPv6, in the network namespace of a process, or of this program.
Result<std::string> sockets_text(const identity::ProcFs& proc_fs, std::optional<uint32_t> pid = {}) {
  const bool is_other = pid && !proc_fs.other_network(*pid).empty();
  std::string text;
  for (const std::string_view table : {"tcp", "tcp6"}) {
    const auto sockets = proc_fs.network_file(table, is_other ? pid : std::nullopt);
    if (sockets) {
      text += *sockets;
    } else if (table == "tcp" ||
               sockets.error().code != ErrorCode::kNotFound) {  // kernels without IPv6 have no such file
      return propagate(sockets);
    }
  }
  return text;
}

std::vector<uint64_t> answering_inodes(std::string_view sockets, const Preference& preference,
                                       uint16_t port) {
  for (const std::vector<std::string>& addresses : preference) {
    if (auto inodes = listening_inodes(sockets, addresses, port); !inodes.empty()) {
      return inodes;
    }
  }
  return {};
}

// Ascending.
std::vector<uint32_t> holders_of(const identity::ProcFs& proc_fs, const std::vector<uint64_t>& inodes) {
  std::vector<uint32_t> holders = proc_fs.pids();
  std::erase_if(holders, [&](uint32_t pid) {
    return std::ranges::none_of(proc_fs.socket_inodes(pid), [&](uint64_t inode) {
      return std::ranges::find(inodes, inode) != inodes.end();
    });
  });
  std::ranges::sort(holders);
  return holders;
}

// Of the sockets that would answer there, in the network namespace of a process, or of this program.
Result<std::vector<uint64_t>> find_inodes(const identity::ProcFs& proc_fs, const std::string& host,
                                          uint16_t port, std::optional<uint32_t> pid = {}) {
  const auto sockets = sockets_text(proc_fs, pid);
  if (!sockets) {
    return propagate(sockets, "looking for the process that listens on port {}", port);
  }
  std::vector<uint64_t> inodes;
  for (const Preference& preference : preferences_for(host)) {
    const auto found = answering_inodes(*sockets, preference, port);
    inodes.insert(inodes.end(), found.begin(), found.end());
  }
  if (inodes.empty()) {
    return fail(ErrorCode::kNotFound, "no process in {} network namespace listens on {}, port {}",
                pid ? "its" : "this", host, port);
  }
  return inodes;
}

}  // namespace

std::vector<ListeningSocket> parse_listening_sockets(std::string_view sockets_text) {
  std::vector<ListeningSocket> sockets;
  for (const TcpSocket& entry : parse_tcp_table(sockets_text)) {
    const size_t colon = std::min(entry.local.find(':'), entry.local.size());
    const std::string_view port = entry.local.substr(std::min(colon + 1, entry.local.size()));
    ListeningSocket socket{.address = std::string(entry.local.substr(0, colon)), .inode = entry.inode};
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), socket.port, 16);
    if (entry.is_listening && error == std::errc() && end == port.data() + port.size()) {
      socket.host = host_of_kernel_text(socket.address);
      socket.loopback_host = loopback_host_of(socket.host);
      sockets.push_back(std::move(socket));
    }
  }
  return sockets;
}

Result<std::vector<ListeningSocket>> listening_sockets(const identity::ProcFs& proc_fs,
                                                       std::optional<uint32_t> pid) {
  const auto text = sockets_text(proc_fs, pid);
  if (!text) {
    return propagate(text, "looking for listening sockets");
  }
  return parse_listening_sockets(*text);
}

Result<bool> has_connection(const identity::ProcFs& proc_fs, uint32_t pid, const sockaddr_storage& local,
                            const sockaddr_storage& remote) {
  const auto text = sockets_text(proc_fs, pid);
  if (!text) {
    return propagate(text, "looking for a connection");
  }
  return has_connection(*text, local, remote);
}

std::vector<uint64_t> listening_inodes(std::string_view sockets_text,
                                       const std::vector<std::string>& addresses, uint16_t port) {
  std::vector<uint64_t> inodes;
  for (const ListeningSocket& socket : parse_listening_sockets(sockets_text)) {
    if (socket.port == port && std::ranges::find(addresses, socket.address) != addresses.end()) {
      inodes.push_back(socket.inode);
    }
  }
  return inodes;
}

std::optional<uint32_t> ancestor_of_all(const identity::ProcFs& proc_fs,
                                        const std::vector<uint32_t>& holders) {
  std::optional<uint32_t> ancestor;
  for (const uint32_t pid : holders) {
    if (std::ranges::binary_search(holders, proc_fs.parent(pid))) {
      continue;
    }
    if (ancestor) {
      return std::nullopt;
    }
    ancestor = pid;
  }
  return ancestor;
}

Result<uint32_t> find_listener(const identity::ProcFs& proc_fs, const std::string& host, uint16_t port) {
  const auto inodes = find_inodes(proc_fs, host, port);
  if (!inodes) {
    return propagate(inodes);
  }
  std::vector<uint32_t> holders = holders_of(proc_fs, *inodes);
  if (holders.empty()) {
    return with_hint(
        fail(ErrorCode::kDenied, "no accessible process has the socket on {}, port {}", host, port),
        "run the daemon as root, or as the application's user");
  }
  while (const auto ancestor = ancestor_of_all(proc_fs, holders)) {
    if (holders.size() == 1 || proc_fs.comm(*ancestor) != kManager) {
      return *ancestor;
    }
    // It made the socket and handed it on.
    std::erase(holders, *ancestor);
  }
  return fail(ErrorCode::kConflict, "{} processes listen on {}, port {}, including {} and {}", holders.size(),
              host, port, holders[0], holders[1]);
}

Status check_listener(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host, uint16_t port) {
  const auto inodes = find_inodes(proc_fs, host, port, pid);
  if (!inodes) {
    return propagate(inodes);
  }
  const std::vector<uint64_t> held = proc_fs.socket_inodes(pid);
  const bool is_its = std::ranges::all_of(
      *inodes, [&](uint64_t inode) { return std::ranges::find(held, inode) != held.end(); });
  if (!is_its) {
    return with_hint(
        fail(ErrorCode::kDenied, "process {} does not listen on {}, port {}, or not alone", pid, host, port),
        "run the daemon as root, or as the application's user, where it does");
  }
  return {};
}

}  // namespace plimsoll::scrape
