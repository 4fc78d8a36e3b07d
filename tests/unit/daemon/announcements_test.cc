// Announcements of processes: what is believed of a folder that any user may write to.
#include "daemon/scrape/announcements.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "daemon/scrape/socket_owner.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::scrape {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

std::string announcement(uint32_t pid, int start_ticks, const std::string& address) {
  return fmt::format(
      R"({{"format": 1, "pid": {}, "start_ticks": {}, "address": "{}", "requires_token": false,)"
      R"( "kinds": ["heap", "threads", "heap", "contention"], "problems": [], "labels": {{}}}})",
      pid, start_ticks, address);
}

TEST(Announcement, SaysWhoServesWhatWhere) {
  const auto process = parse_announcement(announcement(40, 250, "http://127.0.0.1:8080"));
  ASSERT_TRUE(process) << process.error().text();
  EXPECT_EQ(process->pid, 40);
  EXPECT_EQ(process->started_ns, 2'500'000'000);
  EXPECT_EQ(process->base_url, "http://127.0.0.1:8080");
  EXPECT_THAT(process->kinds, ElementsAre("heap", "contention")) << "those that are scraped, each once";
  EXPECT_FALSE(process->requires_token);
}

TEST(Announcement, MayBeOfAUnixSocket) {
  const auto process = parse_announcement(announcement(40, 250, "unix:/run/job.sock"));
  ASSERT_TRUE(process) << process.error().text();
  EXPECT_EQ(process->base_url, "unix:/run/job.sock:");
}

TEST(Announcement, OfAnotherFormOrOfANameIsRefused) {
  for (const char* text :
       {"", "[]", "{}", "{\"format\": 2}", "{\"format\": 1}",
        "{\"format\": 1, \"pid\": -1, \"start_ticks\": 1}",
        "{\"format\": 1, \"pid\": 4294967297, \"start_ticks\": 1, \"address\": \"http://127.0.0.1:1\"}",
        "{\"format\": 1, \"pid\": 1, \"start_ticks\": 18446744073709551615}",
        "{\"format\": 1, \"pid\": 1, \"start_ticks\": 1, \"address\": 5}"}) {
    EXPECT_FALSE(parse_announcement(text)) << text;
  }
  for (const char* address :
       {"http://db.example:80", "http://localhost:80", "http://127.0.0.1:80/path", "http://user@127.0.0.1:80",
        "unix:run/x", "unix:/run/x:/path", "unix:/run/x:", "https://127.0.0.1:80", "file:///etc/passwd"}) {
    EXPECT_FALSE(parse_announcement(announcement(40, 250, address))) << address;
  }
}

// Process 40, which is ours, listens on 127.0.0.1, port 8080.
class AnnouncementFolder : public ::testing::Test {
 protected:
  AnnouncementFolder() {
    proc_.file("net/tcp", "0: 0100007F:1F90 x 0A a b c d e 1001\n");
    proc_.file("net/tcp6", "");
    add_process(40, ::geteuid());
    std::filesystem::create_directories(proc_.root() + "/40/fd");
    std::filesystem::create_symlink("socket:[1001]", proc_.root() + "/40/fd/3");
  }

  void add_process(uint32_t pid, uint32_t user) const {
    proc_.process(pid, {.comm = "x", .executable = "", .cgroup = "0::/\n", .maps = "", .started_ticks = 250});
    proc_.file(fmt::format("{}/status", pid), fmt::format("Name:\tx\nUid:\t77\t{}\t77\t77\n", user));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  Announcements read() const { return read_announcements(folder_.path(), identity::ProcFs(proc_.root())); }
  std::string good() const { return announcement(40, 250, "http://127.0.0.1:8080"); }

  identity::FakeProc proc_;
  TemporaryDirectory folder_;
};

TEST_F(AnnouncementFolder, HasTheProcessesThatLive) {
  write("40.json", good());
  write("41.json", good());       // there is no process 41
  write("40.json.new", "draft");  // not renamed yet
  write("readme", "");
  const Announcements found = read();
  ASSERT_EQ(found.processes.size(), 1);
  EXPECT_EQ(found.processes[0].pid, 40);
  EXPECT_THAT(found.problems, IsEmpty());
}

TEST_F(AnnouncementFolder, ANameMayHaveTheStartAndAnotherFileIsNotInTheWay) {
  write("40-250.json", good());
  write("40-249.json", announcement(40, 249, "http://127.0.0.1:8080"));  // of an earlier process
  write("40-.json", good());
  write("40-x.json", good());
  write("40.json", good());  // the same once more
  const Announcements found = read();
  ASSERT_EQ(found.processes.size(), 1);
  EXPECT_EQ(found.processes[0].pid, 40);
  EXPECT_THAT(found.problems, IsEmpty());
}

TEST_F(AnnouncementFolder, OfAnEarlierProcessOfTheNumberIsPassedOver) {
  write("40.json", announcement(40, 249, "http://127.0.0.1:8080"));
  EXPECT_THAT(read().processes, IsEmpty());
  EXPECT_THAT(read().problems, IsEmpty());
}

TEST_F(AnnouncementFolder, AUserCannotAnnounceAnothersProcess) {
  // Of root's files any process is believed.
  if (::geteuid() == 0) {
    write("40.json", good());
    std::filesystem::permissions(folder_ / "40.json", std::filesystem::perms::owner_all);
    ASSERT_EQ(::chown((folder_ / "40.json").c_str(), 12345, 12345), 0);
  } else {
    add_process(40, 12345);
    write("40.json", good());
  }
  EXPECT_THAT(read().processes, IsEmpty());
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("its owner is user")));
}

TEST_F(AnnouncementFolder, AnotherProcessesPortIsNotAsked) {
  add_process(50, ::geteuid());
  write("50.json", announcement(50, 250, "http://127.0.0.1:8080"));
  EXPECT_THAT(read().processes, IsEmpty());
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("process 50 does not listen")));
}

TEST_F(AnnouncementFolder, AProcessInAContainerSaysItsNumberThere) {
  proc_.file("40/status", fmt::format("Name:\tx\nUid:\t77\t{}\t77\t77\nNSpid:\t40\t7\n", ::geteuid()));
  write("7-250.json", announcement(7, 250, "http://127.0.0.1:8080"));
  const Announcements found = read();
  ASSERT_EQ(found.processes.size(), 1);
  EXPECT_EQ(found.processes[0].pid, 40);
  EXPECT_THAT(found.problems, IsEmpty());
  write("7-250.json", announcement(7, 249, "http://127.0.0.1:8080"));
  EXPECT_THAT(read().processes, IsEmpty()) << "an earlier one";
  EXPECT_THAT(read().problems, IsEmpty());
}

TEST_F(AnnouncementFolder, OfTwoContainersItIsTheOneThatListens) {
  for (const uint32_t pid : {30U, 40U}) {
    add_process(pid, ::geteuid());
    proc_.file(fmt::format("{}/status", pid),
               fmt::format("Name:\tx\nUid:\t77\t{}\t77\t77\nNSpid:\t{}\t7\n", ::geteuid(), pid));
  }
  write("7-250.json", announcement(7, 250, "http://127.0.0.1:8080"));
  const Announcements found = read();
  ASSERT_EQ(found.processes.size(), 1);
  EXPECT_EQ(found.processes[0].pid, 40);
}

TEST_F(AnnouncementFolder, AnAddressMustBeTheProcessesOwn) {
  proc_.file("net/tcp", "0: 00000000:1F90 x 0A a b c d e 1001\n");
  proc_.file("net/fib_trie", "|-- 10.0.0.5\n/32 host LOCAL\n");
  write("40.json", announcement(40, 250, "http://10.0.0.5:8080"));
  EXPECT_EQ(read().processes.size(), 1);
  write("40.json", announcement(40, 250, "http://169.254.169.254:8080"));
  EXPECT_THAT(read().processes, IsEmpty());
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("169.254.169.254 is no address of process 40's")));
}

TEST_F(AnnouncementFolder, AUnixSocketIsThatOfAProcessThatHoldsIt) {
  proc_.file("net/unix",
             "0: 2 0 00010000 0001 01 1001 /run/job.sock\n0: 2 0 00010000 0001 01 1002 /run/other\n");
  write("40.json", announcement(40, 250, "unix:/run/job.sock"));
  const Announcements found = read();
  ASSERT_EQ(found.processes.size(), 1);
  EXPECT_EQ(found.processes[0].base_url, "unix:/run/job.sock:");
  EXPECT_THAT(found.problems, IsEmpty());
  write("40.json", announcement(40, 250, "unix:/run/other"));
  EXPECT_THAT(read().processes, IsEmpty());
  EXPECT_THAT(read().problems,
              ElementsAre(HasSubstr("process 40 does not listen on the Unix socket /run/other")));
}

TEST_F(AnnouncementFolder, FilesOfOthersLinksAndLargeOnesAreRefused) {
  write("40.json", good() + std::string(17'000, ' '));
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("16384 bytes")));
  write("40.json", good());
  std::filesystem::permissions(folder_ / "40.json", std::filesystem::perms::all);
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("its owner alone")));
  std::filesystem::rename(folder_ / "40.json", folder_ / "elsewhere");
  std::filesystem::permissions(folder_ / "elsewhere", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "40.json");
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("cannot be opened")));
  EXPECT_THAT(read().processes, IsEmpty());
}

TEST_F(AnnouncementFolder, ThatDoesNotExistHasNone) {
  const Announcements found = read_announcements(folder_ / "none", identity::ProcFs(proc_.root()));
  EXPECT_THAT(found.processes, IsEmpty());
  EXPECT_THAT(found.problems, IsEmpty());
}

// Sorted by number the one that lives would be the last.
TEST_F(AnnouncementFolder, HasTheProcessesThatLiveAmongTooManyThatHaveEnded) {
  constexpr uint32_t kLive = 5000;
  proc_.file("net/tcp",
             "0: 0100007F:1F90 x 0A a b c d e 1001\n"
             "1: 0100007F:1F91 x 0A a b c d e 1002\n");
  add_process(kLive, ::geteuid());
  std::filesystem::create_directories(fmt::format("{}/{}/fd", proc_.root(), kLive));
  std::filesystem::create_symlink("socket:[1002]", fmt::format("{}/{}/fd/3", proc_.root(), kLive));
  for (uint32_t ended = 1000; ended < 2499; ++ended) {
    write(fmt::format("{}.json", ended), "");
  }
  write(fmt::format("{}.json", kLive), announcement(kLive, 250, "http://127.0.0.1:8081"));
  const Announcements found = read();
  ASSERT_EQ(found.processes.size(), 1);
  EXPECT_EQ(found.processes[0].pid, kLive);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("500 of 1500 announcements")));
}

// Of process 40, which lives, any user can write names of earlier starts: sorted by number these would be all that is read.
TEST_F(AnnouncementFolder, HasTheProcessesThatLiveAmongTooManyNamesOfAnother) {
  constexpr uint32_t kOther = 5000;
  constexpr uint32_t kNested = 6000;
  proc_.file("net/tcp",
             "0: 0100007F:1F90 x 0A a b c d e 1001\n"
             "1: 0100007F:1F91 x 0A a b c d e 1002\n"
             "2: 0100007F:1F92 x 0A a b c d e 1003\n");
  for (const uint32_t pid : {kOther, kNested}) {
    add_process(pid, ::geteuid());
    std::filesystem::create_directories(fmt::format("{}/{}/fd", proc_.root(), pid));
    std::filesystem::create_symlink(pid == kOther ? "socket:[1002]" : "socket:[1003]",
                                    fmt::format("{}/{}/fd/3", proc_.root(), pid));
  }
  proc_.file(fmt::format("{}/status", kNested),
             fmt::format("Name:\tx\nUid:\t77\t{}\t77\t77\nNSpid:\t{}\t7777\n", ::geteuid(), kNested));
  for (int ticks = 1000; ticks < 2500; ++ticks) {
    write(fmt::format("40-{}.json", ticks), good());
  }
  write(fmt::format("{}-250.json", kOther), announcement(kOther, 250, "http://127.0.0.1:8081"));
  write("7777-250.json", announcement(7777, 250, "http://127.0.0.1:8082"));
  const Announcements found = read();
  std::vector<uint32_t> pids;
  for (const AnnouncedProcess& process : found.processes) {
    pids.push_back(process.pid);
  }
  EXPECT_THAT(pids, ::testing::UnorderedElementsAre(kOther, kNested));
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("502 of 1502 announcements")));
}

TEST_F(AnnouncementFolder, ANameWithAnotherStartIsPassedOver) {
  write("40-251.json", good());
  write("40-0250.json", good());
  EXPECT_THAT(read().processes, IsEmpty());
  EXPECT_THAT(read().problems, IsEmpty());
}

// Root may read any folder: a file stands for one that cannot be read.
TEST_F(AnnouncementFolder, ThatCannotBeReadIsAProblem) {
  write("a-file", "");
  const Announcements found = read_announcements(folder_ / "a-file", identity::ProcFs(proc_.root()));
  EXPECT_THAT(found.processes, IsEmpty());
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(AnnouncementFolder, AListenerThatSharesThePortIsNotAlone) {
  const identity::ProcFs proc_fs(proc_.root());
  EXPECT_TRUE(check_listener(proc_fs, 40, "127.0.0.1", 8080));
  proc_.file("net/tcp", "0: 0100007F:1F90 x 0A a b c d e 1001\n1: 0100007F:1F90 x 0A a b c d e 1002\n");
  EXPECT_FALSE(check_listener(proc_fs, 40, "127.0.0.1", 8080));
  EXPECT_FALSE(check_listener(proc_fs, 41, "127.0.0.1", 8080));
}

}  // namespace
}  // namespace plimsoll::scrape
