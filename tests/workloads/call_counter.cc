// A library for LD_PRELOAD that counts the calls of each thread that arrive in it, as other tools of that kind do: they replace functions
// and call the next library's. Built twice: with pthread_mutex_trylock, and without.
#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>

#define COUNTER_EXPORTS extern "C" __attribute__((visibility("default")))

namespace {

struct Counts {
  long locks = 0;
  long allocations = 0;
};
// Without a call, and without an allocation: within malloc().
[[gnu::tls_model("initial-exec")]] constinit thread_local Counts t_counts;

template <typename Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// This thread's calls so far.
COUNTER_EXPORTS void call_counter_read(long* locks, long* allocations) {
  *locks = t_counts.locks;
  *allocations = t_counts.allocations;
}

COUNTER_EXPORTS int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static int (*real)(pthread_mutex_t*) = nullptr;
  if (real == nullptr) {
    real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  }
  ++t_counts.locks;
  return real(mutex);
}

#ifdef COUNTS_TRYLOCK
// What gets the lock counts; what is refused is tried again, or waited for in pthread_mutex_lock().
COUNTER_EXPORTS int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static int (*real)(pthread_mutex_t*) = nullptr;
  if (real == nullptr) {
    real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
  }
  const int result = real(mutex);
  t_counts.locks += result == 0 ? 1 : 0;
  return result;
}
#endif

COUNTER_EXPORTS void* malloc(size_t size) noexcept {
  static void* (*real)(size_t) = nullptr;
  if (real == nullptr) {
    real = next<void* (*)(size_t)>("malloc");
  }
  ++t_counts.allocations;
  return real(size);
}
