#include "daemon/scrape/socket_owner.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

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

// Every address at which a socket would answer for this host: its own, and any.
std::vector<std::string> addresses_for(const std::string& host) {
  std::vector<std::string> addresses{kAnyIpv4, kAnyIpv6};
  const bool is_name = host == "localhost";
  in_addr ipv4{};
  if (::inet_pton(AF_INET, is_name ? "127.0.0.1" : host.c_str(), &ipv4) == 1) {
    const std::string text = words_text<1>(&ipv4);
    addresses.push_back(text);
    addresses.push_back(kMappedIpv4 + text);
  }
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, is_name ? "::1" : host.c_str(), &ipv6) == 1) {
    addresses.push_back(words_text<4>(&ipv6));
  }
  return addresses;
}

// The next part of the line that is not empty.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
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

std::optional<uint32_t> find_listener(const identity::ProcFs& proc_fs, const std::string& host,
                                      uint16_t port) {
  const std::vector<std::string> addresses = addresses_for(host);
  std::vector<uint64_t> inodes;
  for (const bool ipv6 : {false, true}) {
    const std::string sockets = proc_fs.tcp_sockets(ipv6).value_or(std::string());
    const auto found = listening_inodes(sockets, addresses, port);
    inodes.insert(inodes.end(), found.begin(), found.end());
  }
  if (inodes.empty()) {
    return std::nullopt;
  }
  std::vector<uint32_t> pids = proc_fs.pids();
  std::ranges::sort(pids);
  const auto owner = std::ranges::find_if(pids, [&](uint32_t pid) {
    return std::ranges::any_of(proc_fs.socket_inodes(pid), [&](uint64_t inode) {
      return std::ranges::find(inodes, inode) != inodes.end();
    });
  });
  return owner == pids.end() ? std::nullopt : std::optional(*owner);
}

}  // namespace plimsoll::scrape
