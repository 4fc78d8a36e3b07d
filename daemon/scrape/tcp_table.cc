#include "daemon/scrape/tcp_table.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace plimsoll::scrape {
namespace {

constexpr std::string_view kListening = "0A";                         // TCP_LISTEN
constexpr std::string_view kBeforeIpv4 = "0000000000000000FFFF0000";  // ::ffff:0:0/96
constexpr size_t kWordDigits = 8;

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

// The words of such a text. False where it is none.
template <size_t kWords>
bool read_words(std::string_view text, std::array<uint32_t, kWords>& words) {
  if (text.size() != kWords * kWordDigits) {
    return false;
  }
  for (uint32_t& word : words) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + kWordDigits, word, 16);
    if (error != std::errc() || end != text.data() + kWordDigits) {
      return false;
    }
    text.remove_prefix(kWordDigits);
  }
  return true;
}

// The next part of the line that is not empty.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// "0100007F:1F90" of an address with its port; of IPv4 also as a socket of IPv6 has it.
std::vector<std::string> texts_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    const std::string text = kernel_text(ipv4.sin_addr);
    const uint16_t port = ntohs(ipv4.sin_port);
    return {fmt::format("{}:{:04X}", text, port), fmt::format("{}:{:04X}", kernel_text_in_ipv6(text), port)};
  }
  sockaddr_in6 ipv6{};
  std::memcpy(&ipv6, &address, sizeof ipv6);
  return {fmt::format("{}:{:04X}", kernel_text(ipv6.sin6_addr), ntohs(ipv6.sin6_port))};
}

}  // namespace

std::vector<TcpSocket> parse_tcp_table(std::string_view text) {
  std::vector<TcpSocket> sockets;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // sl local_address:port rem_address:port st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ...
    take_word(line);
    TcpSocket socket;
    socket.local = take_word(line);
    socket.remote = take_word(line);
    socket.is_listening = take_word(line) == kListening;
    for (int skipped = 0; skipped < 5; ++skipped) {
      take_word(line);
    }
    const std::string_view inode = take_word(line);
    const auto [inode_end, error] = std::from_chars(inode.data(), inode.data() + inode.size(), socket.inode);
    if (error == std::errc() && inode_end == inode.data() + inode.size()) {
      sockets.push_back(socket);
    }
  }
  return sockets;
}

std::string kernel_text(const in_addr& address) {
  return words_text<1>(&address);
}

std::string kernel_text(const in6_addr& address) {
  return words_text<4>(&address);
}

std::string kernel_text_in_ipv6(std::string_view ipv4_text) {
  return fmt::format("{}{}", kBeforeIpv4, ipv4_text);
}

std::string host_of_kernel_text(std::string_view text) {
  if (text.size() == 4 * kWordDigits && text.starts_with(kBeforeIpv4)) {
    text.remove_prefix(kBeforeIpv4.size());
  }
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (std::array<uint32_t, 1> ipv4{}; read_words(text, ipv4)) {
    ::inet_ntop(AF_INET, ipv4.data(), host.data(), host.size());
  } else if (std::array<uint32_t, 4> ipv6{}; read_words(text, ipv6)) {
    ::inet_ntop(AF_INET6, ipv6.data(), host.data(), host.size());
  }
  return host.data();
}

bool has_connection(std::string_view text, const sockaddr_storage& local, const sockaddr_storage& remote) {
  const std::vector<std::string> locals = texts_of(local);
  const std::vector<std::string> remotes = texts_of(remote);
  return std::ranges::any_of(parse_tcp_table(text), [&](const TcpSocket& socket) {
    return !socket.is_listening && std::ranges::find(locals, socket.local) != locals.end() &&
           std::ranges::find(remotes, socket.remote) != remotes.end();
  });
}

}  // namespace plimsoll::scrape
