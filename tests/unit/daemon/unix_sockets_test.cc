// Unix sockets: the process that listens at a path, and the one at the other end of a connection.
#include "daemon/scrape/unix_sockets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include "daemon/scrape/listening_processes.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/daemon/scraped_application.h"

namespace plimsoll::scrape::unix_sockets_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

// As the kernel writes them: one that listens, a connection to it, a socket of datagrams, one without a path, an abstract one, one
// whose path has blanks.
const std::string kUnix =
    "Num       RefCount Protocol Flags    Type St Inode Path\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 21934 /run/job.sock\n"
    "0000000000000000: 00000003 00000000 00000000 0001 03 21935 /run/job.sock\n"
    "0000000000000000: 00000002 00000000 00010000 0002 01 21936 /run/datagrams\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 21937\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 21938 @abstract\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 21939 /run/with two blanks\n";

std::vector<std::string> parsed(const std::string& text) {
  std::vector<std::string> lines;
  for (const ListeningUnixSocket& socket : parse_listening_unix_sockets(text)) {
    lines.push_back(fmt::format("{} {}", socket.inode, socket.path));
  }
  return lines;
}

TEST(ListeningUnixSockets, AreThoseOfStreamsWithAPath) {
  EXPECT_THAT(parsed(kUnix), ElementsAre("21934 /run/job.sock", "21939 /run/with two blanks"));
}

TEST(ListeningUnixSockets, DamagedLinesAreLeftOut) {
  const std::string line = "0: 2 0 00010000 0001 01 7 /x";
  EXPECT_THAT(parsed(line), ElementsAre("7 /x"));
  for (size_t size = 0; size < line.size() - 1; ++size) {
    EXPECT_THAT(parsed(line.substr(0, size)), IsEmpty()) << size;
  }
  EXPECT_THAT(parsed("0: 2 0 x 0001 01 7 /x\n0: 2 0 00010000 0001 01 y /x\n"), IsEmpty());
}

TEST(UnixListener, IsAProcessThatHoldsTheSocket) {
  const identity::FakeProc proc;
  proc.file("net/unix", kUnix);
  const auto opens = [&](uint32_t pid, const std::string& target) {
    std::filesystem::create_directories(fmt::format("{}/{}/fd", proc.root(), pid));
    std::filesystem::create_symlink(target, fmt::format("{}/{}/fd/3", proc.root(), pid));
  };
  opens(40, "socket:[21934]");
  opens(50, "socket:[21935]");  // a client, or a connection that was accepted
  const identity::ProcFs proc_fs(proc.root());
  EXPECT_TRUE(check_unix_listener(proc_fs, 40, "/run/job.sock"));
  EXPECT_EQ(check_unix_listener(proc_fs, 50, "/run/job.sock").error().code, ErrorCode::kDenied);
  EXPECT_EQ(check_unix_listener(proc_fs, 60, "/run/job.sock").error().code, ErrorCode::kDenied);
  EXPECT_EQ(check_unix_listener(proc_fs, 40, "/run/other.sock").error().code, ErrorCode::kNotFound);
}

TEST(UnixListener, OfAnotherNetworkNamespaceIsInThatNamespacesTable) {
  const identity::FakeProc proc;
  proc.file("net/unix", "");
  proc.file("40/net/unix", kUnix);
  std::filesystem::create_directories(proc.root() + "/40/fd");
  std::filesystem::create_directories(proc.root() + "/40/ns");
  std::filesystem::create_directories(proc.root() + "/self/ns");
  std::filesystem::create_symlink("socket:[21934]", proc.root() + "/40/fd/3");
  std::filesystem::create_symlink("net:[1]", proc.root() + "/self/ns/net");
  std::filesystem::create_symlink("net:[1]", proc.root() + "/40/ns/net");
  const identity::ProcFs proc_fs(proc.root());
  EXPECT_EQ(proc_fs.other_network(40), "");
  EXPECT_FALSE(check_unix_listener(proc_fs, 40, "/run/job.sock"));
  std::filesystem::remove(proc.root() + "/40/ns/net");
  std::filesystem::create_symlink("net:[2]", proc.root() + "/40/ns/net");
  EXPECT_EQ(proc_fs.other_network(40), "net:[2]");
  EXPECT_TRUE(check_unix_listener(proc_fs, 40, "/run/job.sock"));
}

// "PID URL" each; then problems.
std::vector<std::string> found_by(const config::ListeningRule& rule, const identity::FakeProc& proc) {
  const auto found = find_listening_processes({rule}, identity::ProcFs(proc.root()),
                                              [](uint32_t /*pid*/) { return std::string(); });
  std::vector<std::string> lines;
  for (const ListeningProcess& process : found.processes) {
    lines.push_back(fmt::format("{} {}", process.pid, process.base_url));
  }
  lines.insert(lines.end(), found.problems.begin(), found.problems.end());
  return lines;
}

TEST(UnixListener, IsFoundByARuleForItsProgramAndPath) {
  const identity::FakeProc proc;
  proc.file("net/tcp", "0: 0100007F:17AC x 0A a b c d e 1003\n");
  proc.file("net/unix",
            "0: 2 0 00010000 0001 01 1001 /run/search/1.sock\n"
            "0: 2 0 00010000 0001 01 1002 /run/search/deeper/2.sock\n"
            "0: 2 0 00010000 0001 01 1004 /run/search/4.sock\n"
            "0: 2 0 00010000 0001 01 1005 /run/search/a b.sock\n");
  const auto holds = [&](uint32_t pid, const std::string& comm, std::initializer_list<int> inodes) {
    proc.file(fmt::format("{}/comm", pid), comm + "\n");
    std::filesystem::create_directories(fmt::format("{}/{}/fd", proc.root(), pid));
    for (const int inode : inodes) {
      std::filesystem::create_symlink(fmt::format("socket:[{}]", inode),
                                      fmt::format("{}/{}/fd/{}", proc.root(), pid, inode));
    }
  };
  holds(40, "search", {1001, 1002});
  holds(50, "other", {1004});
  const config::ListeningRule rule{.program = "search", .sockets = "/run/search/*.sock"};
  EXPECT_THAT(found_by(rule, proc), ElementsAre("40 unix:/run/search/1.sock:"));
  // Its workers hold it too; one listens on a port as well, and is scraped there.
  holds(41, "search", {1001});
  proc.file("41/stat", "41 (search) S 40 1 1\n");
  holds(60, "search", {1003, 1004});
  EXPECT_THAT(found_by({.program = "search", .ports = "6060", .sockets = "/run/search/*.sock"}, proc),
              ElementsAre("60 http://127.0.0.1:6060", "40 unix:/run/search/1.sock:"));
  holds(70, "search", {1005});
  EXPECT_THAT(found_by({.program = "search", .sockets = "/run/search/a*"}, proc),
              ElementsAre(HasSubstr("its path has blanks")));
}

TEST(Peer, IsTheProcessThatListens) {
  const TemporaryDirectory folder;
  const UniqueFd listener = unix_socket(folder / "s");
  const auto connection = connect_to_unix_socket("/", folder / "s");
  ASSERT_TRUE(connection) << connection.error().text();
  EXPECT_EQ(connection->peer, static_cast<uint32_t>(::getpid()));
}

TEST(Peer, IsAChildThatListensOnAnInheritedSocket) {
  const TemporaryDirectory folder;
  const UniqueFd bound = unix_socket(folder / "s", false);
  std::array<int, 2> says{-1, -1};
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::pipe(says.data()), 0);
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte = ::listen(bound.get(), 16) == 0 ? 'y' : 'n';
    const bool is_said = ::write(says[1], &byte, 1) == 1;
    ::_exit(is_said && ::read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(::read(says[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const auto connection = connect_to_unix_socket("/", folder / "s");
  EXPECT_TRUE(connection) << connection.error().text();
  EXPECT_EQ(connection ? connection->peer : 0, static_cast<uint32_t>(child))
      << "not the process that bound it";
  for (const int fd : {says[0], says[1], ends[0], ends[1]}) {
    ::close(fd);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Peer, IsLookedForBelowARootThatNoLinkLeadsOutOf) {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "root/run");
  const UniqueFd inside = unix_socket(folder / "root/run/s");
  const UniqueFd outside = unix_socket(folder / "outside");
  std::filesystem::create_symlink("/run", folder / "root/var");
  std::filesystem::create_symlink(folder / "outside", folder / "root/run/out");
  std::filesystem::create_symlink("../../outside", folder / "root/run/up");
  std::ofstream(folder / "root/run/file") << "text";
  const auto code = [&](const std::string& path) {
    const auto connection = connect_to_unix_socket(folder / "root", path);
    return connection ? std::string("connected") : std::string(name_of(connection.error().code));
  };
  EXPECT_EQ(code("/run/s"), "connected");
  EXPECT_EQ(code("/var/s"), "connected") << "a link within the root";
  const std::string none(name_of(ErrorCode::kNotFound));
  EXPECT_EQ(code("/run/out"), none);
  EXPECT_EQ(code("/run/up"), none);
  EXPECT_EQ(code("/../outside"), none);
  EXPECT_EQ(code("/run/none"), none);
  EXPECT_EQ(code("/run/file"), name_of(ErrorCode::kInvalid));
}

TEST(Peer, ThatAcceptsNothingIsNotWaitedFor) {
  const TemporaryDirectory folder;
  const UniqueFd listener = unix_socket(folder / "s", true, 0);
  std::vector<UnixConnection> waiting;
  Result<UnixConnection> connection = connect_to_unix_socket("/", folder / "s");
  for (int i = 0; i < 100 && connection; ++i) {
    waiting.push_back(std::move(*connection));
    connection = connect_to_unix_socket("/", folder / "s");
  }
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(connection.error().message, HasSubstr("too many clients wait"));
}

TEST(Peer, ThatPermitsOnlyItsOwnerIsDenied) {
  const TemporaryDirectory folder;
  const UniqueFd listener = unix_socket(folder / "s");
  std::filesystem::permissions(folder / "s", std::filesystem::perms::none);
  const bool is_root = ::geteuid() == 0;  // which may write to any socket
  if (is_root) {
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto connection = connect_to_unix_socket("/", folder / "s");
  ASSERT_TRUE(!is_root || ::seteuid(0) == 0);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::kDenied);
  EXPECT_THAT(connection.error().hint, HasSubstr("permit the daemon's user"));
}

}  // namespace
}  // namespace plimsoll::scrape::unix_sockets_test
