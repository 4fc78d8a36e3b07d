#include "symbolizer/process/child_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/file.h"
#include "base/time.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/process/spawn.h"

namespace plimsoll::symbolizer {
namespace {

// On a busy machine a process waits longer than it runs.
constexpr int64_t kWallPerCpu = 4;
constexpr int kTickMs = 500;
// In memory rather than a pipe: that could fill up, or break.
Result<UniqueFd> request_file(const std::string& content) {
  if (content.size() > kMaxRequestBytes) {
    return fail(ErrorCode::kTooLarge, "a request of {} bytes; at most {} can be asked for", content.size(),
                kMaxRequestBytes);
  }
  UniqueFd fd(::memfd_create("plimsoll-request", MFD_CLOEXEC));
  if (!fd.valid() ||
      ::pwrite(fd.get(), content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
    return fail_errno(errno, "writing the request");
  }
  return out_of_the_way(std::move(fd));
}

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return fail_errno(errno, "making a pipe");
  }
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // Of the two ends, only ours must not block.
  ::fcntl(pipe.writing.get(), F_SETFL, 0);
  auto writing = out_of_the_way(std::move(pipe.writing));
  if (!writing) {
    return propagate(writing);
  }
  pipe.writing = std::move(*writing);
  return pipe;
}

// Readable once its owner is told to stop.
class StopEvent {
 public:
  explicit StopEvent(std::stop_token stop)
      : fd_(::eventfd(0, EFD_CLOEXEC)), stop_(std::move(stop), [this] { ::eventfd_write(fd_.get(), 1); }) {}

  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::stop_callback<std::function<void()>> stop_;
};

// Listens to a child until it ends.
class Listener {
 public:
  Listener(pid_t pid, UniqueFd said, const ProcessLimits& limits,
           const std::function<void(uint64_t)>& progress, std::stop_token stop)
      : pid_(pid),
        said_(std::move(said)),
        limits_(limits),
        progress_(progress),
        stop_(std::move(stop)),
        stop_event_(stop_) {}

  ChildEnd listen() {
    // The header that declares pidfd_open() lacks C linkage in glibc 2.36.
    const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    bool has_ended = false;
    while (!has_ended && end_.cause == ChildEnd::Cause::kEnded) {
      has_ended = wait(ended);
      take_what_is_there();
      if (!has_ended) {
        give_up_in_time();
      }
      if (progress_) {
        progress_(opened_bytes_);
      }
    }
    if (!has_ended) {
      ::kill(pid_, SIGKILL);
    }
    rusage usage{};
    while (::wait4(pid_, &end_.wait_status, 0, &usage) < 0 && errno == EINTR) {
    }
    end_.peak_memory_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    return std::move(end_);
  }

 private:
  int64_t deadline_ns() const {
    return int64_t{cpu_seconds_for(limits_, opened_bytes_)} * kWallPerCpu * kNsPerSecond;
  }

  void give_up_in_time() {
    if (stop_.stop_requested()) {
      end_.cause = ChildEnd::Cause::kStopped;
    } else if (monotonic_now_ns() - started_ns_ > deadline_ns()) {
      end_.cause = ChildEnd::Cause::kDeadline;
    }
  }

  // For a moment; true once the child has ended.
  bool wait(const UniqueFd& ended) {
    std::array<pollfd, 3> events{
        {{ended.get(), POLLIN, 0}, {said_.get(), POLLIN, 0}, {stop_event_.fd(), POLLIN, 0}}};
    if (::poll(events.data(), events.size(), kTickMs) < 0) {
      return false;
    }
    // It can close its output, and go on.
    if ((events[1].revents & (POLLHUP | POLLIN)) == POLLHUP) {
      said_ = UniqueFd();
    }
    return (events[0].revents & POLLIN) != 0;
  }

  void take_what_is_there() {
    std::array<char, size_t{64} << 10> buffer{};
    ssize_t got = 0;
    while (end_.cause == ChildEnd::Cause::kEnded && said_.valid() &&
           (got = ::read(said_.get(), buffer.data(), buffer.size())) > 0) {
      said_bytes_ += static_cast<size_t>(got);
      received_.append(buffer.data(), static_cast<size_t>(got));
      take_events();
    }
  }

  void take_events() {
    if (said_bytes_ > kMaxSaidBytes) {
      end_.cause = ChildEnd::Cause::kSaidTooMuch;
      return;
    }
    std::string_view rest = received_;
    while (true) {
      auto taken = take_event(rest);
      if (!taken) {
        end_.cause = ChildEnd::Cause::kSaidNonsense;
        return;
      }
      std::optional<wire::TableEvent>& event = *taken;
      if (!event) {
        break;
      }
      if (event->has_opened_bytes()) {
        opened_bytes_ = event->opened_bytes();
      } else {
        end_.last = std::move(*event);
      }
    }
    received_.erase(0, received_.size() - rest.size());
  }

  const pid_t pid_;
  UniqueFd said_;
  const ProcessLimits& limits_;
  const std::function<void(uint64_t)>& progress_;
  const std::stop_token stop_;
  const StopEvent stop_event_;
  const int64_t started_ns_ = monotonic_now_ns();
  std::string received_;
  size_t said_bytes_ = 0;
  uint64_t opened_bytes_ = 0;
  ChildEnd end_;
};

}  // namespace

Result<UniqueFd> table_file(const std::string& folder) {
  auto fd = unnamed_file(folder);
  return fd ? out_of_the_way(std::move(*fd)) : propagate(fd, "for a symbol table");
}

Result<ChildEnd> run_child(const StartChild& start, const std::string& request, const UniqueFd& table,
                           const ProcessLimits& limits,
                           const std::function<void(uint64_t opened_bytes)>& progress, std::stop_token stop) {
  const auto asked = request_file(request);
  auto pipe = make_pipe();
  if (!asked || !pipe) {
    return asked ? propagate(pipe) : propagate(asked);
  }
  const auto pid = start({*asked, pipe->writing, table});
  if (!pid) {
    return propagate(pid);
  }
  pipe->writing = UniqueFd();
  return Listener(*pid, std::move(pipe->reading), limits, progress, std::move(stop)).listen();
}

}  // namespace plimsoll::symbolizer
