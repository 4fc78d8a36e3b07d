// Starts a thread that sleeps, and does nothing else: what any second thread costs a program that has none. The C library takes shortcuts
// while there is one thread: its locks and streams need no atomic instructions.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace {

void* sleep_forever(void*) {
  for (;;) {
    ::pause();
  }
}

[[gnu::constructor]] void start_thread() noexcept {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, &sleep_forever, nullptr) == 0) {
    ::pthread_detach(thread);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
