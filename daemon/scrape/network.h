// Which of its addresses a process is reached at from this program's network namespace, and a connection that leads there.
//
// A namespace may have any address: a user who makes one (in a user namespace) can give it that of another machine. So what a
// namespace says of its addresses chooses where to connect to; before a byte is sent, the connection must be in its table of sockets, which
// had none of the same addresses and ports before. What remains: a user who sees the connection, and makes one of the same addresses within
// that namespace in the next few milliseconds, leads the request for a profile to that other machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/identity/proc_fs.h"
#include "config/scrape_endpoint.h"
#include "daemon/scrape/socket_owner.h"

namespace plimsoll::scrape {

// Of the text of /proc/net/fib_trie: the IPv4 addresses of the namespace itself, without loopback, each once; 1000 at most.
std::vector<std::string> parse_own_ipv4(std::string_view fib_trie);
// Of the text of /proc/net/if_inet6: the global IPv6 addresses, 1000 at most.
std::vector<std::string> parse_own_ipv6(std::string_view if_inet6);

// Of the process's network namespace, IPv4 first. Those of a family that cannot be read are missing.
std::vector<std::string> own_addresses(const identity::ProcFs& proc_fs, uint32_t pid);

// The host by which a socket of a namespace with these addresses is reached from here; empty: not at all. `is_ours`: of this program's
// namespace, whose loopback is preferred.
std::string reached_host(const ListeningSocket& socket, bool is_ours,
                         const std::vector<std::string>& addresses);

// Whether this numeric host may be the process's: loopback where it shares this program's namespace, else an address of its own. kDenied.
Status check_reach(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host);

// Whether the process listens at an endpoint, on TCP or a Unix socket, and is reached there. Errors as of check_reach(), check_listener() and
// check_unix_listener().
Status check_endpoint(const identity::ProcFs& proc_fs, uint32_t pid, const config::ScrapeEndpoint& endpoint);

struct ConnectLimits {
  int64_t timeout_ns = 10'000'000'000;
  int cancel_fd = -1;  // readable: give up
};

// A connection to a numeric address and port, whose other end is in the process's network namespace: else kDenied. Non-blocking.
Result<UniqueFd> connect_to_network_of(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host,
                                       uint16_t port, const ConnectLimits& limits);

}  // namespace plimsoll::scrape
