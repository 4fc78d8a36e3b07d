// What applications tell of bursts: their answers, whatever these are, and how recordings have it.
#include "daemon/bursts/application_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/bursts/applications.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/daemon/scraped_application.h"
#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bursts {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using traces::BurstEventKind;

template <typename Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// As appprof/burst_ring.h describes it.
std::string record(uint8_t kind, uint32_t tid, const std::string& text, const std::string& peer) {
  std::string bytes;
  append_number(bytes, int64_t{150});
  append_number(bytes, uint64_t{7});
  append_number(bytes, uint64_t{4096});
  append_number(bytes, uint64_t{5});
  append_number(bytes, tid);
  append_number(bytes, kind);
  append_number(bytes, static_cast<uint8_t>(text.size()));
  append_number(bytes, static_cast<uint8_t>(peer.size()));
  append_number(bytes, uint8_t{0});
  return bytes + text + std::string(48 - text.size(), '\0') + peer + std::string(32 - peer.size(), '\0');
}

std::string answer(uint64_t next, uint64_t lost, const std::vector<std::string>& records) {
  std::string bytes = "PLIMAEV1";
  append_number(bytes, next);
  append_number(bytes, lost);
  append_number(bytes, static_cast<uint32_t>(records.size()));
  append_number(bytes, uint32_t{120});
  for (const std::string& one : records) {
    bytes += one;
  }
  return bytes;
}

Result<ApplicationEvents> parse(const std::string& bytes, uint64_t after = 0) {
  return parse_application_events(as_bytes(bytes), after);
}

TEST(ApplicationEvents, AreReadAsTheLibraryWritesThem) {
  const auto parsed =
      parse(answer(12, 3, {record(2, 71, "Store.Read", "store-7"), record(5, 72, "", "")}), 7);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(parsed->next, 12U);
  EXPECT_EQ(parsed->lost, 3U);
  ASSERT_THAT(parsed->events, SizeIs(2));
  const ApplicationEvent expected{.time_ns = 150,
                                  .request = 7,
                                  .number = 4096,
                                  .call = 5,
                                  .tid = 71,
                                  .pid = 0,
                                  .kind = BurstEventKind::kRpcOut,
                                  .text = "Store.Read",
                                  .peer = "store-7"};
  EXPECT_EQ(parsed->events[0], expected);
  EXPECT_EQ(parsed->events[1].kind, BurstEventKind::kNamedPhase);
  EXPECT_TRUE(parse(answer(12, 0, {}), UINT64_MAX)) << "the newest number is asked for so";
}

TEST(ApplicationEvents, AnswersThatAreNoneAreRefused) {
  const std::string sound = answer(1, 0, {record(1, 71, "Get", "front")});
  ASSERT_TRUE(parse(sound));
  for (size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(parse(sound.substr(0, size))) << size;
  }
  EXPECT_FALSE(parse(sound + "x"));
  EXPECT_FALSE(parse(sound, 1)) << "an event that was not asked for";
  EXPECT_FALSE(parse(answer(1, 1, {record(1, 71, "Get", "front")}))) << "more lost than there were";
  EXPECT_FALSE(parse(answer(UINT64_MAX, 0, {})));
  EXPECT_FALSE(parse(answer(9, 0, {record(0, 71, "", "")})));
  EXPECT_FALSE(parse(answer(9, 0, {record(6, 71, "", "")})));
  EXPECT_FALSE(parse(answer(10'000, 0, std::vector(8193, record(4, 71, "", "")))));
  EXPECT_TRUE(parse(answer(10'000, 0, std::vector(8192, record(4, 71, "", "")))));
  const auto with_byte = [&](size_t at, char value) {
    std::string changed = sound;
    changed[at] = value;
    return parse(changed).has_value();
  };
  constexpr size_t kRecord = 32;
  EXPECT_FALSE(with_byte(0, 'X'));
  EXPECT_FALSE(with_byte(kRecord + 37, 49)) << "bytes of the text";
  EXPECT_FALSE(with_byte(kRecord + 38, 33)) << "bytes of the peer";
  EXPECT_FALSE(with_byte(kRecord + 39, 1)) << "reserved";
}

ApplicationEvent event(int64_t time_ns, uint32_t tid, bool is_known = true) {
  return {.time_ns = time_ns,
          .request = 7,
          .number = 1,
          .call = 0,
          .tid = tid,
          .pid = 70,
          .kind = BurstEventKind::kAnnotation,
          .is_known = is_known,
          .thread = "told",
          .text = "row",
          .peer = {}};
}

// Two bursts, 100 to 200 and 300 to 400, with an event of thread 71 of process 70 in the first one, and one of another process.
traces::BurstRecording two_bursts() {
  traces::BurstRecording recording;
  recording.config_bits = 0x7F00;
  recording.threads = {{0, 0, "idle"}, {71, 70, "worker"}, {81, 80, "other"}};
  for (const int64_t on_ns : {100, 300}) {
    traces::Burst burst;
    burst.on_ns = on_ns;
    burst.off_ns = on_ns + 100;
    burst.events = {{.time_ns = on_ns + 20, .thread = 1, .kind = BurstEventKind::kPageFault},
                    {.time_ns = on_ns + 60, .thread = 2, .kind = BurstEventKind::kPageFault}};
    recording.bursts.push_back(burst);
  }
  return recording;
}

TEST(ApplicationEvents, ComeIntoTheirBurstsInTheOrderOfTime) {
  traces::BurstRecording made = two_bursts();
  ApplicationEvents told;
  told.lost = 2;
  told.events = {event(350, 72), event(150, 71), event(250, 71), event(140, 71, /*is_known=*/false)};
  add_application_events(std::move(told), made);
  ASSERT_THAT(made.bursts[0].events, SizeIs(4));
  EXPECT_EQ(made.bursts[0].events[1].time_ns, 140);
  EXPECT_EQ(made.bursts[0].events[2].time_ns, 150);
  EXPECT_EQ(made.bursts[0].events[2].thread, 1U);
  ASSERT_THAT(made.bursts[1].events, SizeIs(3));
  // A thread that the kernel's events do not have.
  EXPECT_EQ(made.threads.back(), (traces::BurstThread{72, 70, "told"}));
  EXPECT_EQ(made.bursts[1].events[1].thread, 3U);
  EXPECT_THAT(made.texts, ElementsAre("", "row"));
  EXPECT_THAT(made.details, SizeIs(3));
  EXPECT_EQ(made.lost_application_events, 3U) << "the one between the bursts, too";
  const auto decoded = traces::decode_bursts(as_bytes(traces::encode_bursts(made)));
  ASSERT_TRUE(decoded) << decoded.error().text();
  EXPECT_TRUE(*decoded == made);
  made.bursts.pop_back();
  drop_unused_details(made);
  EXPECT_THAT(made.details, SizeIs(2));
}

// The kernel's events have a thread's process only where the thread was left or did something.
TEST(ApplicationEvents, TellTheProcessOfAThread) {
  traces::BurstRecording made = two_bursts();
  made.threads[1].pid = 0;
  ApplicationEvents told;
  told.events = {event(150, 71), event(160, 72)};
  told.events[0].kind = BurstEventKind::kRpcOut;
  told.events[1].kind = BurstEventKind::kRpcEnd;
  add_application_events(std::move(told), made);
  EXPECT_EQ(made.threads[1], (traces::BurstThread{71, 70, "worker"}));
  const auto rpcs = traces::application_rpcs(made, made.bursts[0]);
  ASSERT_THAT(rpcs, SizeIs(1));
  EXPECT_TRUE(rpcs[0].is_whole) << "it ended on another thread";
}

TEST(ApplicationEvents, OfThreadsOfOthersAreRefused) {
  traces::BurstRecording made = two_bursts();
  ApplicationEvents told;
  told.events = {event(150, 81), event(150, 81, false), event(150, 99, false)};
  add_application_events(std::move(told), made);
  EXPECT_THAT(made.details, IsEmpty());
  EXPECT_THAT(made.threads, SizeIs(3));
  EXPECT_EQ(made.lost_application_events, 3U);
}

TEST(ApplicationEvents, ThreadsOfNestedNamespacesAreTranslated) {
  const identity::FakeProc proc;
  proc.process(70, {.comm = "server", .executable = "", .cgroup = "", .maps = ""});
  proc.file("70/task/70/comm", "server\n");
  proc.file("70/task/73/comm", "worker\n");
  proc.file("70/status", "Name:\tserver\nNSpid:\t70\t1\n");
  proc.file("73/status", "Name:\tworker\nNSpid:\t73\t4\n");
  proc.process(90, {.comm = "plain", .executable = "", .cgroup = "", .maps = ""});
  proc.file("90/status", "Name:\tplain\nNSpid:\t90\n");
  const identity::ProcFs proc_fs(proc.root());
  const ProcessThreads nested = threads_of_process(proc_fs, 70);
  EXPECT_TRUE(nested.is_nested);
  ApplicationEvents told;
  told.events = {event(1, 4, false), event(1, 1, false), event(1, 73, false)};
  attribute(nested, 70, told);
  ASSERT_THAT(told.events, SizeIs(2));
  EXPECT_EQ(told.events[0].tid, 73U);
  EXPECT_EQ(told.events[0].thread, "worker");
  EXPECT_TRUE(told.events[0].is_known);
  EXPECT_EQ(told.events[1].tid, 70U);
  EXPECT_EQ(told.lost, 1U);
  ApplicationEvents plain;
  plain.events = {event(1, 90, false), event(1, 91, false)};
  attribute(threads_of_process(proc_fs, 90), 90, plain);
  ASSERT_THAT(plain.events, SizeIs(2));
  EXPECT_TRUE(plain.events[0].is_known);
  EXPECT_FALSE(plain.events[1].is_known) << "it may have ended: the burst's own events say whose it was";
}

// This process, which announces itself and answers as the library does: what it was told, the newest number, one event of two, the end.
TEST(AnnouncedApplications, AreToldAndAskedForWhatIsNew) {
  const plimsoll::testing::TemporaryDirectory folder;
  const auto pid = static_cast<uint32_t>(::getpid());
  const identity::ProcFs proc_fs;
  scrape::announce_process(folder.path(), pid, proc_fs.started_ns(pid), "unix:" + folder / "socket");
  const scrape::UnixApplication application(folder / "socket", [&](int request) {
    return request == 1   ? scrape::text(answer(5, 0, {}))
           : request == 2 ? scrape::text(answer(7, 1, {record(4, pid, "row", "")}))
           : request == 3 ? scrape::text("what is no answer")
                          : scrape::text("told");
  });
  config::DaemonConfig config;
  config.scrape_announcements = folder.path();
  AnnouncedApplications applications(config, nullptr, -1, kNsPerMinute);
  applications.prepare(*traces::BurstConfig::parse("7,8"), kNsPerMinute, INT64_MAX);
  EXPECT_EQ(application.requests(), 2);
  const ApplicationEvents told = applications.collect(1000, INT64_MAX);
  EXPECT_EQ(told.lost, 1U);
  ASSERT_THAT(told.events, SizeIs(1));
  EXPECT_EQ(told.events[0].pid, pid);
  EXPECT_TRUE(told.events[0].is_known);
  EXPECT_THAT(applications.collect(1000, INT64_MAX).events, IsEmpty());
  applications.prepare(*traces::BurstConfig::parse("7,8"), kNsPerMinute, INT64_MAX);
  EXPECT_EQ(application.requests(), 4) << "told once";
  applications.release(INT64_MAX);
  EXPECT_EQ(application.requests(), 5);
}

// Its ring is another one, whose numbers begin again.
TEST(AnnouncedApplications, AreToldAgainWhereTheProcessRunsAnotherProgram) {
  const plimsoll::testing::TemporaryDirectory folder;
  const auto pid = static_cast<uint32_t>(::getpid());
  const identity::ProcFs proc_fs;
  scrape::announce_process(folder.path(), pid, proc_fs.started_ns(pid), "unix:" + folder / "socket");
  const scrape::UnixApplication application(folder / "socket", [&](int request) {
    return request == 1   ? scrape::text(answer(5, 0, {}))
           : request == 2 ? scrape::text(answer(1, 0, {}))
           : request == 4 ? scrape::text(answer(2, 0, {}))
           : request == 5 ? scrape::text(answer(3, 0, {record(4, pid, "row", "")}))
                          : scrape::text("told");
  });
  config::DaemonConfig config;
  config.scrape_announcements = folder.path();
  AnnouncedApplications applications(config, nullptr, -1, kNsPerMinute);
  const traces::BurstConfig bursts = *traces::BurstConfig::parse("7,8");
  applications.prepare(bursts, kNsPerMinute, INT64_MAX);
  EXPECT_THAT(applications.collect(1000, INT64_MAX).events, IsEmpty());
  applications.prepare(bursts, kNsPerMinute, INT64_MAX);
  EXPECT_EQ(application.requests(), 5);
  EXPECT_THAT(applications.collect(1000, INT64_MAX).events, SizeIs(1));
}

// As when the assignment is withdrawn: the last bursts have events, too, and the application goes on without bursts.
TEST(AnnouncedApplications, AreAskedAndToldTheEndWhereRecordingIsStopped) {
  const plimsoll::testing::TemporaryDirectory folder;
  const auto pid = static_cast<uint32_t>(::getpid());
  const identity::ProcFs proc_fs;
  scrape::announce_process(folder.path(), pid, proc_fs.started_ns(pid), "unix:" + folder / "socket");
  const scrape::UnixApplication application(folder / "socket", [&](int request) {
    return request == 1   ? scrape::text(answer(5, 0, {}))
           : request == 2 ? scrape::text(answer(6, 0, {record(4, pid, "row", "")}))
                          : scrape::text("told");
  });
  config::DaemonConfig config;
  config.scrape_announcements = folder.path();
  const UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  AnnouncedApplications applications(config, nullptr, stop.get(), kNsPerMinute);
  const traces::BurstConfig bursts = *traces::BurstConfig::parse("7,8");
  applications.prepare(bursts, kNsPerMinute, INT64_MAX);
  ASSERT_EQ(::eventfd_write(stop.get(), 1), 0);
  EXPECT_THAT(applications.collect(1000, INT64_MAX).events, SizeIs(1));
  applications.release(INT64_MAX);
  EXPECT_EQ(application.requests(), 4);
  AnnouncedApplications stopped(config, nullptr, stop.get(), kNsPerMinute);
  stopped.prepare(bursts, kNsPerMinute, INT64_MAX);
  EXPECT_EQ(application.requests(), 4) << "nothing new";
}

// It writes marks for nobody otherwise, for as long as the recording would have lasted.
TEST(AnnouncedApplications, AreToldThatItIsOverWhereTheirEventsCannotBeRead) {
  const plimsoll::testing::TemporaryDirectory folder;
  const auto pid = static_cast<uint32_t>(::getpid());
  const identity::ProcFs proc_fs;
  scrape::announce_process(folder.path(), pid, proc_fs.started_ns(pid), "unix:" + folder / "socket");
  const scrape::UnixApplication application(folder / "socket",
                                            [](int) { return scrape::text("told, and no events"); });
  config::DaemonConfig config;
  config.scrape_announcements = folder.path();
  AnnouncedApplications applications(config, nullptr, -1, kNsPerMinute);
  applications.prepare(*traces::BurstConfig::parse("7,8"), kNsPerMinute, INT64_MAX);
  EXPECT_EQ(application.requests(), 2);
  EXPECT_THAT(applications.collect(1000, INT64_MAX).events, IsEmpty());
  applications.release(INT64_MAX);
  EXPECT_EQ(application.requests(), 3);
}

TEST(AnnouncedApplications, AreToldAgainOfRecordingsThatLastForDays) {
  constexpr int64_t kDayNs = 24 * 60 * kNsPerMinute;
  EXPECT_EQ(told_time(100, 0), (ToldTime{.seconds = 1, .again_ns = INT64_MAX}));
  EXPECT_EQ(told_time(100, kDayNs - 1), (ToldTime{.seconds = 86'400, .again_ns = INT64_MAX}));
  EXPECT_EQ(told_time(100, 3 * kDayNs), (ToldTime{.seconds = 86'400, .again_ns = 100 + kDayNs / 2}));
}

}  // namespace
}  // namespace plimsoll::bursts
