// Which process answers at a loopback address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/identity/proc_fs.h"

namespace plimsoll::scrape {

// The process with the smallest PID that holds a socket listening there (those that it forked hold it, too). Nothing
// where nobody listens, or the process is another user's and this one may not look. Reads the file descriptors of all
// processes: some milliseconds on a busy machine.
std::optional<uint32_t> find_listener(const identity::ProcFs& proc_fs, const std::string& host,
                                      uint16_t port);

// Inodes of the sockets in the text of /proc/net/tcp or tcp6 that listen on this port, at one of the addresses; these as
// the kernel writes them ("0100007F").
std::vector<uint64_t> listening_inodes(std::string_view sockets_text,
                                       const std::vector<std::string>& addresses, uint16_t port);

}  // namespace plimsoll::scrape
