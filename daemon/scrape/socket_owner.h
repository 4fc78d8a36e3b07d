// Which process answers at an address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/identity/proc_fs.h"
#include "daemon/scrape/tcp_table.h"

namespace plimsoll::scrape {

// The process that holds the socket listening there. As the kernel chooses: the very address before any of its family,
// and that before [::] for IPv4. Of several holders it is the one that forked the others, which its children's code and
// name are those of.
//
// kNotFound: no process listens; kDenied: the process is another user's and this one may not look; kConflict: several hold
// it and none forked all others. Reads the file descriptors of all processes: some milliseconds on a busy machine.
Result<uint32_t> find_listener(const identity::ProcFs& proc_fs, const std::string& host, uint16_t port);

// Whether whatever listens there, in the process's network namespace, is this process, which is all that is looked at. kNotFound: no process
// listens; kDenied: another does, at least too, or this one is another user's and its sockets may not be looked at.
Status check_listener(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host, uint16_t port);

struct ListeningSocket {
  std::string address;             // as the kernel writes it ("0100007F")
  std::string host = {};           // the same as text ("127.0.0.1")
  std::string loopback_host = {};  // where it answers on loopback: "127.0.0.1" or "::1"; empty: not there
  uint16_t port = 0;
  uint64_t inode = 0;
};

// Of the text of /proc/net/tcp or tcp6; what is none of its lines is passed over.
std::vector<ListeningSocket> parse_listening_sockets(std::string_view sockets_text);
// Those of this network namespace, or of a process's.
Result<std::vector<ListeningSocket>> listening_sockets(const identity::ProcFs& proc_fs,
                                                       std::optional<uint32_t> pid = {});

// Whether the process's network namespace has a connection to `local`, an address of its own, from `remote`.
Result<bool> has_connection(const identity::ProcFs& proc_fs, uint32_t pid, const sockaddr_storage& local,
                            const sockaddr_storage& remote);

// The holder that forked all others; nothing where some come from elsewhere. `holders` ascends.
std::optional<uint32_t> ancestor_of_all(const identity::ProcFs& proc_fs,
                                        const std::vector<uint32_t>& holders);

// Inodes of the sockets in the text of /proc/net/tcp or tcp6 that listen on this port, at one of the addresses; these as
// the kernel writes them ("0100007F").
std::vector<uint64_t> listening_inodes(std::string_view sockets_text,
                                       const std::vector<std::string>& addresses, uint16_t port);

}  // namespace plimsoll::scrape
