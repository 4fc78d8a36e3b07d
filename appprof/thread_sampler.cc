#include "appprof/thread_sampler.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "appprof/mappings.h"
#include "appprof/thread_state.h"
#include "appprof/unwind.h"

namespace plimsoll::appprof {
namespace {

constexpr int64_t kAnswerTimeoutNs = 50'000'000;
constexpr int64_t kWritingTimeoutNs = 1'000'000'000;
// For the stacks of all threads: those that are not asked by then count as "[no answer]".
constexpr int64_t kAllThreadsNs = 5'000'000'000;

constexpr const char* kNoAnswerName = "[no answer]";

// What one thread is asked for and answers. The word that they agree on is the request's number * 8 + its state, so that a handler
// that comes too late, after another request began, cannot mistake that one for its own.
enum AnswerState : uint32_t { kIdle, kAsked, kWriting, kAnswered, kGivenUp };
constexpr uint32_t word_of(uint32_t number, AnswerState state) {
  return number * 8 + state;
}
struct Answer {
  std::atomic<uint32_t> word{0};
  uint32_t labels = 0;
  size_t depth = 0;
  uintptr_t frames[kMaxFrames] = {};
};
constinit Answer g_answer;
constinit std::atomic<int> g_signal{0};

long wait_on(std::atomic<uint32_t>& word, uint32_t expected, const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, timeout,
                   nullptr, 0);
}

// In the thread that is asked, at any of its instructions: only what take_stack() and current_labels() do, atomics, and a futex
// call. errno is the interrupted code's.
void answer(int, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(info->si_value.sival_ptr));
  uint32_t expected = word_of(number, kAsked);
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid() &&
      g_answer.word.compare_exchange_strong(expected, word_of(number, kWriting))) {
    const Inside inside;
    // From the interrupted instruction on; the unwinder goes through the signal's frame.
    g_answer.depth = take_stack(g_answer.frames, kMaxFrames, interrupted_address(context));
    g_answer.labels = current_labels();
    g_answer.word.store(word_of(number, kAnswered), std::memory_order_release);
    ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&g_answer.word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
              0);
  }
  errno = saved_errno;
}

// Of a thread, a bit for each signal: `line` is "SigBlk:" or "SigPnd:" of its status.
uint64_t signals_of(const std::string& status, const std::string& line) {
  const size_t at = status.find("\n" + line);
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 1 + line.size(), nullptr, 16);
}

std::string status_of(pid_t thread) {
  return read_file(("/proc/self/task/" + std::to_string(thread) + "/status").c_str());
}

constexpr uint64_t bit_of(int signal) {
  return uint64_t{1} << (signal - 1);
}

// The highest without a handler: one that no thread blocks, since a thread may wait for what it blocks (sigwaitinfo, signalfd), or
// where some thread blocks them all, any.
int free_signal(const ThreadSamplerOptions& options) {
  uint64_t blocked = 0;
  for (const pid_t thread : thread_ids(options.is_own)) {
    blocked |= signals_of(status_of(thread), "SigBlk:");
  }
  int blocked_one = 0;
  for (int number = SIGRTMAX; number >= SIGRTMIN; --number) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) {
      continue;
    }
    if ((blocked & bit_of(number)) == 0) {
      return number;
    }
    blocked_one = std::max(blocked_one, number);
  }
  return blocked_one;
}

std::string install_handler(const ThreadSamplerOptions& options) {
  if (g_signal.load() != 0) {
    return {};
  }
  if (const int number = free_signal(options); number != 0) {
    struct sigaction ours{};
    ours.sa_sigaction = &answer;
    // On the thread's own stack for signals where it has one: Go and others run on stacks too small for a handler.
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    ::sigfillset(&ours.sa_mask);
    if (::sigaction(number, &ours, nullptr) == 0) {
      g_signal.store(number);
      return {};
    }
  }
  return "no stacks of threads: the program handles all real-time signals itself\n";
}

bool is_signal_ours() {
  struct sigaction now{};
  return ::sigaction(g_signal.load(), nullptr, &now) == 0 && now.sa_sigaction == &answer;
}

enum class Asked { kAnswered, kNoAnswer, kGone };

// The stack of one thread.
Asked ask(pid_t thread, Sample& sample) {
  // Queued for good otherwise, each time: real-time signals are not merged, and their number is limited (RLIMIT_SIGPENDING).
  const std::string status = status_of(thread);
  if (((signals_of(status, "SigBlk:") | signals_of(status, "SigPnd:")) & bit_of(g_signal.load())) != 0) {
    return Asked::kNoAnswer;
  }
  const uint32_t before = g_answer.word.load();
  if (before % 8 == kWriting) {
    return Asked::kNoAnswer;  // a handler that was given up goes on
  }
  const uint32_t number = before / 8 + 1;
  g_answer.word.store(word_of(number, kAsked));
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number, not an address
  info.si_value.sival_ptr = reinterpret_cast<void*>(uintptr_t{number});
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, g_signal.load(), &info) != 0) {
    return errno == ESRCH ? Asked::kGone : Asked::kNoAnswer;
  }
  const int64_t until_ns = monotonic_ns() + kAnswerTimeoutNs;
  for (;;) {
    uint32_t word = g_answer.word.load(std::memory_order_acquire);
    if (word == word_of(number, kAnswered)) {
      break;
    }
    const int64_t left_ns = until_ns - monotonic_ns();
    if (left_ns <= 0 && word == word_of(number, kAsked) &&
        g_answer.word.compare_exchange_strong(word, word_of(number, kGivenUp))) {
      return Asked::kNoAnswer;
    }
    // A handler that has begun is waited for, since none is asked while it writes; but a thread that is stopped in it is not.
    if (left_ns <= -kWritingTimeoutNs) {
      return Asked::kNoAnswer;
    }
    const timespec step{0, static_cast<long>(std::clamp<int64_t>(left_ns, 1'000'000, kAnswerTimeoutNs))};
    wait_on(g_answer.word, word, &step);
  }
  sample.stack.assign(g_answer.frames, g_answer.frames + g_answer.depth);
  sample.is_leaf_exact = true;
  sample.labels = labels_of(g_answer.labels);
  return Asked::kAnswered;
}

Sample ask_or_stand_in(pid_t thread, bool& is_gone) {
  Sample sample;
  const Asked asked = ask(thread, sample);
  is_gone = asked == Asked::kGone;
  if (asked != Asked::kAnswered) {
    sample.stand_in = kNoAnswerName;
  }
  return sample;
}

std::string prepare(const ThreadSamplerOptions& options) {
  std::string why = install_handler(options);
  if (why.empty() && !is_signal_ours()) {
    why = "no stacks of threads: the program has replaced the handler of the signal\n";
  }
  return why;
}

}  // namespace

void reset_thread_sampler_in_child() noexcept {
  // With a number of its own all the same: the next question has another.
  g_answer.word.store(word_of(g_answer.word.load() / 8, kIdle));
}

std::vector<pid_t> thread_ids(const std::function<bool(pid_t)>& is_own) {
  std::vector<pid_t> ids;
  DIR* folder = ::opendir("/proc/self/task");
  while (folder != nullptr) {
    const dirent* entry = ::readdir(folder);
    if (entry == nullptr) {
      break;
    }
    const pid_t id = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (id > 0 && !(is_own && is_own(id))) {
      ids.push_back(id);
    }
  }
  if (folder != nullptr) {
    ::closedir(folder);
  }
  return ids;
}

Profile take_wall_profile(const ThreadSamplerOptions& options, const std::function<bool(int64_t ns)>& wait,
                          std::string& why) {
  Profile profile;
  profile.types = {{"samples", "count"}, {"wall", "nanoseconds"}};
  profile.period_type = {"wall", "nanoseconds"};
  profile.period = options.interval_ns;
  why = prepare(options);
  if (!why.empty()) {
    return profile;
  }
  RandomBits random(static_cast<uint64_t>(monotonic_ns()));
  const int64_t began_ns = monotonic_ns();
  int64_t last_ns = began_ns;
  int64_t counted_ns = 0;
  std::vector<pid_t> round;
  size_t threads = 0;
  // Half to one and a half intervals, so that no loop of the program falls into step.
  while (wait(static_cast<int64_t>(static_cast<double>(options.interval_ns) * (0.5 + random.uniform())))) {
    if (round.empty()) {
      round = thread_ids(options.is_own);
      threads = round.size();
      for (size_t i = round.size(); i > 1; --i) {
        std::swap(round[i - 1], round[random.next() % i]);
      }
    }
    if (round.empty()) {
      continue;  // no thread but ours
    }
    // The time from the answer before up to the question: what an answer takes counts for no thread, and is made up for by
    // scaling.
    const int64_t now_ns = monotonic_ns();
    bool is_gone = false;
    Sample sample = ask_or_stand_in(round.back(), is_gone);
    round.pop_back();
    if (is_gone) {
      continue;  // its time goes to the next
    }
    sample.values = {1, static_cast<double>(now_ns - last_ns) * static_cast<double>(threads)};
    counted_ns += now_ns - last_ns;
    last_ns = monotonic_ns();
    profile.samples.push_back(std::move(sample));
  }
  profile.duration_ns = monotonic_ns() - began_ns;
  for (Sample& sample : profile.samples) {
    sample.values[1] *= static_cast<double>(profile.duration_ns) / static_cast<double>(counted_ns);
  }
  profile.time_ns = unix_time_ns();
  merge_equal(profile);
  return profile;
}

Profile take_thread_profile(const ThreadSamplerOptions& options, const std::function<bool(int64_t ns)>& wait,
                            std::string& why) {
  Profile profile;
  profile.types = {{"threads", "count"}};
  profile.period_type = {"threads", "count"};
  profile.period = 1;
  why = prepare(options);
  const int64_t until_ns = monotonic_ns() + kAllThreadsNs;
  for (const pid_t thread : why.empty() ? thread_ids(options.is_own) : std::vector<pid_t>()) {
    bool is_gone = false;
    Sample sample;
    sample.stand_in = kNoAnswerName;
    if (monotonic_ns() < until_ns && wait(0)) {
      sample = ask_or_stand_in(thread, is_gone);
    }
    sample.values = {1, 0};
    if (!is_gone) {
      profile.samples.push_back(std::move(sample));
    }
  }
  profile.time_ns = unix_time_ns();
  merge_equal(profile);
  return profile;
}

std::vector<ThreadInfo> list_threads() {
  std::vector<ThreadInfo> threads;
  for (const pid_t id : thread_ids({})) {
    const std::string stat = read_file(("/proc/self/task/" + std::to_string(id) + "/stat").c_str());
    const size_t open = stat.find('(');
    const size_t close = stat.rfind(')');
    if (open != std::string::npos && close != std::string::npos && close + 2 < stat.size()) {
      threads.push_back({id, stat.substr(open + 1, close - open - 1), stat[close + 2]});
    }
  }
  return threads;
}

}  // namespace plimsoll::appprof
