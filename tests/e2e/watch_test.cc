// `--watch` on a terminal: what it draws, and how it leaves the terminal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/durable_file.h"
#include "base/unique_fd.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing::watch_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kTakeScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr const char* kGiveBackScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// A program of ours on a terminal of its own, 24 lines of 100 characters. Ended with SIGKILL when destroyed, if it still runs.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> argv) {
    argv[0] = program(argv[0]);
    std::vector<char*> pointers;
    for (std::string& argument : argv) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const winsize size{.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    int master = -1;
    pid_ = ::forkpty(&master, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    master_ = UniqueFd(master);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;
  ~OnTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void type(std::string_view keys) const {
    ASSERT_EQ(::write(master_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void kill(int signal) const { ::kill(pid_, signal); }

  // All that it has drawn so far.
  const std::string& drawn() {
    pollfd ready{.fd = master_.get(), .events = POLLIN, .revents = 0};
    std::array<char, 4096> buffer{};
    while (::poll(&ready, 1, 0) == 1) {
      const ssize_t size = ::read(master_.get(), buffer.data(), buffer.size());
      if (size <= 0) {  // EIO: the program has ended
        break;
      }
      drawn_.append(buffer.data(), static_cast<size_t>(size));
    }
    return drawn_;
  }
  bool comes_to_draw(std::string_view text) {
    return eventually([&] { return drawn().find(text) != std::string::npos; });
  }
  bool comes_to_draw_after(std::string_view before, std::string_view text) {
    return eventually([&] {
      const size_t start = drawn().rfind(before);
      return start != std::string::npos && drawn_.find(text, start) != std::string::npos;
    });
  }

  // Waits until it is stopped; false: it has ended.
  bool stops() const {
    int status = 0;
    return ::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
  }

  // Its exit status; 128 + signal where one ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd master_;
  std::string drawn_;
};

class Watch : public ::testing::Test {
 protected:
  void SetUp() override { import("main;first_function 10\n"); }

  void import(const std::string& stacks) {
    const std::string path = folder_ / fmt::format("{}.profile", ++seed_);
    const wire::RawProfile profile = make_profile({.seed = seed_, .stacks = stacks});
    ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
    const Finished imported = run({"plimsoll", "import", "--data", data_, path});
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  uint64_t seed_ = 0;
};

TEST_F(Watch, RedrawsInPlaceWithWhatIsNewUntilControlC) {
  OnTerminal top({"plimsoll", "top", "--data", data_, "--watch", "0.1"});
  ASSERT_TRUE(top.comes_to_draw("first_function"));
  EXPECT_THAT(top.drawn(), AllOf(StartsWith(kTakeScreen), HasSubstr("\x1b[H"), HasSubstr("every 0.1 s"),
                                 HasSubstr("plimsoll top  " + data_.substr(0, 20)), HasSubstr("\x1b[K")));
  import("main;second_function 90\n");
  ASSERT_TRUE(top.comes_to_draw("second_function"));
  top.type("\x03");
  EXPECT_EQ(top.wait(), 0);
  EXPECT_THAT(top.drawn(), EndsWith(kGiveBackScreen));
}

TEST_F(Watch, EndsWithoutWaitingForTheNextRefresh) {
  for (const int signal : {SIGINT, SIGTERM}) {
    OnTerminal top({"plimsoll", "top", "--data", data_, "--watch", "86400"});
    ASSERT_TRUE(top.comes_to_draw("first_function"));
    top.kill(signal);
    EXPECT_EQ(top.wait(), 0);
    EXPECT_THAT(top.drawn(), EndsWith(kGiveBackScreen));
  }
}

TEST_F(Watch, EndsWithoutWaitingForAnAnswer) {
  const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  ASSERT_EQ(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  OnTerminal top(
      {"plimsoll", "top", "--server", fmt::format("127.0.0.1:{}", ntohs(address.sin_port)), "--watch"});
  const UniqueFd asked(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));  // and never answers
  ASSERT_GE(asked.get(), 0);
  top.kill(SIGINT);
  EXPECT_EQ(top.wait(), 0);
  EXPECT_THAT(top.drawn(), EndsWith(kGiveBackScreen));
}

TEST_F(Watch, AFailureStandsAboveTheTableUntilARefreshSucceeds) {
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  OnTerminal top({"plimsoll", "top", "--server", server.address(), "--watch", "0.1"});
  ASSERT_TRUE(top.comes_to_draw("first_function"));
  server.crash();
  ASSERT_TRUE(top.comes_to_draw("failed at "));
  EXPECT_THAT(top.drawn(), HasSubstr(", below is 20"));
  EXPECT_TRUE(top.comes_to_draw_after("failed at ", "first_function")) << "the table of before is kept";
  server.start();
  ASSERT_TRUE(top.comes_to_draw_after("failed at ", "every 0.1 s"));
  top.type("\x03");
  EXPECT_EQ(top.wait(), 0);
}

TEST_F(Watch, ARequestThatNeverSucceedsEndsIt) {
  OnTerminal top({"plimsoll", "top", "--data", data_, "--by", "fucntion", "--watch"});
  EXPECT_EQ(top.wait(), 2);
  EXPECT_THAT(top.drawn(), AllOf(HasSubstr(kGiveBackScreen), EndsWith("did you mean function?\r\n")));
}

TEST_F(Watch, AStoppedProcessLeavesTheScreenToTheShell) {
  OnTerminal top({"plimsoll", "top", "--data", data_, "--watch", "86400"});
  ASSERT_TRUE(top.comes_to_draw("first_function"));
  top.type("\x1a");  // ^Z
  ASSERT_TRUE(top.comes_to_draw(kGiveBackScreen));
  ASSERT_TRUE(top.stops()) << "before it is continued";
  top.kill(SIGCONT);
  EXPECT_TRUE(top.comes_to_draw_after(kTakeScreen, "first_function")) << "redrawn at once";
  top.type("\x03");
  EXPECT_EQ(top.wait(), 0);
}

TEST_F(Watch, IsCutToTheHeightOfTheTerminal) {
  std::string stacks;
  for (int i = 0; i < 60; ++i) {
    stacks += fmt::format("main;work_{} {}\n", i, 1000 - i);
  }
  import(stacks);
  OnTerminal top({"plimsoll", "top", "--data", data_, "--limit", "60", "--watch", "86400"});
  ASSERT_TRUE(top.comes_to_draw("\x1b[J"));
  EXPECT_EQ(std::ranges::count(top.drawn(), '\n'), 23);
  EXPECT_THAT(top.drawn(), AllOf(HasSubstr("work_10"), Not(HasSubstr("work_40"))));
}

TEST_F(Watch, InAPipeTablesFollowEachOtherAfterAnEmptyLine) {
  const Background top({"plimsoll", "top", "--data", data_, "--watch", "0.1"});
  ASSERT_TRUE(eventually([&] { return top.out().find("\n\nplimsoll top  ") != std::string::npos; }));
  EXPECT_THAT(top.out(),
              AllOf(StartsWith("plimsoll top  "), HasSubstr("first_function"), Not(HasSubstr("\x1b"))));
}

TEST_F(Watch, TreesAreWatchedToo) {
  OnTerminal flame({"plimsoll", "flame", "--data", data_, "--watch"});
  ASSERT_TRUE(flame.comes_to_draw("first_function"));
  EXPECT_THAT(flame.drawn(), HasSubstr("every 2 s"));
  flame.type("\x03");
  EXPECT_EQ(flame.wait(), 0);
}

}  // namespace
}  // namespace plimsoll::testing::watch_test
