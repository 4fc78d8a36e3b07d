#include "daemon/service/signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

namespace plimsoll {

Result<Signals> Signals::install(std::initializer_list<int> numbers) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : numbers) {
    ::sigaddset(&signals, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno(errno, "preparing for signals");
  }
  return Signals(std::move(fd));
}

int Signals::take() const {
  signalfd_siginfo signal{};
  return ::read(fd_.get(), &signal, sizeof signal) == sizeof signal ? static_cast<int>(signal.ssi_signo) : 0;
}

}  // namespace plimsoll
