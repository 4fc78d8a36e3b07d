#include "cli/profiled_runs.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/time.h"
#include "base/unique_fd.h"

namespace plimsoll::cli {
namespace {

constexpr int kLongestStartMs = 30'000;

// Readable after so long.
Result<UniqueFd> timer_of(double seconds) {
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const auto whole = static_cast<time_t>(seconds);
  const itimerspec length{
      .it_interval = {},
      .it_value = {.tv_sec = whole,
                   .tv_nsec = static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)}};
  if (!timer.valid() || ::timerfd_settime(timer.get(), 0, &length, nullptr) != 0) {
    return fail_errno(errno, "preparing a timer");
  }
  return timer;
}

Status interrupted() {
  return fail(ErrorCode::kUnavailable, "interrupted by a signal");
}

}  // namespace

ProfiledRuns::ProfiledRuns(Options options, Signals signals, std::string folder)
    : options_(std::move(options)), signals_(std::move(signals)), folder_(std::move(folder)) {}

Result<ProfiledRuns> ProfiledRuns::create(Options options) {
  auto signals = Signals::install({SIGINT, SIGTERM});
  if (!signals) {
    return propagate(signals);
  }
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) {
    return fail_errno(error.value(), "looking for the folder of temporary files (TMPDIR)");
  }
  std::string folder = parent / "plimsoll-runs-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return fail_errno(errno, "creating the folder {}", folder);
  }
  return ProfiledRuns(std::move(options), std::move(*signals), std::move(folder));
}

ProfiledRuns::~ProfiledRuns() {
  if (!folder_.empty()) {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
}

Result<RunTime> ProfiledRuns::run(uint32_t rate_hz) {
  if (rate_hz == 0) {
    return run_command();
  }
  auto profiler = start_profiler(rate_hz);
  if (!profiler) {
    return propagate(profiler);
  }
  const auto time = run_command();
  if (time && !profiler->is_running()) {
    return fail(ErrorCode::kUnavailable, "plimsolld exited before the command: {}",
                last_line_of(folder_ + "/plimsolld.out"));
  }
  profiler->stop();
  return time;
}

Result<ChildProcess> ProfiledRuns::start_profiler(uint32_t rate_hz) const {
  const auto socket = ReadySocket::open();
  if (!socket) {
    return propagate(socket);
  }
  const std::string log = folder_ + "/plimsolld.out";
  std::error_code error;
  std::filesystem::remove(log, error);
  std::vector<std::string> argv{"/usr/bin/env",
                                "NOTIFY_SOCKET=" + socket->address(),
                                executable_folder() + "/plimsolld",
                                "--once",
                                fmt::format("{}", options_.limit_s + kLongestStartMs / 1e3),
                                "--output",
                                folder_ + "/profile",
                                "--rate",
                                std::to_string(rate_hz)};
  argv.insert(argv.end(), options_.profiler_options.begin(), options_.profiler_options.end());
  auto profiler = ChildProcess::start(argv, log);
  if (!profiler) {
    return profiler;
  }
  const auto ready = wait_until_ready(*socket, *profiler);
  return ready ? std::move(profiler) : propagate(ready);
}

Status ProfiledRuns::wait_until_ready(const ReadySocket& socket, ChildProcess& profiler) const {
  const int64_t deadline_ns = monotonic_now_ns() + kLongestStartMs * (kNsPerSecond / 1000);
  while (!socket.take_ready()) {
    if (!profiler.is_running() || monotonic_now_ns() > deadline_ns) {
      return with_hint(fail(ErrorCode::kDenied, "plimsolld does not sample this machine: {}",
                            last_line_of(folder_ + "/plimsolld.out")),
                       "run \"plimsolld probe\" to see what this machine and user can measure");
    }
    // Its end is looked for every so often.
    constexpr int kLookMs = 50;
    std::array<pollfd, 2> polled{{{.fd = socket.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = signals_.fd(), .events = POLLIN, .revents = 0}}};
    ::poll(polled.data(), polled.size(), kLookMs);
    if (polled[1].revents != 0) {
      return interrupted();
    }
  }
  return {};
}

Result<RunTime> ProfiledRuns::run_command() const {
  const auto timer = timer_of(options_.limit_s);
  if (!timer) {
    return propagate(timer);
  }
  const std::string log = folder_ + "/command.out";
  std::error_code error;
  std::filesystem::remove(log, error);
  const int64_t start_ns = monotonic_now_ns();
  auto command = ChildProcess::start(options_.command, log);
  if (!command) {
    return with_hint(propagate(command), "give the command after \"--\"");
  }
  const auto waited = command->wait({signals_.fd(), timer->get()});
  const int64_t wall_ns = monotonic_now_ns() - start_ns;
  if (!waited) {
    return propagate(waited);
  }
  const std::optional<ChildEnd>& end = *waited;
  if (!end) {
    return signals_.take() != 0 ? Result<RunTime>(propagate(interrupted()))
                                : with_hint(fail(ErrorCode::kInvalid, "{} ran for more than {} s",
                                                 options_.command[0], options_.limit_s),
                                            "give a higher --limit");
  }
  if (end->status != 0) {
    return with_hint(fail(ErrorCode::kInvalid, "{} exited with status {}; its last output: {}",
                          options_.command[0], end->status, last_line_of(log)),
                     "the command must do the same work each time and exit with status 0");
  }
  return RunTime{.wall_ns = wall_ns, .cpu_ns = end->cpu_ns};
}

}  // namespace plimsoll::cli
