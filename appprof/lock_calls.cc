// The functions that replace those of the C library. While sampling is off each costs a load and a jump more.
//
// What is not seen: pthread_cond_wait takes its mutex back inside the C library, where no replacement reaches; and locks that are
// no pthread locks (futexes of a program's own, Go, absl::Mutex).
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>

#include "appprof/locks.h"
#include "appprof/own_code.h"

namespace plimsoll::appprof {
namespace {

using MutexCall = int (*)(pthread_mutex_t*);
using MutexTimedCall = int (*)(pthread_mutex_t*, const timespec*);
using MutexClockCall = int (*)(pthread_mutex_t*, clockid_t, const timespec*);
using RwlockCall = int (*)(pthread_rwlock_t*);
using RwlockTimedCall = int (*)(pthread_rwlock_t*, const timespec*);
using RwlockClockCall = int (*)(pthread_rwlock_t*, clockid_t, const timespec*);

// The C library's function by a name. Looked up before main(), by find_all(): dlsym takes the loader's lock, and a thread that
// waits for that with a lock of the application's could meet one in dlopen() that waits for the other. Other libraries lock before
// our constructor runs, in the only thread that there is: then at the first call. dlsym takes the loader's lock by a pointer that
// the loader has itself, not by a function replaced here, and allocates nothing where it finds something.
template <typename Call>
class RealCall {
 public:
  constexpr explicit RealCall(const char* name) : name_(name) {}
  Call get() noexcept {
    Call call = call_.load(std::memory_order_relaxed);
    if (call == nullptr) [[unlikely]] {
      call = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name_));
      call_.store(call, std::memory_order_relaxed);
    }
    return call;
  }

 private:
  const char* const name_;
  std::atomic<Call> call_{nullptr};
};

constinit RealCall<MutexCall> g_mutex_lock("pthread_mutex_lock");
constinit RealCall<MutexCall> g_mutex_trylock("pthread_mutex_trylock");
constinit RealCall<MutexTimedCall> g_mutex_timedlock("pthread_mutex_timedlock");
constinit RealCall<MutexClockCall> g_mutex_clocklock("pthread_mutex_clocklock");
constinit RealCall<RwlockCall> g_rwlock_rdlock("pthread_rwlock_rdlock");
constinit RealCall<RwlockCall> g_rwlock_wrlock("pthread_rwlock_wrlock");
constinit RealCall<RwlockCall> g_rwlock_tryrdlock("pthread_rwlock_tryrdlock");
constinit RealCall<RwlockCall> g_rwlock_trywrlock("pthread_rwlock_trywrlock");
constinit RealCall<RwlockTimedCall> g_rwlock_timedrdlock("pthread_rwlock_timedrdlock");
constinit RealCall<RwlockTimedCall> g_rwlock_timedwrlock("pthread_rwlock_timedwrlock");
constinit RealCall<RwlockClockCall> g_rwlock_clockrdlock("pthread_rwlock_clockrdlock");
constinit RealCall<RwlockClockCall> g_rwlock_clockwrlock("pthread_rwlock_clockwrlock");

[[gnu::constructor(101)]] void find_all() noexcept {
  const auto find = [](auto&... calls) { (static_cast<void>(calls.get()), ...); };
  find(g_mutex_lock, g_mutex_trylock, g_mutex_timedlock, g_mutex_clocklock, g_rwlock_rdlock, g_rwlock_wrlock,
       g_rwlock_tryrdlock, g_rwlock_trywrlock, g_rwlock_timedrdlock, g_rwlock_timedwrlock,
       g_rwlock_clockrdlock, g_rwlock_clockwrlock);
}

// The error of a C library without the function.
template <typename Call, typename... Arguments>
int call_real(RealCall<Call>& real, Arguments... arguments) noexcept {
  const Call call = real.get();
  return call == nullptr ? ENOSYS : call(arguments...);
}

// Tries first: what is free is taken without a look at a clock. Any answer but EBUSY is that of the waiting call too (an error
// of the lock, a dead owner, a count that is full).
template <typename Try, typename Wait>
[[gnu::always_inline]] inline int timed(const Try& try_lock, const Wait& wait, const void* caller) noexcept {
  if (!are_locks_on()) {
    return wait();
  }
  if (const int result = try_lock(); result != EBUSY) {
    return result;
  }
  const int64_t began_ns = monotonic_ns();
  const int result = wait();
  // A wait that timed out was one too; EDEADLK and EINVAL return at once.
  if (result == 0 || result == ETIMEDOUT || result == EOWNERDEAD) {
    record_wait(monotonic_ns() - began_ns, reinterpret_cast<uintptr_t>(caller));
  }
  return result;
}

}  // namespace

// Also keeps this file in a program that links the static library.
bool are_lock_calls_ours() noexcept {
  return is_replaced_here("pthread_mutex_lock") && g_mutex_lock.get() != nullptr &&
         g_mutex_trylock.get() != nullptr && g_rwlock_tryrdlock.get() != nullptr;
}

}  // namespace plimsoll::appprof

using plimsoll::appprof::call_real;
using plimsoll::appprof::g_mutex_clocklock;
using plimsoll::appprof::g_mutex_lock;
using plimsoll::appprof::g_mutex_timedlock;
using plimsoll::appprof::g_mutex_trylock;
using plimsoll::appprof::g_rwlock_clockrdlock;
using plimsoll::appprof::g_rwlock_clockwrlock;
using plimsoll::appprof::g_rwlock_rdlock;
using plimsoll::appprof::g_rwlock_timedrdlock;
using plimsoll::appprof::g_rwlock_timedwrlock;
using plimsoll::appprof::g_rwlock_tryrdlock;
using plimsoll::appprof::g_rwlock_trywrlock;
using plimsoll::appprof::g_rwlock_wrlock;
using plimsoll::appprof::timed;

#define APPPROF_REPLACES extern "C" __attribute__((visibility("default"), noinline))

APPPROF_REPLACES int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return timed([=] { return call_real(g_mutex_trylock, mutex); },
               [=] { return call_real(g_mutex_lock, mutex); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* abstime) noexcept {
  return timed([=] { return call_real(g_mutex_trylock, mutex); },
               [=] { return call_real(g_mutex_timedlock, mutex, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clockid,
                                             const timespec* abstime) noexcept {
  return timed([=] { return call_real(g_mutex_trylock, mutex); },
               [=] { return call_real(g_mutex_clocklock, mutex, clockid, abstime); },
               __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return timed([=] { return call_real(g_rwlock_tryrdlock, lock); },
               [=] { return call_real(g_rwlock_rdlock, lock); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return timed([=] { return call_real(g_rwlock_trywrlock, lock); },
               [=] { return call_real(g_rwlock_wrlock, lock); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* abstime) noexcept {
  return timed([=] { return call_real(g_rwlock_tryrdlock, lock); },
               [=] { return call_real(g_rwlock_timedrdlock, lock, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* abstime) noexcept {
  return timed([=] { return call_real(g_rwlock_trywrlock, lock); },
               [=] { return call_real(g_rwlock_timedwrlock, lock, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clockid,
                                                const timespec* abstime) noexcept {
  return timed([=] { return call_real(g_rwlock_tryrdlock, lock); },
               [=] { return call_real(g_rwlock_clockrdlock, lock, clockid, abstime); },
               __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clockid,
                                                const timespec* abstime) noexcept {
  return timed([=] { return call_real(g_rwlock_trywrlock, lock); },
               [=] { return call_real(g_rwlock_clockwrlock, lock, clockid, abstime); },
               __builtin_return_address(0));
}
