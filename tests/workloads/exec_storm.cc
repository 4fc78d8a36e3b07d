// Starts processes at a given rate, each of which runs another of several programs for a moment and ends. The programs are
// this one under other names, and each of them works in a function of its own, so that a sample tells by its function which
// program, and which control group, it must belong to.
//
//   exec_storm PER_SECOND SECONDS FIRST_PID GROUPS FOLDER [PROCESSES]
//                                   runs FOLDER/alpha, beta, gamma and delta in turn
//   alpha | beta | gamma | delta    faults in pages, in work_of_alpha() and so on
//   exec_storm places               prints where in the file that is, by ELF addresses
//
// PROCESSES: goes on after SECONDS until that many have run, as slow machines need. FIRST_PID over 0: all have one of the
// 64 PIDs from there on, each used again as soon as it is free. GROUPS: a folder of control groups called like the programs,
// in which they are started; "-": none. Prints how many ran.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

// Set by the linker.
extern "C" {
extern const char __executable_start[];
extern const char __start_work_alpha[];
extern const char __stop_work_alpha[];
extern const char __start_work_beta[];
extern const char __stop_work_beta[];
extern const char __start_work_gamma[];
extern const char __stop_work_gamma[];
extern const char __start_work_delta[];
extern const char __stop_work_delta[];
}

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPages = 32;
constexpr int kPids = 64;
constexpr int64_t kNsPerSecond = 1'000'000'000;

// The initial is in the code, too: functions of equal code might be folded into one.
template <char kInitial>
[[gnu::always_inline]] inline void touch(volatile char* pages) {
  for (size_t page = 0; page < kPages; ++page) {
    pages[page * kPageBytes] = kInitial;
  }
}

// In sections of their own, whose beginning and end the linker knows.
[[gnu::noinline, gnu::section("work_alpha")]] void work_of_alpha(volatile char* pages) {
  touch<'a'>(pages);
}
[[gnu::noinline, gnu::section("work_beta")]] void work_of_beta(volatile char* pages) {
  touch<'b'>(pages);
}
[[gnu::noinline, gnu::section("work_gamma")]] void work_of_gamma(volatile char* pages) {
  touch<'g'>(pages);
}
[[gnu::noinline, gnu::section("work_delta")]] void work_of_delta(volatile char* pages) {
  touch<'d'>(pages);
}

struct Program {
  const char* name;
  void (*work)(volatile char*);
  const char* begin;
  const char* end;
};

constexpr std::array<Program, 4> kPrograms{{{"alpha", work_of_alpha, __start_work_alpha, __stop_work_alpha},
                                            {"beta", work_of_beta, __start_work_beta, __stop_work_beta},
                                            {"gamma", work_of_gamma, __start_work_gamma, __stop_work_gamma},
                                            {"delta", work_of_delta, __start_work_delta, __stop_work_delta}}};

int work(const Program& program) {
  void* const pages =
      ::mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return 1;
  }
  ::madvise(pages, kPages * kPageBytes, MADV_NOHUGEPAGE);
  program.work(static_cast<volatile char*>(pages));
  return 0;
}

// ELF addresses of what each program works in.
void print_places() {
  for (const Program& program : kPrograms) {
    std::printf("%s %lx %lx\n", program.name, static_cast<unsigned long>(program.begin - __executable_start),
                static_cast<unsigned long>(program.end - __executable_start));
  }
}

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// -1 where the PID is taken. 0: any PID; group_fd -1: the group of this process.
pid_t fork_as(pid_t pid, int group_fd) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  args.flags = group_fd < 0 ? 0 : CLONE_INTO_CGROUP;
  args.cgroup = group_fd < 0 ? 0 : static_cast<uint64_t>(group_fd);
  args.set_tid = pid == 0 ? 0 : reinterpret_cast<uint64_t>(&pid);
  args.set_tid_size = pid == 0 ? 0 : 1;
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

struct Start {
  std::string path;
  int group_fd = -1;
};

int storm(double per_second, double seconds, pid_t first_pid, const std::string& groups,
          const std::string& folder, int64_t at_least) {
  std::array<Start, kPrograms.size()> starts;
  for (size_t i = 0; i < starts.size(); ++i) {
    starts[i].path = folder + "/" + kPrograms[i].name;
    if (groups != "-") {
      starts[i].group_fd = ::open((groups + "/" + kPrograms[i].name).c_str(), O_DIRECTORY | O_CLOEXEC);
      if (starts[i].group_fd < 0) {
        std::perror(groups.c_str());
        return 1;
      }
    }
  }
  const int64_t start_ns = now_ns();
  int64_t started = 0;
  const auto length_ns = static_cast<int64_t>(seconds * kNsPerSecond);
  for (int64_t tries = 0; now_ns() - start_ns < length_ns || started < at_least; ++tries) {
    const auto due =
        static_cast<int64_t>(static_cast<double>(now_ns() - start_ns) / kNsPerSecond * per_second);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (started >= due) {
      ::usleep(200);
      continue;
    }
    const Start& program = starts[static_cast<size_t>(started) % starts.size()];
    const pid_t child =
        fork_as(first_pid == 0 ? 0 : first_pid + static_cast<pid_t>(tries % kPids), program.group_fd);
    if (child == 0) {
      ::execl(program.path.c_str(), program.path.c_str(), nullptr);
      ::_exit(127);
    }
    if (child < 0 && errno != EEXIST && errno != EAGAIN) {
      std::perror("clone3");
      return 1;
    }
    started += child > 0 ? 1 : 0;
  }
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  std::printf("started %ld\n", static_cast<long>(started));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const slash = std::strrchr(argv[0], '/');
  const char* const name = slash == nullptr ? argv[0] : slash + 1;
  for (const Program& program : kPrograms) {
    if (std::strcmp(name, program.name) == 0) {
      return work(program);
    }
  }
  if (argc == 2 && std::strcmp(argv[1], "places") == 0) {
    print_places();
    return 0;
  }
  if (argc != 6 && argc != 7) {
    std::fprintf(stderr, "usage: exec_storm PER_SECOND SECONDS FIRST_PID GROUPS FOLDER [PROCESSES]\n");
    return 2;
  }
  return storm(std::atof(argv[1]), std::atof(argv[2]), std::atoi(argv[3]), argv[4], argv[5],
               argc == 7 ? std::atol(argv[6]) : 0);
}
