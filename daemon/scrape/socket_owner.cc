#include "daemon/scrape/socket_owner.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace plimsoll::scrape {
namespace {

constexpr std::string_view kListening = "0A";  // TCP_LISTEN
constexpr const char* kAnyIpv4 = "00000000";
constexpr const char* kAnyIpv6 = "00000000000000000000000000000000";
constexpr const char* kMappedIpv4 = "0000000000000000FFFF0000";  // before the IPv4 address

// The bytes of an address as the kernel prints them: 32-bit words of this machine's byte order.
template <size_t kWords>
std::string words_text(const void* address) {
  std::array<uint32_t, kWords> words{};
  std::memcpy(words.data(), address, sizeof words);
  std::string text;
  for (const uint32_t word : words) {
    text += fmt::format("{:08X}", word);
  }
  return text;
}

// The addresses of one family at which a socket would answer; the kernel takes the first group that has one.
using Preference = std::vector<std::vector<std::string>>;

// One for each family that the host has addresses in.
std::vector<Preference> preferences_for(const std::string& host) {
  std::vector<Preference> preferences;
  const bool is_name = host == "localhost";
  in_addr ipv4{};
  if (::inet_pton(AF_INET, is_name ? "127.0.0.1" : host.c_str(), &ipv4) == 1) {
    const std::string text = words_text<1>(&ipv4);
    preferences.push_back({{text, kMappedIpv4 + text}, {kAnyIpv4}, {kAnyIpv6}});
  }
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, is_name ? "::1" : host.c_str(), &ipv6) == 1) {
    preferences.push_back({{words_text<4>(&ipv6)}, {kAnyIpv6}});
  }
  return preferences;
}

// The next part of the line that is not empty.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// Of IPv4 and IPv6.
Result<std::string> sockets_text(const identity::ProcFs& proc_fs) {
  std::string text;
  for (const bool ipv6 : {false, true}) {
    const auto sockets = proc_fs.tcp_sockets(ipv6);
    if (sockets) {
      text += *sockets;
    } else if (!ipv6 ||
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

// The holder that forked all others; nothing where some come from elsewhere.
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

// Of the sockets that would answer there.
Result<std::vector<uint64_t>> find_inodes(const identity::ProcFs& proc_fs, const std::string& host,
                                          uint16_t port) {
  const auto sockets = sockets_text(proc_fs);
  if (!sockets) {
    return propagate(sockets, "looking for the process that listens on port {}", port);
  }
  std::vector<uint64_t> inodes;
  for (const Preference& preference : preferences_for(host)) {
    const auto found = answering_inodes(*sockets, preference, port);
    inodes.insert(inodes.end(), found.begin(), found.end());
  }
  if (inodes.empty()) {
    return fail(ErrorCode::kNotFound, "no process in this network namespace listens on {}, port {}", host,
                port);
  }
  return inodes;
}

}  // namespace

std::vector<uint64_t> listening_inodes(std::string_view sockets_text,
                                       const std::vector<std::string>& addresses, uint16_t port) {
  std::vector<uint64_t> inodes;
  const std::string port_text = fmt::format("{:04X}", port);
  while (!sockets_text.empty()) {
    const size_t end = std::min(sockets_text.find('\n'), sockets_text.size());
    std::string_view line = sockets_text.substr(0, end);
    sockets_text.remove_prefix(std::min(end + 1, sockets_text.size()));
    // sl local_address:port rem_address:port st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ...
    take_word(line);
    const std::string_view local = take_word(line);
    take_word(line);
    const std::string_view state = take_word(line);
    for (int skipped = 0; skipped < 5; ++skipped) {
      take_word(line);
    }
    const std::string_view inode_text = take_word(line);
    const size_t colon = std::min(local.find(':'), local.size());
    const bool is_it = state == kListening && colon < local.size() && local.substr(colon + 1) == port_text &&
                       std::ranges::find(addresses, local.substr(0, colon)) != addresses.end();
    uint64_t inode = 0;
    if (is_it &&
        std::from_chars(inode_text.data(), inode_text.data() + inode_text.size(), inode).ec == std::errc()) {
      inodes.push_back(inode);
    }
  }
  return inodes;
}

Result<uint32_t> find_listener(const identity::ProcFs& proc_fs, const std::string& host, uint16_t port) {
  const auto inodes = find_inodes(proc_fs, host, port);
  if (!inodes) {
    return propagate(inodes);
  }
  const std::vector<uint32_t> holders = holders_of(proc_fs, *inodes);
  if (holders.empty()) {
    return with_hint(
        fail(ErrorCode::kDenied, "no accessible process has the socket on {}, port {}", host, port),
        "run the daemon as root, or as the application's user");
  }
  if (const auto ancestor = ancestor_of_all(proc_fs, holders)) {
    return *ancestor;
  }
  return fail(ErrorCode::kConflict, "{} processes listen on {}, port {}, including {} and {}", holders.size(),
              host, port, holders[0], holders[1]);
}

Status check_listener(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host, uint16_t port) {
  const auto inodes = find_inodes(proc_fs, host, port);
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
