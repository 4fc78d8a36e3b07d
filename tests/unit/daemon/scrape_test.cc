// Scraping without a network: who listens, what happened since, where code lies.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "config/scrape_endpoint.h"
#include "daemon/scrape/listening_processes.h"
#include "daemon/scrape/process_places.h"
#include "daemon/scrape/scraper.h"
#include "daemon/scrape/since_last.h"
#include "daemon/scrape/socket_owner.h"
#include "daemon/scrape/start_of_counts.h"
#include "formats/read_profile.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/formats/profile_text.h"

namespace plimsoll::scrape {
namespace {

using formats::ApplicationProfile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Who listens.

// As the kernel writes them: 127.0.0.1:8080 listening, a connection to it, 0.0.0.0:9090, 127.0.0.2:8080.
const std::string kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1001 1 0 100 "
    "0 0 10 0\n"
    "   1: 0100007F:1F90 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 1002 1 0 20 "
    "4 30 10 -1\n"
    "   2: 00000000:2382 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1003 1 0 100 "
    "0 0 10 0\n"
    "   3: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1004 1 0 100 "
    "0 0 10 0\n";
// [::1]:7070, and [::]:6060, which takes IPv4 as well.
const std::string kTcp6 =
    "  sl  local_address                         remote_address                        st ...\n"
    "   0: 00000000000000000000000001000000:1B9E 00000000000000000000000000000000:0000 0A 00000000:00000000 "
    "00:00000000 00000000  1000        0 2001 1 0 100 0 0 10 0\n"
    "   1: 00000000000000000000000000000000:17AC 00000000000000000000000000000000:0000 0A 00000000:00000000 "
    "00:00000000 00000000  1000        0 2002 1 0 100 0 0 10 0\n";

class SocketOwner : public ::testing::Test {
 protected:
  SocketOwner() {
    proc_.file("net/tcp", kTcp);
    proc_.file("net/tcp6", kTcp6);
  }

  void opens(uint32_t pid, int fd, const std::string& target) const {
    const std::string folder = proc_.root() + "/" + std::to_string(pid) + "/fd";
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(target, folder + "/" + std::to_string(fd));
  }

  uint32_t owner(const std::string& host, uint16_t port) const {
    return find_listener(identity::ProcFs(proc_.root()), host, port).value_or(0);
  }

  ErrorCode error(const std::string& host, uint16_t port) const {
    const auto found = find_listener(identity::ProcFs(proc_.root()), host, port);
    EXPECT_FALSE(found) << "process " << found.value_or(0);
    return found ? ErrorCode::kIo : found.error().code;
  }

  identity::FakeProc proc_;
};

TEST_F(SocketOwner, IsTheProcessThatHoldsTheListeningSocket) {
  opens(30, 0, "/dev/null");
  opens(30, 3, "socket:[1002]");
  opens(40, 3, "socket:[1001]");
  opens(50, 7, "socket:[1004]");
  EXPECT_EQ(owner("127.0.0.1", 8080), 40);
  EXPECT_EQ(owner("localhost", 8080), 40);
  EXPECT_EQ(owner("127.0.0.2", 8080), 50);
  EXPECT_EQ(owner("127.0.0.3", 8080), 0) << "nobody listens there";
}

TEST_F(SocketOwner, MayListenOnAllAddresses) {
  opens(40, 3, "socket:[1003]");
  opens(50, 3, "socket:[2002]");
  EXPECT_EQ(owner("127.0.0.1", 9090), 40);
  EXPECT_EQ(owner("127.0.0.1", 6060), 50) << "an IPv6 socket takes IPv4";
}

TEST_F(SocketOwner, MayListenOnIpv6) {
  opens(40, 3, "socket:[2001]");
  EXPECT_EQ(owner("::1", 7070), 40);
  EXPECT_EQ(owner("localhost", 7070), 40);
  EXPECT_EQ(owner("127.0.0.1", 7070), 0);
}

TEST_F(SocketOwner, IsTheParentOfThoseThatItForked) {
  for (const auto& [pid, parent] : {std::pair(1000, 1), std::pair(99, 1000), std::pair(101, 99)}) {
    opens(static_cast<uint32_t>(pid), 3, "socket:[1001]");
    proc_.file(fmt::format("{}/stat", pid), fmt::format("{} (worker) S {} 1 1\n", pid, parent));
  }
  EXPECT_EQ(owner("127.0.0.1", 8080), 1000);
}

TEST_F(SocketOwner, OfProcessesThatAreNoFamilyIsNone) {
  opens(99, 3, "socket:[1001]");
  opens(101, 3, "socket:[1001]");
  EXPECT_EQ(error("127.0.0.1", 8080), ErrorCode::kConflict);
}

TEST_F(SocketOwner, IsTheServiceThatItsManagerHandedTheSocketTo) {
  const auto add = [this](uint32_t pid, uint32_t parent, const std::string& program) {
    proc_.process(pid, {.comm = program, .executable = "/usr/bin/" + program, .cgroup = "", .maps = ""});
    proc_.file(fmt::format("{}/stat", pid), fmt::format("{} ({}) S {} 1 1\n", pid, program, parent));
    opens(pid, 3, "socket:[1001]");
  };
  add(1, 0, "systemd");
  EXPECT_EQ(owner("127.0.0.1", 8080), 1) << "it waits for the first connection";
  add(50, 1, "served");
  EXPECT_EQ(owner("127.0.0.1", 8080), 50);
  add(51, 50, "served");
  add(52, 50, "sh");
  EXPECT_EQ(owner("127.0.0.1", 8080), 50) << "whose children have the descriptor too";
  add(70, 1, "another");
  EXPECT_EQ(error("127.0.0.1", 8080), ErrorCode::kConflict) << "either of two";
}

TEST_F(SocketOwner, OfTheVeryAddressComesBeforeAny) {
  proc_.file("net/tcp",
             "0: 00000000:1F90 x 0A a b c d e 1\n"
             "1: 0100007F:1F90 x 0A a b c d e 2\n");
  proc_.file("net/tcp6", "0: 00000000000000000000000000000000:1F90 x 0A a b c d e 3\n");
  opens(10, 3, "socket:[1]");
  opens(20, 3, "socket:[2]");
  opens(30, 3, "socket:[3]");
  EXPECT_EQ(owner("127.0.0.1", 8080), 20);
  EXPECT_EQ(owner("127.0.0.2", 8080), 10) << "any IPv4 address before [::]";
  EXPECT_EQ(owner("::1", 8080), 30);
  EXPECT_EQ(error("localhost", 8080), ErrorCode::kConflict) << "either of two";
}

TEST_F(SocketOwner, OfAnyIpv4AddressDoesNotAnswerIpv6) {
  opens(40, 3, "socket:[1003]");
  EXPECT_EQ(error("::1", 9090), ErrorCode::kNotFound);
}

TEST_F(SocketOwner, IsUnknownWhereDescriptorsAreOutOfReach) {
  EXPECT_EQ(error("127.0.0.1", 8080), ErrorCode::kDenied);
}

TEST_F(SocketOwner, IsUnknownWhereSocketsCannotBeRead) {
  std::filesystem::remove(proc_.root() + "/net/tcp6");
  EXPECT_EQ(error("127.0.0.3", 8080), ErrorCode::kNotFound) << "a kernel without IPv6";
  std::filesystem::remove(proc_.root() + "/net/tcp");
  EXPECT_FALSE(find_listener(identity::ProcFs(proc_.root()), "127.0.0.1", 8080));
}

TEST(ListeningSockets, AreReachedOnLoopbackOrNot) {
  std::vector<std::string> hosts;
  for (const ListeningSocket& socket :
       parse_listening_sockets(kTcp + kTcp6 + "4: 0500A8C0:0050 x 0A a b c d e 5\n" +
                               "5: 0000000000000000FFFF00000100007F:0050 x 0A a b c d e 6\n" +
                               "6: B80D0120000000000000000001000000:0050 x 0A a b c d e 7\n")) {
    hosts.push_back(fmt::format("{} {} {}", socket.loopback_host, socket.port, socket.inode));
  }
  EXPECT_THAT(hosts, ElementsAre("127.0.0.1 8080 1001", "127.0.0.1 9090 1003", "127.0.0.2 8080 1004",
                                 "::1 7070 2001", "::1 6060 2002", " 80 5", "127.0.0.1 80 6", " 80 7"));
}

// "PID URL PATHS" each; then problems.
std::vector<std::string> found_by(const std::vector<config::ListeningRule>& rules,
                                  const identity::FakeProc& proc) {
  const auto found = find_listening_processes(rules, identity::ProcFs(proc.root()),
                                              [](uint32_t pid) { return "job" + std::to_string(pid); });
  std::vector<std::string> lines = found.problems;
  for (const ListeningProcess& process : found.processes) {
    lines.push_back(fmt::format("{} {} {}", process.pid, process.base_url, fmt::join(process.paths, " ")));
  }
  return lines;
}

TEST_F(SocketOwner, ListensByARuleForItsProgramOrJobAndPort) {
  opens(40, 3, "socket:[1001]");
  opens(50, 3, "socket:[1003]");
  opens(60, 3, "socket:[2002]");
  proc_.file("40/comm", "search\n");
  proc_.file("50/comm", "search\n");
  proc_.file("60/comm", "other\n");
  EXPECT_THAT(found_by({{.program = "search", .ports = "8000-8100", .paths = {"/a", "/b"}}}, proc_),
              ElementsAre("40 http://127.0.0.1:8080 /a /b"));
  EXPECT_THAT(found_by({{.job = "job60", .ports = "1-65535", .paths = {"/c"}},
                        {.program = "search", .job = "job50", .ports = "9090", .paths = {"/d"}},
                        {.program = "search", .ports = "9090", .paths = {"/too-late"}}},
                       proc_),
              ElementsAre("60 http://[::1]:6060 /c", "50 http://127.0.0.1:9090 /d"));
  EXPECT_THAT(
      found_by({{.program = "search", .ports = "1000-1001"}, {.program = "none", .ports = "8080"}}, proc_),
      IsEmpty());
}

TEST_F(SocketOwner, ListeningByARuleOnAllIpv6AddressesIsAskedByIpv4WhereLoopbackHasNoIpv6) {
  opens(60, 3, "socket:[2002]");
  proc_.file("60/comm", "search\n");
  const std::vector<config::ListeningRule> rules{{.program = "search", .ports = "6060", .paths = {"/a"}}};
  proc_.file("net/if_inet6", "00000000000000000000000000000001 01 80 10 80       lo\n");
  EXPECT_THAT(found_by(rules, proc_), ElementsAre("60 http://[::1]:6060 /a"));
  proc_.file("net/if_inet6", "");
  EXPECT_THAT(found_by(rules, proc_), ElementsAre("60 http://127.0.0.1:6060 /a"));
}

TEST_F(SocketOwner, OfForkedWorkersIsTheParentListeningByARule) {
  for (const auto& [pid, parent] : {std::pair(1000, 1), std::pair(99, 1000), std::pair(101, 1000)}) {
    opens(static_cast<uint32_t>(pid), 3, "socket:[1001]");
    proc_.file(fmt::format("{}/comm", pid), "search\n");
    proc_.file(fmt::format("{}/stat", pid), fmt::format("{} (search) S {} 1 1\n", pid, parent));
  }
  EXPECT_THAT(found_by({{.program = "search", .ports = "8080", .paths = {"/a"}}}, proc_),
              ElementsAre("1000 http://127.0.0.1:8080 /a"));
}

TEST_F(SocketOwner, ListeningByARuleAtAPortOfSeveralProcessesIsAProblem) {
  proc_.file("net/tcp",
             "0: 0100007F:1F90 x 0A a b c d e 1\n"
             "1: 0100007F:1F90 x 0A a b c d e 2\n");
  opens(10, 3, "socket:[1]");
  opens(20, 3, "socket:[2]");
  proc_.file("10/comm", "search\n");
  proc_.file("20/comm", "search\n");
  EXPECT_THAT(
      found_by({{.program = "search", .ports = "8080"}}, proc_),
      ElementsAre(HasSubstr("port 8080 of scrape.listening is not scraped: 2 processes listen there")));
  proc_.file("20/comm", "another\n");
  EXPECT_THAT(found_by({{.program = "search", .ports = "8080"}}, proc_), ElementsAre(HasSubstr("not alone")))
      << "the other one may answer";
}

TEST(ListeningInodes, DamagedLinesAreLeftOut) {
  for (const char* text : {"", "\n", "0: 0100007F:1F90", "0: 0100007F:1F90 x 0A",
                           "0: 0100007F1F90 x 0A a b c d e 5", "0: 0100007F:1F90 x 0A a b c d e x"}) {
    EXPECT_THAT(listening_inodes(text, {"0100007F"}, 8080), IsEmpty()) << text;
  }
  EXPECT_THAT(listening_inodes("0: 0100007F:1F90 x 0A a b c d e 5", {"0100007F"}, 8080), ElementsAre(5));
}

TEST(ProcFsStart, IsInTheProcessesStat) {
  const identity::FakeProc proc;
  proc.file("7/stat", "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 250 20\n");
  EXPECT_EQ(identity::ProcFs(proc.root()).started_ns(7), 250 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(identity::ProcFs(proc.root()).started_ns(8), 0);
}

// Since when an application has counted.

constexpr std::optional<Owner> kOne{{.pid = 7, .started_ns = 100}};
constexpr std::optional<Owner> kOther{{.pid = 7, .started_ns = 900}};

TEST(StartOfCounts, AnotherProcessHasBegunAnew) {
  const ScrapeTimes times{.since_last_ns = 60, .interval_ns = 60, .since_boot_ns = 1000};
  EXPECT_EQ(start_of_counts(times, kOne, kOther), SinceLast::Start::kThisScrape);
  EXPECT_EQ(start_of_counts(times, kOne, kOne), SinceLast::Start::kUnknown);
}

TEST(StartOfCounts, AProcessThatCouldNotBeFoundIsNotAnother) {
  const ScrapeTimes times{.since_last_ns = 60, .interval_ns = 60, .since_boot_ns = 1000};
  EXPECT_EQ(start_of_counts(times, kOne, std::nullopt), SinceLast::Start::kUnknown);
  EXPECT_EQ(start_of_counts(times, std::nullopt, kOne), SinceLast::Start::kUnknown);
}

TEST(StartOfCounts, AProfileOfADurationSinceTheLastScrapeIsADifferenceAlready) {
  const auto later = [](int64_t duration_ns) {
    return start_of_counts({.duration_ns = duration_ns, .since_last_ns = 60}, kOne, kOne);
  };
  EXPECT_EQ(later(5), SinceLast::Start::kThisScrape);
  EXPECT_EQ(later(60), SinceLast::Start::kThisScrape);
  EXPECT_EQ(later(61), SinceLast::Start::kUnknown);
  EXPECT_EQ(later(0), SinceLast::Start::kUnknown) << "it tells none";
}

TEST(StartOfCounts, TheFirstTimeTheAgeTells) {
  const auto first = [](int64_t duration_ns, const std::optional<Owner>& owner) {
    return start_of_counts({.duration_ns = duration_ns, .interval_ns = 200, .since_boot_ns = 1000}, {},
                           owner);
  };
  EXPECT_EQ(first(0, kOne), SinceLast::Start::kUnknown) << "it is 900 ns old";
  EXPECT_EQ(first(0, kOther), SinceLast::Start::kThisScrape);
  EXPECT_EQ(first(200, kOne), SinceLast::Start::kThisScrape) << "its counts are younger than itself";
  EXPECT_EQ(first(0, std::nullopt), SinceLast::Start::kUnknown);
}

// A scraper of a configured endpoint; no request is made.
class DrawnScraper {
 public:
  explicit DrawnScraper(const identity::ProcFs& proc_fs)
      : images_(proc_fs),
        binaries_(images_),
        scraper_(*config::parse_scrape_endpoint("http://127.0.0.1:8080/contention"), {}, wire::Machine(),
                 proc_fs, binaries_) {
    wire::Draw draw;
    draw.set_id("d1");
    scraper_.collect_for(draw, at_minute(0));
  }

  Scraper& scraper() { return scraper_; }

  // What is counted of so many contentions since the owner's start, as it told them so many minutes after the window began.
  std::optional<double> counted(int contentions, int minute, const Owner& owner) {
    const Fetched fetched{
        .started = at_minute(minute),
        .ended = at_minute(minute),
        .ended_since_boot_ns = boot_now_ns(),
        .owner = owner,
        .content = fmt::format("--- contention:\ncycles/second=1000000000\n80 {} @ 0x11\n", contentions)};
    const auto made = scraper_.make_profile(fetched, 0);
    EXPECT_TRUE(made) << made.error().text();
    if (!made || !made->has_value()) {
      return std::nullopt;
    }
    for (const wire::Event& event : (*made)->events()) {
      if (event.name() == "lock-contentions") {
        return event.counter_total();
      }
    }
    return std::nullopt;
  }

 private:
  static wire::ClockPair at_minute(int minute) {
    wire::ClockPair clocks;
    clocks.set_monotonic_ns((1000 + minute) * kNsPerMinute);
    clocks.set_wall_ns((2000 + minute) * kNsPerMinute);
    return clocks;
  }

  const identity::LiveImages images_;
  identity::BinaryTable binaries_;
  Scraper scraper_;
};

// This process, said to be so old.
Owner of_age(int64_t minutes) {
  return {.pid = static_cast<uint32_t>(::getpid()), .started_ns = boot_now_ns() - minutes * kNsPerMinute};
}

// Nothing had answered when the window of an hour began.
TEST(DrawnScraper, CountsAllOfAProgramThatBeganWithinTheWindow) {
  const identity::ProcFs proc_fs;
  EXPECT_EQ(DrawnScraper(proc_fs).counted(7, 60, of_age(20)), 7);
  EXPECT_EQ(DrawnScraper(proc_fs).counted(7, 60, of_age(90)), std::nullopt) << "older than the window";
}

TEST(DrawnScraper, CountsOnceWhatAProgramToldTwice) {
  const identity::ProcFs proc_fs;
  const Owner young = of_age(10);
  DrawnScraper of_young(proc_fs);
  EXPECT_EQ(of_young.counted(7, 30, young), 7);
  EXPECT_EQ(of_young.counted(12, 60, young), 5);
  const Owner old = of_age(30);
  DrawnScraper of_old(proc_fs);
  EXPECT_EQ(of_old.counted(7, 0, old), std::nullopt) << "what was there when the window began";
  EXPECT_EQ(of_old.counted(12, 60, old), 5);
}

TEST_F(SocketOwner, OfAPortOfSeveralProgramsIsNotAskedAtAll) {
  opens(99, 3, "socket:[1001]");
  opens(101, 3, "socket:[1001]");
  const identity::ProcFs proc_fs(proc_.root());
  const auto fetched = DrawnScraper(proc_fs).scraper().fetch();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::kConflict);
  EXPECT_THAT(fetched.error().text(), HasSubstr("2 processes listen"));
}

// What happened since.

ApplicationProfile contention(const std::string& rows) {
  return *formats::read_profile(as_bytes("--- contention:\ncycles/second=1000000000\n" + rows));
}

std::string after(SinceLast& since_last, ApplicationProfile profile,
                  SinceLast::Start start = SinceLast::Start::kUnknown) {
  since_last.apply(profile, start);
  return formats::types_of(Result<ApplicationProfile>(profile)).empty() ? "nothing"
                                                                        : formats::text_of(profile);
}

TEST(SinceLast, TheFirstScrapeOnlyRemembers) {
  SinceLast since_last;
  EXPECT_EQ(after(since_last, contention("80 2 @ 0x11\n")), "nothing");
  EXPECT_EQ(after(since_last, contention("100 5 @ 0x11\n9 1 @ 0x21\n")), "3 20: 0x10\n1 9: 0x20\n");
  EXPECT_EQ(after(since_last, contention("100 5 @ 0x11\n9 1 @ 0x21\n")), "0 0: 0x10\n0 0: 0x20\n");
}

TEST(SinceLast, AYoungProcessCountsWhole) {
  SinceLast since_last;
  EXPECT_EQ(after(since_last, contention("80 2 @ 0x11\n"), SinceLast::Start::kThisScrape), "2 80: 0x10\n");
  EXPECT_EQ(after(since_last, contention("90 3 @ 0x11\n")), "1 10: 0x10\n");
}

TEST(SinceLast, AnotherProcessCountsWhole) {
  SinceLast since_last;
  after(since_last, contention("80 2 @ 0x11\n"));
  EXPECT_EQ(after(since_last, contention("90 3 @ 0x11\n"), SinceLast::Start::kThisScrape), "3 90: 0x10\n");
}

TEST(SinceLast, AValueThatShrankTellsOfAReset) {
  SinceLast since_last;
  after(since_last, contention("80 2 @ 0x11\n70 7 @ 0x21\n"));
  EXPECT_EQ(after(since_last, contention("90 3 @ 0x11\n60 8 @ 0x21\n")), "3 90: 0x10\n8 60: 0x20\n");
  EXPECT_EQ(after(since_last, contention("95 4 @ 0x11\n")), "4 95: 0x10\n") << "a stack is gone";
}

// One object of a megabyte beside ten of 16 bytes: the estimate of the objects shrinks from 327,685 to 66.
TEST(SinceLast, AnEstimateOfObjectsThatShrankTellsOfNoReset) {
  const auto jemalloc = [](const std::string& allocated) {
    const std::string numbers = "  t*: 1: 16 [" + allocated + "]\n";
    return *formats::read_profile(as_bytes("heap_v2/524288\n" + numbers + "@ 0x11\n" + numbers));
  };
  SinceLast since_last;
  const auto new_allocations = [&](const std::string& allocated) {
    ApplicationProfile profile = jemalloc(allocated);
    since_last.apply(profile, SinceLast::Start::kUnknown);
    const auto values = profile.samples.values(0);
    return std::pair(values[0], values[1]);
  };
  ApplicationProfile first = jemalloc("10: 160");
  since_last.apply(first, SinceLast::Start::kUnknown);
  const auto [objects, bytes] = new_allocations("11: 1048736");
  EXPECT_EQ(objects, 0);
  EXPECT_NEAR(static_cast<double>(bytes), 1'064'452, 2'000) << "not the 6.3 MB of all the time";
  EXPECT_EQ(new_allocations("11: 1048736"), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(new_allocations("21: 1048896").first, 0) << "231 objects are no more than there were";
  EXPECT_EQ(new_allocations("5: 80").second, 2'621'480) << "bytes that shrank tell of one";
}

TEST(SinceLast, RowsOfOneStackShareWhatWasThere) {
  SinceLast since_last;
  after(since_last, contention("50 5 @ 0x11\n30 3 @ 0x11\n"));
  EXPECT_EQ(after(since_last, contention("60 6 @ 0x11\n31 4 @ 0x11\n")), "1 7: 0x10\n1 4: 0x10\n");
}

TEST(SinceLast, OtherTypesThanBeforeAreAFirstScrape) {
  SinceLast since_last;
  const auto heap = [](const std::string& totals, const std::string& row) {
    return *formats::read_profile(as_bytes("heap profile: " + totals + " @ heapprofile\n" + row));
  };
  EXPECT_EQ(after(since_last, heap("4: 400 [4: 400]", "4: 400 [4: 400] @ 0x11\n")), "4 400: 0x10\n")
      << "nothing was freed: it tells only what is in use";
  EXPECT_EQ(after(since_last, heap("3: 300 [5: 500]", "3: 300 [5: 500] @ 0x11\n")), "3 300: 0x10\n")
      << "what was allocated since the start is not new";
  EXPECT_EQ(after(since_last, heap("3: 300 [6: 600]", "3: 300 [6: 600] @ 0x11\n")), "1 100 3 300: 0x10\n");
}

// Some kilobytes as pprof, which would be gigabytes with every text written out wherever it is used.
TEST(SinceLast, LongNamesOnManyStacksAreNoBurden) {
  const auto profile = [](int64_t count) {
    ApplicationProfile result;
    result.types = {{"contentions", "count"}};
    result.texts = {"", std::string(4000, 'x')};
    result.functions = {{.name = 1}};
    result.frames.resize(1000);
    result.locations = {{.first_frame = 0, .frame_count = 1000}};
    for (int sample = 0; sample < 100; ++sample) {
      result.samples.add(std::vector<uint32_t>(static_cast<size_t>(sample) * 100), {{count}});
    }
    return result;
  };
  SinceLast since_last;
  ApplicationProfile first = profile(3);
  since_last.apply(first, SinceLast::Start::kUnknown);
  ApplicationProfile second = profile(5);
  since_last.apply(second, SinceLast::Start::kUnknown);
  for (size_t sample = 0; sample < second.samples.size(); ++sample) {
    EXPECT_THAT(second.samples.values(sample), ElementsAre(2)) << "sample " << sample;
  }
}

TEST(SinceLast, StacksWithoutAddressesAreKnownByNamesAndLines) {
  const auto profile = [](uint32_t line) {
    ApplicationProfile result;
    result.types = {{"contentions", "count"}};
    result.texts = {"", "work"};
    result.functions = {{.name = 1}};
    result.frames = {{.function = 0, .line = line}};
    result.locations = {{.first_frame = 0, .frame_count = 1}};
    result.samples.add({{0}}, {{4}});
    return result;
  };
  SinceLast since_last;
  for (const auto& [line, expected] : {std::pair(10U, 4), std::pair(10U, 0), std::pair(11U, 4)}) {
    ApplicationProfile scraped = profile(line);
    since_last.apply(
        scraped, line == 10 && expected == 4 ? SinceLast::Start::kThisScrape : SinceLast::Start::kUnknown);
    EXPECT_THAT(scraped.samples.values(0), ElementsAre(expected)) << "line " << line;
  }
}

TEST(SinceLast, RowsOfOneStackWithOtherLabelsAreCountedApartAndKeepThem) {
  // The texts are numbered again in each scrape.
  const auto profile = [](std::vector<std::string> texts, uint32_t key, uint32_t first, uint32_t second,
                          std::pair<int64_t, int64_t> counts) {
    ApplicationProfile result;
    result.types = {{"contentions", "count"}};
    result.texts = std::move(texts);
    result.locations = {{.address = 0x10}};
    result.label_sets = {{}, {{key, first}}, {{key, second}}};
    result.samples.add({{0}}, {{counts.first}}, 1);
    result.samples.add({{0}}, {{counts.second}}, 2);
    return result;
  };
  SinceLast since_last;
  ApplicationProfile before = profile({"", "request", "read", "write"}, 1, 2, 3, {100, 5});
  since_last.apply(before, SinceLast::Start::kUnknown);
  ApplicationProfile now = profile({"", "write", "read", "request"}, 3, 2, 1, {101, 9});
  since_last.apply(now, SinceLast::Start::kUnknown);
  ASSERT_EQ(now.samples.size(), 2);
  EXPECT_THAT(now.samples.values(0), ElementsAre(1));
  EXPECT_EQ(now.samples.label_set(0), 1) << "a read";
  EXPECT_THAT(now.samples.values(1), ElementsAre(4));
  EXPECT_EQ(now.samples.label_set(1), 2) << "a write";
}

TEST(SinceLast, StacksOfJavaAreKnownByNamesHoweverTheTextNumbersThem) {
  const auto java = [](const std::string& text) {
    return *formats::read_profile(
        as_bytes("--- contentionz 1 ---\nformat = java\nresolution = microseconds\n" + text));
  };
  SinceLast since_last;
  after(since_last, java("80 2 @ 0x1 0x2\n0x1 Lock.take (Lock.java:7)\n0x2 Main.run (Main.java:9)\n"));
  EXPECT_EQ(
      after(since_last, java("95 3 @ 0x8 0x1\n0x1 Main.run (Main.java:9)\n0x8 Lock.take (Lock.java:7)\n")),
      "1 15: Lock.take@Lock.java:7 Main.run@Main.java:9\n");
}

TEST(SinceLast, SnapshotsPassThrough) {
  SinceLast since_last;
  const auto heap = [](const std::string& row) {
    return *formats::read_profile(as_bytes("heap profile: 1: 100 [9: 900] @ heapprofile\n" + row));
  };
  EXPECT_EQ(after(since_last, heap("1: 100 [4: 400] @ 0x11\n")), "1 100: 0x10\n");
  EXPECT_EQ(after(since_last, heap("2: 200 [7: 700] @ 0x11\n")), "3 300 2 200: 0x10\n");
}

// Where code lies.

TEST(ProcessPlaces, AnAddressLiesInTheBinaryOfItsMapping) {
  identity::BinaryInfo binary;
  binary.identity_kind = wire::GNU_BUILD_ID;
  binary.identity = "build";
  binary.path = "/srv/server";
  binary.segments = {{1, true, 0x1000, 0x1000, 0x401000, 0x1000}};
  identity::Mappings live;
  live.add({0x7000, 0x8000, 0x1000, &binary});
  live.add({0x9000, 0xa000, 0, nullptr});
  const std::vector<formats::Mapping> told{{.start = 0xb000, .end = 0xc000, .path = "/lib/gone.so"}};
  ProcessPlaces places(live, told);
  wire::RawProfile profile;
  const auto place = [&](uint64_t address) {
    const auto found =
        places.find({.address = address, .mapping_plus_1 = address >= 0xb000 ? 1U : 0U}, profile);
    return fmt::format("{} {} {:#x}", wire::LocationKind_Name(found.kind), found.owner, found.address);
  };
  EXPECT_EQ(place(0x7010), "ELF 0 0x401010");
  EXPECT_EQ(place(0x9010), "JIT 0 0x9010") << "no file: code that was made at run time";
  EXPECT_EQ(place(0xb010), "ELF_FILE_OFFSET 1 0x10") << "unmapped meanwhile: what the profile says";
  EXPECT_EQ(place(0x10), "JIT 0 0x10");
  ASSERT_EQ(profile.binaries_size(), 2);
  EXPECT_EQ(profile.binaries(0).identity(), "build");
  EXPECT_EQ(profile.binaries(1).identity_kind(), wire::IDENTITY_UNKNOWN);
}

}  // namespace
}  // namespace plimsoll::scrape
