// Mutexes that pass through the library do what those of the C library do, whether waits are counted or not.
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "appprof/locks.h"
#include "appprof/plain_mutex.h"

namespace plimsoll::appprof::mutex_test {
namespace {

class Mutex {
 public:
  // As PTHREAD_MUTEX_INITIALIZER and std::mutex have it.
  Mutex() { EXPECT_EQ(pthread_mutex_init(&mutex_, nullptr), 0); }
  explicit Mutex(int type, int robustness = PTHREAD_MUTEX_STALLED, int sharing = PTHREAD_PROCESS_PRIVATE) {
    pthread_mutexattr_t attributes;
    EXPECT_EQ(pthread_mutexattr_init(&attributes), 0);
    EXPECT_EQ(pthread_mutexattr_settype(&attributes, type), 0);
    EXPECT_EQ(pthread_mutexattr_setrobust(&attributes, robustness), 0);
    EXPECT_EQ(pthread_mutexattr_setpshared(&attributes, sharing), 0);
    EXPECT_EQ(pthread_mutex_init(&mutex_, &attributes), 0);
    pthread_mutexattr_destroy(&attributes);
  }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  // One that is held, or was taken more often than released, is not destroyed.
  ~Mutex() { EXPECT_EQ(pthread_mutex_destroy(&mutex_), 0); }

  int lock() { return pthread_mutex_lock(&mutex_); }
  int try_lock() { return pthread_mutex_trylock(&mutex_); }
  int unlock() { return pthread_mutex_unlock(&mutex_); }
  int make_consistent() { return pthread_mutex_consistent(&mutex_); }
  pthread_mutex_t* get() { return &mutex_; }

 private:
  pthread_mutex_t mutex_{};
};

int in_another_thread(const auto& call) {
  int result = -1;
  std::thread([&] { result = call(); }).join();
  return result;
}

// The C library's, behind the one of that name here.
MutexFunction next_function(const char* name) {
  return reinterpret_cast<MutexFunction>(::dlsym(RTLD_NEXT, name));
}

// Parameter: whether waits are counted.
class AppprofMutex : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      ASSERT_EQ(start_locks(1), "");
    }
  }
  void TearDown() override { stop_locks(); }
};

TEST_P(AppprofMutex, APlainOneIsHeldByOneThread) {
  for (const int sharing : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    Mutex mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, sharing);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(mutex.lock(), 0);
      EXPECT_EQ(mutex.try_lock(), EBUSY);
      EXPECT_EQ(in_another_thread([&] { return mutex.try_lock(); }), EBUSY);
      EXPECT_EQ(mutex.unlock(), 0);
      EXPECT_EQ(in_another_thread([&] { return mutex.lock() + mutex.unlock(); }), 0);
    }
  }
}

TEST_P(AppprofMutex, OneOfTheUsualKindIsHeldByOneThread) {
  Mutex mutex;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(mutex.lock(), 0);
    EXPECT_EQ(mutex.get()->__data.__owner, ::gettid()) << "for debuggers";
    EXPECT_EQ(mutex.try_lock(), EBUSY);
    EXPECT_EQ(in_another_thread([&] { return mutex.try_lock(); }), EBUSY);
    EXPECT_EQ(pthread_mutex_destroy(mutex.get()), EBUSY) << "it is in use";
    EXPECT_EQ(mutex.unlock(), 0);
    EXPECT_EQ(mutex.try_lock(), 0);
    EXPECT_EQ(mutex.unlock(), 0);
    EXPECT_EQ(in_another_thread([&] { return mutex.lock() + mutex.unlock(); }), 0);
  }
}

TEST_P(AppprofMutex, IsUsableInAForkedChild) {
  Mutex mutex;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_right =
        mutex.lock() == 0 && mutex.unlock() == 0 && mutex.try_lock() == 0 && mutex.unlock() == 0;
    ::_exit(is_right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_P(AppprofMutex, ARecursiveOneIsHeldAsOftenAsItWasTaken) {
  Mutex mutex(PTHREAD_MUTEX_RECURSIVE);
  EXPECT_EQ(mutex.lock(), 0);
  EXPECT_EQ(mutex.lock(), 0);
  EXPECT_EQ(mutex.unlock(), 0);
  EXPECT_EQ(in_another_thread([&] { return mutex.try_lock(); }), EBUSY);
  EXPECT_EQ(in_another_thread([&] { return mutex.unlock(); }), EPERM);
  EXPECT_EQ(mutex.unlock(), 0);
  EXPECT_EQ(in_another_thread([&] { return mutex.lock() + mutex.unlock(); }), 0);
}

TEST_P(AppprofMutex, OneThatChecksForErrorsSaysThem) {
  Mutex mutex(PTHREAD_MUTEX_ERRORCHECK);
  EXPECT_EQ(mutex.unlock(), EPERM);
  EXPECT_EQ(mutex.lock(), 0);
  EXPECT_EQ(mutex.lock(), EDEADLK);
  EXPECT_EQ(in_another_thread([&] { return mutex.unlock(); }), EPERM);
  EXPECT_EQ(mutex.unlock(), 0);
}

TEST_P(AppprofMutex, ARobustOneSaysThatItsOwnerDied) {
  Mutex mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  EXPECT_EQ(in_another_thread([&] { return mutex.lock(); }), 0);
  EXPECT_EQ(mutex.lock(), EOWNERDEAD);
  EXPECT_EQ(mutex.make_consistent(), 0);
  EXPECT_EQ(mutex.unlock(), 0);
  EXPECT_EQ(mutex.lock(), 0);
  EXPECT_EQ(mutex.unlock(), 0);
}

TEST_P(AppprofMutex, AnAdaptiveOneIsHeldByOneThread) {
  Mutex mutex(PTHREAD_MUTEX_ADAPTIVE_NP);
  EXPECT_EQ(mutex.lock(), 0);
  EXPECT_EQ(in_another_thread([&] { return mutex.try_lock(); }), EBUSY);
  EXPECT_EQ(mutex.unlock(), 0);
}

// A condition variable gives the mutex back and takes it again inside the C library.
TEST_P(AppprofMutex, APlainOneSuitsConditionVariables) {
  Mutex mutex;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  constexpr int kTurns = 2000;
  int turn = 0;
  const auto play = [&](int mine) {
    for (int i = 0; i < kTurns; ++i) {
      EXPECT_EQ(mutex.lock(), 0);
      while (turn % 2 != mine) {
        EXPECT_EQ(pthread_cond_wait(&condition, mutex.get()), 0);
      }
      ++turn;
      EXPECT_EQ(pthread_cond_signal(&condition), 0);
      EXPECT_EQ(mutex.unlock(), 0);
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(turn, 2 * kTurns);
  pthread_cond_destroy(&condition);
}

// Threads that wait are woken, though threads before them found none waiting.
TEST_P(AppprofMutex, WaitersAreWoken) {
  Mutex mutex;
  constexpr uint64_t kEach = 20'000;
  uint64_t count = 0;
  std::array<std::thread, 8> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (uint64_t i = 0; i < kEach; ++i) {
        mutex.lock();
        ++count;
        if (i % 64 == 0) {
          std::this_thread::yield();  // with the mutex held
        }
        mutex.unlock();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, kEach * threads.size());
}

INSTANTIATE_TEST_SUITE_P(WaitsAre, AppprofMutex, ::testing::Bool(), [](const auto& waits) {
  return std::string(waits.param ? "Counted" : "NotCounted");
});

TEST(AppprofMutexes, OfTheCLibrariesThatWereReadAreKnown) {
  const int minor = std::atoi(::gnu_get_libc_version() + 2);
  EXPECT_EQ(knows_plain_mutex(next_function("pthread_mutex_lock"), next_function("pthread_mutex_trylock"),
                              next_function("pthread_mutex_unlock")),
            minor >= 34 && minor <= 41)
      << ::gnu_get_libc_version();
  const MutexFunction stranger = [](pthread_mutex_t* /*mutex*/) noexcept { return 0; };
  EXPECT_FALSE(knows_plain_mutex(stranger, next_function("pthread_mutex_trylock"),
                                 next_function("pthread_mutex_unlock")));
}

TEST(AppprofMutexes, LoseNothingWhileCountingStartsAndStops) {
  Mutex mutex;
  constexpr uint64_t kEach = 200'000;
  uint64_t count = 0;
  std::array<std::thread, 4> threads;
  std::atomic<int> running{static_cast<int>(threads.size())};
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (uint64_t i = 0; i < kEach; ++i) {
        mutex.lock();
        ++count;
        mutex.unlock();
      }
      --running;
    });
  }
  while (running > 0) {
    EXPECT_EQ(start_locks(1'000), "");
    std::this_thread::yield();
    stop_locks();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, kEach * threads.size());
}

}  // namespace
}  // namespace plimsoll::appprof::mutex_test
