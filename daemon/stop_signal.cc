#include "daemon/stop_signal.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

namespace plimsoll {

Result<StopSignal> StopSignal::install() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(errno, "preparing for signals");
  }
  return StopSignal(std::move(fd));
}

}  // namespace plimsoll
