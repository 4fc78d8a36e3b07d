#include "appprof/plain_mutex.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "appprof/own_code.h"

namespace plimsoll::appprof {

#ifdef __GLIBC__

namespace {

// glibc 2.MINOR, between those whose sources were read.
constexpr long kFirstMinor = 34;
constexpr long kLastMinor = 41;

bool is_known_version(const char* version) noexcept {
  constexpr std::string_view kMajor = "2.";
  if (!std::string_view(version).starts_with(kMajor)) {
    return false;
  }
  const long minor = std::strtol(version + kMajor.size(), nullptr, 10);
  return kFirstMinor <= minor && minor <= kLastMinor;
}

bool is_like(const pthread_mutex_t& mutex, int lock, int owner, unsigned users) noexcept {
  const auto& data = mutex.__data;
  return data.__lock == lock && data.__owner == owner && data.__nusers == users &&
         data.__kind == PTHREAD_MUTEX_TIMED_NP;
}

// Each function undoes what the other's has done.
bool works(MutexFunction lock, MutexFunction try_lock, MutexFunction unlock) noexcept {
  const int32_t id = ::gettid();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (!is_like(mutex, 0, 0, 0) || lock(&mutex) != 0 || !is_like(mutex, 1, id, 1) ||
      lock_if_free(&mutex, id) || !unlock_if_unwanted(&mutex) || !is_like(mutex, 0, 0, 0)) {
    return false;
  }
  if (!lock_if_free(&mutex, id) || !is_like(mutex, 1, id, 1) || try_lock(&mutex) != EBUSY ||
      unlock(&mutex) != 0 || !is_like(mutex, 0, 0, 0)) {
    return false;
  }
  return try_lock(&mutex) == 0 && is_like(mutex, 1, id, 1) && unlock(&mutex) == 0 && is_like(mutex, 0, 0, 0);
}

}  // namespace

bool knows_plain_mutex(MutexFunction lock, MutexFunction try_lock, MutexFunction unlock) noexcept {
  void* const found = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  // Another library between this one and glibc must see each lock.
  for (const MutexFunction function : {lock, try_lock, unlock}) {
    if (!are_addresses_of_one_object(reinterpret_cast<const void*>(function), found)) {
      return false;
    }
  }
  const auto version = reinterpret_cast<const char* (*)()>(found);
  return is_known_version(version()) && works(lock, try_lock, unlock);
}

#else

bool knows_plain_mutex(MutexFunction /*lock*/, MutexFunction /*try_lock*/,
                       MutexFunction /*unlock*/) noexcept {
  return false;
}

#endif

}  // namespace plimsoll::appprof
