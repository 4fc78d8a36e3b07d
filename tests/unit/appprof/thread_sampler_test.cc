#include "appprof/thread_sampler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "appprof/mappings.h"

namespace plimsoll::appprof {
namespace {

// What a thread has queued: nothing may stay behind in it.
std::string pending_of(pid_t thread) {
  const std::string status = read_file(("/proc/self/task/" + std::to_string(thread) + "/status").c_str());
  const size_t at = status.find("SigPnd:");
  return status.substr(at, status.find('\n', at) - at);
}

// A thread that waits, with all signals blocked where asked.
class WaitingThread {
 public:
  explicit WaitingThread(bool is_blocking)
      : thread_([this, is_blocking] {
          if (is_blocking) {
            sigset_t all;
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
          }
          id_.set_value(static_cast<pid_t>(::syscall(SYS_gettid)));
          end_.get_future().wait();
        }),
        id(id_.get_future().get()) {}
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  ~WaitingThread() {
    end_.set_value();
    thread_.join();
  }

 private:
  std::promise<pid_t> id_;
  std::promise<void> end_;
  std::thread thread_;

 public:
  const pid_t id;
};

TEST(AppprofThreads, AThreadThatBlocksTheSignalIsNotAsked) {
  const WaitingThread blocking(true);
  const WaitingThread open(false);
  std::string why;
  const auto is_own = [own = static_cast<pid_t>(::syscall(SYS_gettid))](pid_t id) { return id == own; };
  const Profile profile = take_thread_profile({.is_own = is_own}, [](int64_t) { return true; }, why);
  ASSERT_EQ(why, "");
  double with_stack = 0, without = 0;
  for (const Sample& sample : profile.samples) {
    (sample.stand_in == "[no answer]" ? without : with_stack) += sample.values[0];
  }
  EXPECT_EQ(with_stack, 1);
  EXPECT_EQ(without, 1);
  EXPECT_EQ(pending_of(blocking.id), "SigPnd:\t0000000000000000");
}

TEST(AppprofThreads, WallTimeIsTheThreadsTimesTheTime) {
  const WaitingThread blocking(true);
  const WaitingThread open(false);
  std::string why;
  const auto is_own = [own = static_cast<pid_t>(::syscall(SYS_gettid))](pid_t id) { return id == own; };
  int left = 20;
  const Profile profile = take_wall_profile(
      {.is_own = is_own},
      [&left](int64_t ns) {
        const timespec time{0, ns};
        ::nanosleep(&time, nullptr);
        return --left > 0;
      },
      why);
  ASSERT_EQ(why, "");
  double sum = 0;
  for (const Sample& sample : profile.samples) {
    sum += sample.values[1];
  }
  EXPECT_NEAR(sum, 2.0 * static_cast<double>(profile.duration_ns), 1e-3 * sum);
}

TEST(AppprofThreads, AfterTheEndNoneIsAsked) {
  const WaitingThread open(false);
  std::string why;
  const Profile profile = take_thread_profile({}, [](int64_t) { return false; }, why);
  for (const Sample& sample : profile.samples) {
    EXPECT_EQ(sample.stand_in, "[no answer]");
  }
}

}  // namespace
}  // namespace plimsoll::appprof
