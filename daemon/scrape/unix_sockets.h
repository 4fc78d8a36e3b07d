// Unix sockets of applications: which process listens at a path, and a connection to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/identity/proc_fs.h"

namespace plimsoll::scrape {

struct ListeningUnixSocket {
  std::string path;  // as it was bound: in the mount namespace of that process
  uint64_t inode = 0;
};

// Of the text of /proc/net/unix: stream sockets that listen at an absolute path. What is none of its lines is passed over. The kernel prints
// paths as they are, line breaks too: a line may be forged, and counts only for a process that holds a socket of its inode, and whose
// number a connection to the path has (UnixConnection).
std::vector<ListeningUnixSocket> parse_listening_unix_sockets(std::string_view text);

// Those of the process's network namespace.
Result<std::vector<ListeningUnixSocket>> listening_unix_sockets(const identity::ProcFs& proc_fs,
                                                                uint32_t pid);

// Whether this process holds a socket that listens at the path. kNotFound: none listens there; kDenied: it is not this process's, or
// the process is another user's and its sockets may not be looked at.
Status check_unix_listener(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& path);

struct UnixConnection {
  UniqueFd fd;  // non-blocking
  uint32_t peer =
      0;  // the process that called listen() (SO_PEERCRED); 0: it is in a PID namespace out of sight
};

// Connects to a socket below a root folder: "/", or that of a process (ProcFs::path_in_root()), which no link on the way leads out of. Does
// not wait: where the socket's queue is full it is kUnavailable. kDenied: connecting requires permission to write to the socket.
Result<UnixConnection> connect_to_unix_socket(const std::string& root, const std::string& path);

}  // namespace plimsoll::scrape
