// Passes the calls of mutexes on and does nothing else: what it costs to stand between a program and the C library.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace {

using Call = int (*)(pthread_mutex_t*) noexcept;

constinit std::atomic<Call> g_lock{nullptr};
constinit std::atomic<Call> g_unlock{nullptr};

[[gnu::cold, gnu::noinline]] Call find(std::atomic<Call>& kept, const char* name) noexcept {
  const Call call = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
  kept.store(call, std::memory_order_relaxed);
  return call;
}

[[gnu::constructor(101)]] void find_all() noexcept {
  find(g_lock, "pthread_mutex_lock");
  find(g_unlock, "pthread_mutex_unlock");
}

}  // namespace

extern "C" __attribute__((visibility("default"), noinline)) int pthread_mutex_lock(
    pthread_mutex_t* mutex) noexcept {
  const Call call = g_lock.load(std::memory_order_relaxed);
  return (call != nullptr ? call : find(g_lock, "pthread_mutex_lock"))(mutex);
}

extern "C" __attribute__((visibility("default"), noinline)) int pthread_mutex_unlock(
    pthread_mutex_t* mutex) noexcept {
  const Call call = g_unlock.load(std::memory_order_relaxed);
  return (call != nullptr ? call : find(g_unlock, "pthread_mutex_unlock"))(mutex);
}
