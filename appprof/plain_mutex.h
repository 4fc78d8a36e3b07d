// Locks and unlocks a plain mutex of glibc without a call, where no other thread has it or waits for it.
//
// Nearly all locks are of such mutexes (PTHREAD_MUTEX_INITIALIZER, std::mutex), and free. A call of ours before glibc's made a program that does
// nothing but lock a fifth slower (docs/benchmarks.md). So glibc's own steps are repeated here: nptl/pthread_mutex_lock.c and
// pthread_mutex_unlock.c, for a kind of 0 (PTHREAD_MUTEX_TIMED_NP, private, without elision):
//
//   lock: __lock 0 -> 1 (acquire); __owner = thread ID; ++__nusers.       unlock: __owner = 0; --__nusers; __lock 1 -> 0 (release).
//
// A __lock of 2 says that threads wait or may wait; then glibc unlocks. Whatever is not exactly as above is left to glibc, which finds the
// mutex as it would have left it.
//
// knows_plain_mutex() says whether the C library is one of those whose sources were read, and whether it does as they say.
#pragma once

#include <pthread.h>
#include <stdint.h>

namespace plimsoll::appprof {

using MutexFunction = int (*)(pthread_mutex_t*) noexcept;

// Tries the C library's functions on a mutex of its own. Any thread; costs a look-up of a name in all libraries. False for other C libraries.
bool knows_plain_mutex(MutexFunction lock, MutexFunction try_lock, MutexFunction unlock) noexcept;

#ifdef __GLIBC__

// False: it is another kind, or not free; nothing has changed.
[[gnu::always_inline]] inline bool lock_if_free(pthread_mutex_t* mutex, int32_t thread_id) noexcept {
  auto& data = mutex->__data;
  int expected = 0;
  if (__atomic_load_n(&data.__kind, __ATOMIC_RELAXED) != PTHREAD_MUTEX_TIMED_NP ||
      !__atomic_compare_exchange_n(&data.__lock, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return false;
  }
  data.__owner = thread_id;
  ++data.__nusers;
  return true;
}

// False: it is another kind, or threads may wait for it; the calling thread still has it, and nothing has changed.
[[gnu::always_inline]] inline bool unlock_if_unwanted(pthread_mutex_t* mutex) noexcept {
  auto& data = mutex->__data;
  int held = 1;
  if (__atomic_load_n(&data.__kind, __ATOMIC_RELAXED) != PTHREAD_MUTEX_TIMED_NP ||
      __atomic_load_n(&data.__lock, __ATOMIC_RELAXED) != held) {
    return false;
  }
  // Before the release: afterwards the mutex is another thread's, or its memory is gone.
  const int owner = data.__owner;
  data.__owner = 0;
  --data.__nusers;
  if (__atomic_compare_exchange_n(&data.__lock, &held, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      [[likely]] {
    return true;
  }
  data.__owner = owner;  // a thread has begun to wait
  ++data.__nusers;
  return false;
}

#else

inline bool lock_if_free(pthread_mutex_t* /*mutex*/, int32_t /*thread_id*/) noexcept {
  return false;
}
inline bool unlock_if_unwanted(pthread_mutex_t* /*mutex*/) noexcept {
  return false;
}

#endif

}  // namespace plimsoll::appprof
