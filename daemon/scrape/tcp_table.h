// What the kernel says of TCP sockets in /proc/net/tcp and tcp6, and how it writes addresses there.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::scrape {

struct TcpSocket {
  std::string_view
      local;  // "0100007F:1F90": an address, as 32-bit words of this machine's byte order, and a port
  std::string_view remote;  // as `local`
  bool is_listening = false;
  uint64_t inode = 0;  // 0: its process has not accepted it yet
};

// Of the text of tcp or tcp6, which the result points into; what is none of its lines is passed over.
std::vector<TcpSocket> parse_tcp_table(std::string_view text);

std::string kernel_text(const in_addr& address);   // "0100007F"
std::string kernel_text(const in6_addr& address);  // 32 digits
// How a socket of IPv6 has an IPv4 address, from its text.
std::string kernel_text_in_ipv6(std::string_view ipv4_text);
// "127.0.0.1" of "0100007F", "::1" of 32 digits; an IPv4 address in IPv6 is IPv4. Empty where it is none.
std::string host_of_kernel_text(std::string_view text);

// Whether there is a socket of a connection from `remote` to `local`, other than a listening one.
bool has_connection(std::string_view text, const sockaddr_storage& local, const sockaddr_storage& remote);

}  // namespace plimsoll::scrape
