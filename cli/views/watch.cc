#include "cli/views/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <string_view>

#include "base/printable.h"
#include "base/time.h"
#include "cli/views/answer_source.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {
namespace {

// ECMA-48 and the private modes of xterm: the alternate screen (1049), the cursor (25), wrapping of long lines (7).
constexpr std::string_view kTakeScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kGiveBackScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

std::atomic<bool> screen_is_taken = false;
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers use it");

// For signal handlers too. A terminal that has gone cannot be restored: the result says nothing.
void write_to_terminal(std::string_view sequence) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, sequence.data(), sequence.size());
}

void give_back_screen() {
  if (screen_is_taken.exchange(false)) {
    write_to_terminal(kGiveBackScreen);
  }
}

// A query may take seconds, in code that no flag would stop; there is nothing to finish but the screen.
extern "C" void end_watching(int /*signal*/) {
  give_back_screen();
  ::_exit(0);
}

// The screen is the shell's while the process is stopped.
extern "C" void stop_watching(int /*signal*/) {
  const bool was_taken = screen_is_taken;
  give_back_screen();
  ::raise(SIGSTOP);
  if (was_taken) {
    write_to_terminal(kTakeScreen);
    screen_is_taken = true;
  }
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

// The alternate screen while it lives.
class Screen {
 public:
  Screen() {
    screen_is_taken = true;  // before the sequence: a signal in between restores what is restored already
    write_to_terminal(kTakeScreen);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { give_back_screen(); }
};

size_t terminal_height() {
  constexpr size_t kUsualHeight = 24;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsualHeight;
}

// Over the frame before: each line is cleared behind its end, so that nothing flickers.
std::string redrawn(std::string_view text) {
  std::string frame(kHome);
  const size_t height = terminal_height();
  for (size_t line = 0; line < height && !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    frame += line == 0 ? "" : "\n";
    frame += text.substr(0, end);
    frame += kClearLine;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return frame.append(kClearBelow);
}

// The header line, and the newest text that there was.
class Watched {
 public:
  explicit Watched(const WatchOptions& options) : options_(options) {}

  void take(const Result<std::string>& text) {
    const std::string now = format_time(wall_now_ns() / kNsPerSecond * kNsPerSecond);
    const query::TextStyle style = style_of_output();
    const auto clipped = [&](std::string line) {
      return style.width == 0 ? line : query::clipped(std::move(line), style.width);
    };
    if (text) {
      text_ = *text;
      time_ = now;
      header_ = query::emphasized(
          clipped(fmt::format("{}  {}  every {:g} s", options_.title, now, options_.interval_s)),
          query::Emphasis::kFaint, style);
    } else {
      header_ = query::emphasized(
          clipped(fmt::format("failed at {}{}: {}", now, time_.empty() ? "" : ", below is " + time_,
                              printable(text.error().text()))),
          query::Emphasis::kBad, style);
    }
  }

  std::string whole() const { return header_ + "\n" + text_; }

 private:
  const WatchOptions& options_;
  std::string header_;
  std::string text_;
  std::string time_;  // of the text
};

// Until the interval has passed, or the process was stopped and continues: poll() is never restarted (signal(7)).
void wait_for_next(double interval_s) {
  ::poll(nullptr, 0, static_cast<int>(interval_s * 1e3));
}

}  // namespace

Status watch(const WatchOptions& options, const std::function<Result<std::string>()>& next_text) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  handle(SIGINT, end_watching);
  handle(SIGTERM, end_watching);
  std::optional<Screen> screen;
  if (is_terminal) {
    handle(SIGTSTP, stop_watching);
    screen.emplace();
  }
  Watched watched(options);
  for (bool is_first = true;; is_first = false) {
    const auto text = next_text();
    if (is_first && !text && text.error().code == ErrorCode::kInvalid) {
      return propagate(text);
    }
    watched.take(text);
    const std::string shown =
        is_terminal ? redrawn(watched.whole()) : (is_first ? "" : "\n") + watched.whole();
    if (auto written = write_output("-", shown); !written) {
      return written;
    }
    wait_for_next(options.interval_s);
  }
}

}  // namespace plimsoll::cli
