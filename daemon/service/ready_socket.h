// The other side of ServiceNotifier: for a program that starts a daemon and has to know when it is at work.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// An address that the kernel chooses, in the abstract namespace: there is no file to be left behind.
class ReadySocket {
 public:
  static Result<ReadySocket> open();

  // What NOTIFY_SOCKET is to be for the daemon: "@...".
  const std::string& address() const { return address_; }
  // Readable when something was said.
  int fd() const { return fd_.get(); }
  // Takes all that was said so far. Whether READY=1 was among it.
  bool take_ready() const;

 private:
  ReadySocket(UniqueFd fd, std::string address) : fd_(std::move(fd)), address_(std::move(address)) {}

  UniqueFd fd_;
  std::string address_;
};

}  // namespace plimsoll
