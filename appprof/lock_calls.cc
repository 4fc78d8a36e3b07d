// The functions that replace those of the C library. While sampling is off each costs a load or two and a jump more.
//
// What is not seen: locks that are no pthread locks (futexes of a program's own, Go, absl::Mutex), and C11's cnd_wait and mtx_lock, which
// call the C library's functions by other names. pthread_cond_wait takes its mutex back inside the C library: that time is a part of the
// wait for the condition.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>

#include "appprof/holders.h"
#include "appprof/locks.h"
#include "appprof/own_code.h"
#include "appprof/plain_mutex.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

// noexcept, so that a last call of them is a jump. None of them is a point of cancellation; waits for conditions are.
using MutexCall = int (*)(pthread_mutex_t*) noexcept;
using MutexTimedCall = int (*)(pthread_mutex_t*, const timespec*) noexcept;
using MutexClockCall = int (*)(pthread_mutex_t*, clockid_t, const timespec*) noexcept;
using RwlockCall = int (*)(pthread_rwlock_t*) noexcept;
using RwlockTimedCall = int (*)(pthread_rwlock_t*, const timespec*) noexcept;
using RwlockClockCall = int (*)(pthread_rwlock_t*, clockid_t, const timespec*) noexcept;
using ConditionCall = int (*)(pthread_cond_t*, pthread_mutex_t*);
using ConditionTimedCall = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
using ConditionClockCall = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

// Since when condition variables are what they are on x86-64; dlsym() may find those of before, whose memory is laid out otherwise. Other
// machines have one version.
constexpr const char* kConditionVersion = "GLIBC_2.3.2";

// The C library's function by a name. Looked up before main(), by find_all(): dlsym takes the loader's lock, and a thread that
// waits for that with a lock of the application's could meet one in dlopen() that waits for the other. Other libraries lock before
// our constructor runs, in the only thread that there is: then at the first call. dlsym takes the loader's lock by a pointer that
// the loader has itself, not by a function replaced here, and allocates nothing where it finds something.
template <typename Call>
class RealCall {
 public:
  constexpr explicit RealCall(const char* name, const char* version = nullptr)
      : name_(name), version_(version) {}
  Call get() noexcept {
    const Call call = call_.load(std::memory_order_relaxed);
    return call != nullptr ? call : find();
  }

 private:
  // Apart, so that the calls below stay free of what they need once.
  [[gnu::cold, gnu::noinline]] Call find() noexcept {
    void* found = version_ == nullptr ? nullptr : ::dlvsym(RTLD_NEXT, name_, version_);
    const Call call = reinterpret_cast<Call>(found != nullptr ? found : ::dlsym(RTLD_NEXT, name_));
    call_.store(call, std::memory_order_relaxed);
    return call;
  }

  const char* const name_;
  const char* const version_;
  std::atomic<Call> call_{nullptr};
};

constinit RealCall<MutexCall> g_mutex_lock("pthread_mutex_lock");
constinit RealCall<MutexCall> g_mutex_trylock("pthread_mutex_trylock");
constinit RealCall<MutexTimedCall> g_mutex_timedlock("pthread_mutex_timedlock");
constinit RealCall<MutexClockCall> g_mutex_clocklock("pthread_mutex_clocklock");
constinit RealCall<MutexCall> g_mutex_unlock("pthread_mutex_unlock");
constinit RealCall<RwlockCall> g_rwlock_unlock("pthread_rwlock_unlock");
constinit RealCall<ConditionCall> g_cond_wait("pthread_cond_wait", kConditionVersion);
constinit RealCall<ConditionTimedCall> g_cond_timedwait("pthread_cond_timedwait", kConditionVersion);
constinit RealCall<ConditionClockCall> g_cond_clockwait("pthread_cond_clockwait");
constinit RealCall<RwlockCall> g_rwlock_rdlock("pthread_rwlock_rdlock");
constinit RealCall<RwlockCall> g_rwlock_wrlock("pthread_rwlock_wrlock");
constinit RealCall<RwlockCall> g_rwlock_tryrdlock("pthread_rwlock_tryrdlock");
constinit RealCall<RwlockCall> g_rwlock_trywrlock("pthread_rwlock_trywrlock");
constinit RealCall<RwlockTimedCall> g_rwlock_timedrdlock("pthread_rwlock_timedrdlock");
constinit RealCall<RwlockTimedCall> g_rwlock_timedwrlock("pthread_rwlock_timedwrlock");
constinit RealCall<RwlockClockCall> g_rwlock_clockrdlock("pthread_rwlock_clockrdlock");
constinit RealCall<RwlockClockCall> g_rwlock_clockwrlock("pthread_rwlock_clockwrlock");

int find_and_lock(pthread_mutex_t* mutex) noexcept;
int find_and_unlock(pthread_mutex_t* mutex) noexcept;

// What calls of mutexes read, most of which are free: one cache line, that starts and stops alone write. A pointer that is null says that
// locks are not counted, so that counting costs no look at a flag; the others are never null, so that none is tested.
struct alignas(64) MutexCalls {
  std::atomic<bool> knows_plain{false};  // while they are counted: the ways of plain_mutex.h are right here
  std::atomic<MutexCall> counted_trylock{nullptr};
  std::atomic<MutexCall> lock{&find_and_lock};
  std::atomic<MutexCall> unlock{&find_and_unlock};
};
constinit MutexCalls g_mutex_calls;

// Before the constructor below; then the C library's functions stand there.
int find_and_call(RealCall<MutexCall>& real, std::atomic<MutexCall>& kept, pthread_mutex_t* mutex) noexcept {
  const MutexCall call = real.get();
  if (call == nullptr) {
    return ENOSYS;
  }
  kept.store(call, std::memory_order_relaxed);
  return call(mutex);
}

int find_and_lock(pthread_mutex_t* mutex) noexcept {
  return find_and_call(g_mutex_lock, g_mutex_calls.lock, mutex);
}

int find_and_unlock(pthread_mutex_t* mutex) noexcept {
  return find_and_call(g_mutex_unlock, g_mutex_calls.unlock, mutex);
}

[[gnu::constructor(101)]] void find_all() noexcept {
  const auto find = [](auto&... calls) { (static_cast<void>(calls.get()), ...); };
  find(g_mutex_lock, g_mutex_trylock, g_mutex_timedlock, g_mutex_clocklock, g_rwlock_rdlock, g_rwlock_wrlock,
       g_rwlock_tryrdlock, g_rwlock_trywrlock, g_rwlock_timedrdlock, g_rwlock_timedwrlock,
       g_rwlock_clockrdlock, g_rwlock_clockwrlock, g_mutex_unlock, g_rwlock_unlock, g_cond_wait,
       g_cond_timedwait, g_cond_clockwait);
  // No C library behind this one: the program is linked statically with it, and every lock would fail. Said at once, since what follows
  // (an exception of std::mutex) does not tell.
  if (g_mutex_lock.get() == nullptr) {
    constexpr std::string_view kWhy =
        "libplimsoll_appprof: this program is linked statically with the C library, whose lock functions "
        "cannot be called from here: link the C library dynamically, or leave this library out\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
    ::_exit(127);
  }
}

[[gnu::cold, gnu::noinline]] int32_t ask_thread_id() noexcept {
  t_state.thread_id = ::gettid();
  return t_state.thread_id;
}

[[gnu::always_inline]] inline int32_t own_thread_id() noexcept {
  const int32_t known = t_state.thread_id;
  return known != 0 ? known : ask_thread_id();
}

// The error of a C library without the function.
template <typename Call, typename... Arguments>
int call_real(RealCall<Call>& real, Arguments... arguments) noexcept {
  const Call call = real.get();
  return call == nullptr ? ENOSYS : call(arguments...);
}

// Another thread has the lock. Apart: saving what this needs would cost each free lock several stores.
template <typename Wait>
[[gnu::cold, gnu::noinline]] int timed_wait(const void* lock, Wait wait, const void* caller) noexcept {
  const LockWait waited = begin_wait(lock);
  const int result = wait();
  // A wait that timed out was one too; EDEADLK and EINVAL return at once.
  end_wait(waited, result == 0 || result == ETIMEDOUT || result == EOWNERDEAD,
           reinterpret_cast<uintptr_t>(caller));
  return result;
}

[[gnu::cold, gnu::noinline]] int unlock_watched(RealCall<MutexCall>& real, pthread_mutex_t* mutex,
                                                const void* caller) noexcept {
  note_release(mutex, caller);
  return call_real(real, mutex);
}

[[gnu::cold, gnu::noinline]] int unlock_watched(RealCall<RwlockCall>& real, pthread_rwlock_t* lock,
                                                const void* caller) noexcept {
  note_release(lock, caller);
  return call_real(real, lock);
}

// Tries first: what is free is taken without a look at a clock. Any answer but EBUSY is that of the waiting call too (an error
// of the lock, a dead owner, a count that is full).
template <typename Try, typename Wait>
[[gnu::always_inline]] inline int timed(const void* lock, const Try& try_lock, const Wait& wait,
                                        const void* caller) noexcept {
  if (!are_locks_on()) {
    return wait();
  }
  if (const int result = try_lock(); result != EBUSY) [[likely]] {
    return result;
  }
  return timed_wait(lock, wait, caller);
}

// Not noexcept: a thread that is cancelled while it waits unwinds through here, and through who called.
template <typename Call, typename... Arguments>
[[gnu::always_inline]] inline int timed_condition(RealCall<Call>& real, const void* caller,
                                                  pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                  Arguments... arguments) {
  const Call wait = real.get();
  if (wait == nullptr) {
    return ENOSYS;
  }
  if (!are_locks_on()) {
    return wait(condition, mutex, arguments...);
  }
  note_release(mutex, caller);
  const int64_t began_ns = monotonic_ns();
  const int result = wait(condition, mutex, arguments...);
  if (result == 0 || result == ETIMEDOUT) {
    record_condition_wait(monotonic_ns() - began_ns, reinterpret_cast<uintptr_t>(caller));
  }
  return result;
}

}  // namespace

void count_lock_calls(bool are_on) noexcept {
  const bool knows_plain =
      are_on && knows_plain_mutex(g_mutex_lock.get(), g_mutex_trylock.get(), g_mutex_unlock.get());
  g_mutex_calls.knows_plain.store(knows_plain, std::memory_order_release);
  g_mutex_calls.counted_trylock.store(are_on ? g_mutex_trylock.get() : nullptr, std::memory_order_release);
}

// Also keeps this file in a program that links the static library.
std::string why_no_lock_calls() {
  if (!is_replaced_here("pthread_mutex_lock")) {
    return "lock waits are not seen: another library replaces pthread_mutex_lock; link or preload this one "
           "first";
  }
  // timed() takes a free lock by the call that tries: a library behind this one that counts on seeing each lock taken would miss it,
  // and see its release.
  if (!are_of_one_object(g_mutex_lock.get(), g_mutex_trylock.get()) ||
      !are_of_one_object(g_rwlock_rdlock.get(), g_rwlock_tryrdlock.get()) ||
      !are_of_one_object(g_rwlock_wrlock.get(), g_rwlock_trywrlock.get())) {
    return "lock waits are not seen: a library loaded after this one replaces calls that lock, and not those "
           "that try to (pthread_mutex_trylock); load it before this one, or leave it out";
  }
  if (g_mutex_unlock.get() == nullptr || g_rwlock_unlock.get() == nullptr) {
    return "lock waits are not seen: the C library has no function to unlock by its usual name";
  }
  return {};
}

}  // namespace plimsoll::appprof

using plimsoll::appprof::are_locks_watched;
using plimsoll::appprof::call_real;
using plimsoll::appprof::g_cond_clockwait;
using plimsoll::appprof::g_cond_timedwait;
using plimsoll::appprof::g_cond_wait;
using plimsoll::appprof::g_mutex_calls;
using plimsoll::appprof::g_mutex_clocklock;
using plimsoll::appprof::g_mutex_lock;
using plimsoll::appprof::g_mutex_timedlock;
using plimsoll::appprof::g_mutex_trylock;
using plimsoll::appprof::g_mutex_unlock;
using plimsoll::appprof::g_rwlock_clockrdlock;
using plimsoll::appprof::g_rwlock_clockwrlock;
using plimsoll::appprof::g_rwlock_rdlock;
using plimsoll::appprof::g_rwlock_timedrdlock;
using plimsoll::appprof::g_rwlock_timedwrlock;
using plimsoll::appprof::g_rwlock_tryrdlock;
using plimsoll::appprof::g_rwlock_trywrlock;
using plimsoll::appprof::g_rwlock_unlock;
using plimsoll::appprof::g_rwlock_wrlock;
using plimsoll::appprof::lock_if_free;
using plimsoll::appprof::own_thread_id;
using plimsoll::appprof::timed;
using plimsoll::appprof::timed_condition;
using plimsoll::appprof::timed_wait;
using plimsoll::appprof::unlock_if_unwanted;
using plimsoll::appprof::unlock_watched;

#define APPPROF_REPLACES extern "C" __attribute__((visibility("default"), noinline))

// As timed(), and a plain mutex that is free without a call.
APPPROF_REPLACES int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (g_mutex_calls.knows_plain.load(std::memory_order_relaxed) && lock_if_free(mutex, own_thread_id()))
      [[likely]] {
    return 0;
  }
  const auto try_lock = g_mutex_calls.counted_trylock.load(std::memory_order_relaxed);
  if (try_lock == nullptr) {
    return g_mutex_calls.lock.load(std::memory_order_relaxed)(mutex);
  }
  if (const int result = try_lock(mutex); result != EBUSY) [[likely]] {
    return result;
  }
  return timed_wait(mutex, [=] { return call_real(g_mutex_lock, mutex); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* abstime) noexcept {
  return timed(
      mutex, [=] { return call_real(g_mutex_trylock, mutex); },
      [=] { return call_real(g_mutex_timedlock, mutex, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clockid,
                                             const timespec* abstime) noexcept {
  return timed(
      mutex, [=] { return call_real(g_mutex_trylock, mutex); },
      [=] { return call_real(g_mutex_clocklock, mutex, clockid, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return timed(
      lock, [=] { return call_real(g_rwlock_tryrdlock, lock); },
      [=] { return call_real(g_rwlock_rdlock, lock); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return timed(
      lock, [=] { return call_real(g_rwlock_trywrlock, lock); },
      [=] { return call_real(g_rwlock_wrlock, lock); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* abstime) noexcept {
  return timed(
      lock, [=] { return call_real(g_rwlock_tryrdlock, lock); },
      [=] { return call_real(g_rwlock_timedrdlock, lock, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* abstime) noexcept {
  return timed(
      lock, [=] { return call_real(g_rwlock_trywrlock, lock); },
      [=] { return call_real(g_rwlock_timedwrlock, lock, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clockid,
                                                const timespec* abstime) noexcept {
  return timed(
      lock, [=] { return call_real(g_rwlock_tryrdlock, lock); },
      [=] { return call_real(g_rwlock_clockrdlock, lock, clockid, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clockid,
                                                const timespec* abstime) noexcept {
  return timed(
      lock, [=] { return call_real(g_rwlock_trywrlock, lock); },
      [=] { return call_real(g_rwlock_clockwrlock, lock, clockid, abstime); }, __builtin_return_address(0));
}

APPPROF_REPLACES int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (are_locks_watched()) [[unlikely]] {
    return unlock_watched(g_mutex_unlock, mutex, __builtin_return_address(0));
  }
  if (g_mutex_calls.knows_plain.load(std::memory_order_relaxed) && unlock_if_unwanted(mutex)) [[likely]] {
    return 0;
  }
  return g_mutex_calls.unlock.load(std::memory_order_relaxed)(mutex);
}

APPPROF_REPLACES int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (are_locks_watched()) [[unlikely]] {
    return unlock_watched(g_rwlock_unlock, lock, __builtin_return_address(0));
  }
  return call_real(g_rwlock_unlock, lock);
}

APPPROF_REPLACES int pthread_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  return timed_condition(g_cond_wait, __builtin_return_address(0), cond, mutex);
}

APPPROF_REPLACES int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex,
                                            const timespec* abstime) {
  return timed_condition(g_cond_timedwait, __builtin_return_address(0), cond, mutex, abstime);
}

APPPROF_REPLACES int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock_id,
                                            const timespec* abstime) {
  return timed_condition(g_cond_clockwait, __builtin_return_address(0), cond, mutex, clock_id, abstime);
}
