// Which process answers at a loopback address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/identity/proc_fs.h"

namespace plimsoll::scrape {

// The process that holds the socket listening there. As the kernel chooses: the very address before any of its family,
// and that before [::] for IPv4. Of several holders it is the one that forked the others, which its children's code and
// name are those of.
//
// kNotFound: no process listens; kDenied: the process is another user's and this one may not look; kConflict: several hold
// it and none forked all others. Reads the file descriptors of all processes: some milliseconds on a busy machine.
Result<uint32_t> find_listener(const identity::ProcFs& proc_fs, const std::string& host, uint16_t port);

// Whether whatever listens there is this process, which is all that is looked at. kNotFound: no process listens; kDenied: another
// does, at least too, or this one is another user's and its sockets may not be looked at.
Status check_listener(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& host, uint16_t port);

// Inodes of the sockets in the text of /proc/net/tcp or tcp6 that listen on this port, at one of the addresses; these as
// the kernel writes them ("0100007F").
std::vector<uint64_t> listening_inodes(std::string_view sockets_text,
                                       const std::vector<std::string>& addresses, uint16_t port);

}  // namespace plimsoll::scrape
