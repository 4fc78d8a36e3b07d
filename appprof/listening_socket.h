// Listens on loopback, a Unix socket or another address.
#pragma once

#include <string>

#include "appprof/file_identity.h"
#include "appprof/http_request.h"

namespace plimsoll::appprof {

// The caller closes the descriptor and removes the path.
struct ListeningSocket {
  int descriptor = -1;        // does not block, closed by exec()
  std::string shown_address;  // "http://127.0.0.1:41234" or "unix:/path"
  std::string path;           // of a Unix socket
  FileIdentity file;          // that is at the path: another process may put its own there

  // Where it is still there. In any thread while nothing changes it.
  void remove_path() const noexcept;
};

// `why` says why there is none; the descriptor may be open, and the path be there, all the same.
ListeningSocket open_listening_socket(const ListenAddress& address, std::string& why);

}  // namespace plimsoll::appprof
