// Bursts of this machine, recorded by plimsolld and read by plimsoll.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/time.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tracing_files.h"
#include "traces/bursts/marks/mark.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// 128 ms of every 256.
constexpr const char* kConfig = "1,7";

// Why this machine cannot record marks at all; empty: it can, as far as can be told beforehand.
std::string why_no_recording() {
  return may_sample_machine() ? why_no_tracepoints() : "this user may not sample the machine";
}

// Kernels without CONFIG_FTRACE_SYSCALLS have no raw_syscalls.
bool lacks_marks(const Finished& recorded) {
  return recorded.out.find("not recorded: mark-call") != std::string::npos;
}

uint64_t all_lost(const nlohmann::json& burst) {
  uint64_t lost = burst["unread_bytes"].get<uint64_t>();
  for (const auto& one : burst["lost"]) {
    lost += one.get<uint64_t>();
  }
  return lost;
}

class Bursts : public ::testing::Test {
 protected:
  std::string file() const { return folder_ / "machine.bursts"; }

  const TemporaryFolder folder_;
};

TEST_F(Bursts, HaveTheMarksOfAProgram) {
  if (const std::string why = why_no_recording(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const Background program({"marked_requests"});
  const Finished recorded =
      run({"plimsolld", "bursts", "record", "--config", kConfig, "--output", file(), "--bursts", "3"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (lacks_marks(recorded)) {
    GTEST_SKIP() << recorded.out;
  }
  EXPECT_THAT(recorded.out, HasSubstr("3 bursts"));
  const Finished shown = run({"plimsoll", "bursts", "show", file(), "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto document = nlohmann::json::parse(shown.out);
  EXPECT_EQ(document["config"], kConfig);
  ASSERT_EQ(document["bursts"].size(), 3U);
  uint64_t marks = 0;
  uint64_t lost = 0;
  uint64_t switches = 0;
  uint64_t wakes = 0;
  for (const auto& burst : document["bursts"]) {
    EXPECT_EQ(burst["events"]["syscall-enter"], 0) << burst;
    const uint64_t lost_here = all_lost(burst);
    lost += lost_here;
    // A burst may begin or end between the two calls; other programs of the machine make marks too, if any.
    if (lost_here == 0) {
      EXPECT_LE(burst["torn_marks"], 2) << burst;
    }
    switches += burst["events"]["switch"].get<uint64_t>();
    wakes += burst["events"]["wake"].get<uint64_t>();
    marks += burst["marks"].get<uint64_t>();
  }
  if (marks == 0 && (lost > 0 || program.out().empty())) {
    GTEST_SKIP() << "the program did not run, or all its marks were lost: the machine is busy";
  }
  EXPECT_GT(marks, 0U);
  EXPECT_GT(switches, 0U);
  EXPECT_GT(wakes, 0U);
  EXPECT_THAT(run({"plimsoll", "bursts", "show", file()}).out,
              AllOf(HasSubstr("config 1,7"), HasSubstr("late us")));
}

TEST_F(Bursts, HaveSamplesOfRequests) {
  if (const std::string why = why_no_recording(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const Background program({"marked_requests"});
  const Finished recorded = run({"plimsolld", "bursts", "record", "--config", kConfig, "--output", file(),
                                 "--bursts", "4", "--samples", "997"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (lacks_marks(recorded) || recorded.out.find("not recorded: sample") != std::string::npos) {
    GTEST_SKIP() << recorded.out;
  }
  const Finished asked = run({"plimsoll", "bursts", "requests", file(), "--stacks", "--json"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  const auto document = nlohmann::json::parse(asked.out);
  if (document["samples"] == 0 && (document["requests"].empty() || document["lost_events"] > 0)) {
    GTEST_SKIP() << "the program did not run, or all samples were lost: the machine is busy";
  }
  EXPECT_GT(document["samples"], 0);
  EXPECT_FALSE(document["functions"].empty()) << document;
}

struct Truth {
  int64_t cpu_ns = 0;
  int64_t took_ns = 0;
};

std::map<uint64_t, Truth> truth_in(const std::string& text) {
  std::map<uint64_t, Truth> truth;
  std::istringstream lines(text);
  uint64_t request = 0;
  Truth one;
  while (lines >> request >> one.cpu_ns >> one.took_ns) {
    truth[request] = one;
  }
  return truth;
}

// Of all requests that are whole in a burst, beside what the program measured itself.
TEST_F(Bursts, KnowTimesOfRequests) {
  if (const std::string why = why_no_recording(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const Background program({"marked_requests"});
  const Finished recorded =
      run({"plimsolld", "bursts", "record", "--config", kConfig, "--output", file(), "--bursts", "8"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (lacks_marks(recorded)) {
    GTEST_SKIP() << recorded.out;
  }
  const Finished shown =
      run({"plimsoll", "bursts", "requests", file(), "--whole", "--json", "--limit", "10000"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto truth = truth_in(program.out());
  const auto document = nlohmann::json::parse(shown.out);
  if (document["lost_events"] != 0) {
    GTEST_SKIP() << "events were lost: " << document["lost_events"];
  }
  // Each takes 5 ms of a machine that has time for it, of bursts of 128 ms.
  if (document["requests"].empty()) {
    GTEST_SKIP() << "no request was whole within a burst: the machine is busy";
  }
  Truth measured;
  Truth found;
  for (const auto& request : document["requests"]) {
    const auto known = truth.find(std::stoull(request["request"].get<std::string>(), nullptr, 16));
    // Another program of the machine may make marks, and a kernel thread that this one wakes works for its request.
    if (known != truth.end() && request["threads"] == 1) {
      measured.cpu_ns += known->second.cpu_ns;
      measured.took_ns += known->second.took_ns;
      found.cpu_ns += request["running_ns"].get<int64_t>();
      found.took_ns += request["duration_ns"].get<int64_t>();
      EXPECT_EQ(request["running_ns"].get<int64_t>() + request["runnable_ns"].get<int64_t>() +
                    request["blocked_ns"].get<int64_t>(),
                request["duration_ns"].get<int64_t>())
          << request;
    }
  }
  if (measured.cpu_ns == 0) {
    GTEST_SKIP() << "each request had help of other threads, or is another program's";
  }
  RecordProperty("requests", static_cast<int>(document["requests"].size()));
  fmt::print("{} whole requests, CPU {} of {} ns, elapsed {} of {} ns\n", document["requests"].size(),
             found.cpu_ns, measured.cpu_ns, found.took_ns, measured.took_ns);
  // The program looks at its clocks within its marks.
  EXPECT_GE(found.took_ns, measured.took_ns);
  // Its CPU time may lack what interrupts and the host took. Without a switch to it, and the wake-up before, its next mark is the first that
  // tells that it runs.
  if (document["missing_switches"] == 0) {
    EXPECT_GE(10 * found.cpu_ns, 9 * measured.cpu_ns);
  }
  const Finished exported = run({"plimsoll", "bursts", "export", file(), "--chrome", folder_ / "burst.json"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  const auto chrome = nlohmann::json::parse(std::ifstream(folder_ / "burst.json"));
  EXPECT_GT(chrome["traceEvents"].size(), document["requests"].size());
}

// Recordings that are made by hand, of bursts of 256 ms.
class MadeBursts : public ::testing::Test {
 protected:
  static constexpr int64_t kBeginMs = 1'795'600'809'728;  // of a burst of "7,8"

  void SetUp() override {
    recording_.config_bits = 0x7F00;
    recording_.clock = {.is_synchronized = true, .max_error_ns = kNsPerMs, .estimated_error_ns = 0};
    recording_.threads = {{0, 0, "idle"}, {11, 10, "holder"}, {12, 10, "waiter"}, {13, 13, "disk"}};
    begin();
  }

  void begin() {
    traces::Burst burst;
    burst.planned = {kBeginMs, kBeginMs + 256};
    burst.off_ns = 256 * kNsPerMs;
    burst.wall_offset_on_ns = kBeginMs * kNsPerMs;
    burst.wall_offset_off_ns = burst.wall_offset_on_ns;
    recording_.bursts = {burst};
  }
  void add(int64_t time_ms, traces::BurstEventKind kind, uint32_t thread, uint32_t other, uint64_t first,
           uint64_t second = 0) {
    traces::BurstEvent event;
    event.time_ns = time_ms * kNsPerMs;
    event.kind = kind;
    event.thread = thread;
    event.other = other;
    event.first = first;
    event.second = second;
    recording_.bursts.front().events.push_back(event);
  }
  void mark(int64_t time_ms, uint32_t thread, traces::MarkKind kind, uint64_t value) {
    add(time_ms, traces::BurstEventKind::kMarkCall, thread, 0, traces::kMarkHead,
        traces::mark_head(kind, value));
    add(time_ms, traces::BurstEventKind::kMarkCall, thread, 0, traces::kMarkValue, value);
  }
  std::string write(const std::string& machine) {
    recording_.machine = machine;
    const std::string path = folder_ / machine;
    std::ofstream(path, std::ios::binary) << traces::encode_bursts(recording_);
    return path;
  }
  static nlohmann::json json_of(std::vector<std::string> argv) {
    argv.emplace_back("--json");
    const Finished finished = run(argv);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }

  const TemporaryFolder folder_;
  traces::BurstRecording recording_;
};

TEST_F(MadeBursts, AreSearched) {
  using Kind = traces::BurstEventKind;
  mark(10, 1, traces::MarkKind::kStart, 7);
  mark(15, 1, traces::MarkKind::kLockGot, 77);
  mark(20, 2, traces::MarkKind::kStart, 8);
  mark(30, 2, traces::MarkKind::kLockWait, 77);
  add(31, Kind::kSwitch, 2, 0, 1);
  add(32, Kind::kSwitch, 1, 0, 1);
  add(50, Kind::kWake, 3, 1, 0);
  add(51, Kind::kSwitch, 0, 1, 0);
  add(60, Kind::kWake, 1, 2, 0);
  add(61, Kind::kSwitch, 1, 2, 1);
  mark(62, 2, traces::MarkKind::kLockGot, 77);
  mark(70, 2, traces::MarkKind::kStop, 8);
  const std::string file = write("a");
  const std::string query = "lock_hold overlapping own blocked{thread = outer.thread}";
  const auto found = json_of({"plimsoll", "bursts", "search", query, file});
  ASSERT_EQ(found["found"], 1) << found;
  const auto& hold = found["answers"][0];
  EXPECT_EQ(hold["kind"], "lock_hold");
  EXPECT_EQ(hold["thread"], 11);
  EXPECT_EQ(hold["request"], "0000000000000007");
  EXPECT_EQ(hold["machine"], "a");
  EXPECT_EQ(hold["duration_ns"], 45 * kNsPerMs);
  ASSERT_EQ(hold["evidence"].size(), 1U);
  EXPECT_EQ(hold["evidence"][0]["kind"], "blocked");
  EXPECT_EQ(hold["evidence"][0]["duration_ns"], 18 * kNsPerMs);
  const Finished text = run({"plimsoll", "bursts", "search", query, file});
  EXPECT_THAT(text.out, AllOf(HasSubstr("lock_hold  45.000 ms"), HasSubstr("overlapping +17.000 ms  blocked"),
                              HasSubstr("1 found in 1 bursts")));
  EXPECT_THAT(run({"plimsoll", "bursts", "search", "rpc", file}).out, HasSubstr("give --traces FILE"));
}

TEST_F(MadeBursts, SayWhereEventsOfApplicationsWereLost) {
  mark(10, 1, traces::MarkKind::kStart, 7);
  mark(20, 1, traces::MarkKind::kStop, 7);
  recording_.lost_application_events = 3;
  constexpr int64_t kPeriodMs = 32'768;
  traces::Burst next = recording_.bursts.front();
  next.planned = {kBeginMs + kPeriodMs, kBeginMs + kPeriodMs + 256};
  next.wall_offset_on_ns += kPeriodMs * kNsPerMs;
  next.wall_offset_off_ns = next.wall_offset_on_ns;
  recording_.bursts.push_back(next);
  const std::string file = write("a");
  const auto notes_of = [&](const std::string& query) {
    return json_of({"plimsoll", "bursts", "search", query, file})["notes"].dump();
  };
  const std::string note = "3 events that applications of machine a told of were lost";
  const std::string notes = notes_of("request not with own annotation");
  ASSERT_THAT(notes, HasSubstr(note));
  EXPECT_THAT(notes.substr(notes.find(note) + note.size()), Not(HasSubstr(note)))
      << "once, not with each burst";
  EXPECT_THAT(notes_of("request not with own blocked"), Not(HasSubstr("applications")));
}

TEST_F(MadeBursts, TellInWhichFunctionsRequestsRan) {
  using Kind = traces::BurstEventKind;
  recording_.stacks = {.binaries = {{"/bin/job", ""}},
                       .frames = {{0x10, 0, traces::BurstAddressKind::kElf, ""},
                                  {0x20, 0, traces::BurstAddressKind::kElf, "parse(int)"}},
                       .nodes = {{0, 0}, {1, 1}}};
  mark(10, 1, traces::MarkKind::kStart, 7);
  add(20, Kind::kSample, 1, 0, 2);
  add(21, Kind::kSample, 1, 0, 1);
  mark(30, 1, traces::MarkKind::kStop, 7);
  mark(40, 1, traces::MarkKind::kStart, 8);
  add(50, Kind::kSample, 1, 0, 2);
  add(51, Kind::kSample, 1, 0, 2);
  mark(60, 1, traces::MarkKind::kStop, 8);
  const std::string file = write("a");
  const auto of_all = json_of({"plimsoll", "bursts", "requests", file, "--stacks"});
  EXPECT_EQ(of_all["samples"], 4);
  ASSERT_EQ(of_all["functions"].size(), 2U) << of_all;
  EXPECT_EQ(of_all["functions"][0]["function"], "job+0x10");
  EXPECT_EQ(of_all["functions"][0]["all"], 4);
  EXPECT_EQ(of_all["functions"][1]["own"], 3);
  const auto of_one = json_of({"plimsoll", "bursts", "requests", file, "--stacks", "--request", "7"});
  EXPECT_EQ(of_one["requests"].size(), 1U);
  EXPECT_EQ(of_one["samples"], 2);
  EXPECT_THAT(run({"plimsoll", "bursts", "requests", file, "--stacks"}).out,
              AllOf(HasSubstr("    75.0    75.0  parse(int)"), HasSubstr("of 4 samples, 0 without a stack")));
}

TEST_F(MadeBursts, AreSearchedWithSpans) {
  mark(10, 1, traces::MarkKind::kStart, 7);
  mark(100, 1, traces::MarkKind::kStop, 7);
  const std::string file = write("a");
  std::string table = "trace_id,span_id,parent_id,service,method,machine,start_ns,end_ns,kind,bytes\n";
  const int64_t base_ns = kBeginMs * kNsPerMs;
  const auto row = [&](int id, int parent, const char* names, int64_t begin_ms, int64_t end_ms,
                       const char* rest) {
    table += fmt::format("{:032x},{},{},{},{},{},{}\n", 7, id, parent, names, base_ns + begin_ms * kNsPerMs,
                         base_ns + end_ms * kNsPerMs, rest);
  };
  row(1, 0, "web,get,a", 10, 100, "server,");
  for (int i = 0; i < 3; ++i) {
    row(10 + i, 1, "web,Read,a", 20 + 8 * i, 26 + 8 * i, "client,2000000");
    row(20 + i, 10 + i, "store,Read,b", 21 + 8 * i, 25 + 8 * i, "server,");
  }
  std::ofstream(folder_ / "spans.csv") << table;
  const auto found =
      json_of({"plimsoll", "bursts", "search",
               "request{duration > 50ms} with >= 3 own rpc{service = store, bytes > 1MB} each within 5ms",
               file, "--traces", folder_ / "spans.csv"});
  ASSERT_EQ(found["found"], 1) << found;
  EXPECT_EQ(found["answers"][0]["evidence"].size(), 3U);
  EXPECT_THAT(found["notes"].dump(), Not(HasSubstr("no span has")));
  const auto misspelt = json_of({"plimsoll", "bursts", "search", "request not with own rpc{servce = store}",
                                 file, "--traces", folder_ / "spans.csv"});
  EXPECT_THAT(misspelt["notes"].dump(), HasSubstr("no span has the attribute servce: no test of it holds"));
}

TEST_F(MadeBursts, OfSeveralMachinesAreOnOneClock) {
  mark(10, 1, traces::MarkKind::kStart, 7);
  mark(40, 1, traces::MarkKind::kStop, 7);
  const std::string a = write("a");
  begin();
  recording_.clock.max_error_ns = 2 * kNsPerMs;
  // Truly from 12 to 38 ms.
  mark(62, 1, traces::MarkKind::kStart, 7);
  mark(88, 1, traces::MarkKind::kStop, 7);
  const std::string b = write("b");
  const auto clocks = json_of({"plimsoll", "bursts", "clocks", a, b});
  ASSERT_EQ(clocks["bursts"].size(), 1U) << clocks;
  const auto& repaired = clocks["bursts"][0]["machines"][1];
  EXPECT_EQ(repaired["result"], "repaired");
  EXPECT_EQ(repaired["reference"], "a");
  EXPECT_EQ(repaired["shift_ns"], -48 * kNsPerMs);
  EXPECT_EQ(repaired["is_off"], true);
  EXPECT_THAT(run({"plimsoll", "bursts", "clocks", a, b}).out, HasSubstr("OFF by over a tenth of a burst"));
  const auto requests = json_of({"plimsoll", "bursts", "requests", a, b});
  ASSERT_EQ(requests["requests"].size(), 2U) << requests;
  EXPECT_EQ(requests["requests"][0]["machine"], "a");
  EXPECT_EQ(requests["requests"][1]["begin"], format_time((kBeginMs + 14) * kNsPerMs));
  EXPECT_EQ(requests["notes"].size(), 1U);
  const auto layered = json_of({"plimsoll", "bursts", "requests", a, b, "--layers", "--summary"});
  ASSERT_EQ(layered["requests"].size(), 1U) << layered;
  const auto& of_both = layered["requests"][0];
  EXPECT_EQ(of_both["duration_ns"], 30 * kNsPerMs);
  EXPECT_EQ(of_both["layers"]["running"]["ns"], 56 * kNsPerMs);
  EXPECT_TRUE(of_both["layers"]["disk"]["bytes"].is_null()) << of_both;
  EXPECT_TRUE(of_both["syscalls"].is_null());
  ASSERT_EQ(of_both["machines"].size(), 2U);
  EXPECT_EQ(of_both["machines"][1]["begin"], format_time((kBeginMs + 14) * kNsPerMs));
  EXPECT_EQ(of_both["machines"][1]["layers"]["running"]["ns"], 26 * kNsPerMs);
  EXPECT_EQ(layered["summary"]["requests"], 1);
  EXPECT_EQ(layered["summary"]["layers"]["running"]["ns"]["p95"], 56 * kNsPerMs);
  EXPECT_TRUE(layered["summary"]["layers"]["disk"]["bytes"].is_null());
  EXPECT_THAT(run({"plimsoll", "bursts", "requests", a, b, "--layers"}).out,
              AllOf(HasSubstr("all 2 machines"), HasSubstr("machine b"), HasSubstr("begins at +4.000 ms"),
                    HasSubstr("not known: rpc_in, rpc_out")));
  // The part on b lies within that on a.
  const auto within =
      json_of({"plimsoll", "bursts", "search", "request{machine = b} during own request{machine = a}", a, b});
  EXPECT_EQ(within["found"], 1) << within;
  const Finished exported =
      run({"plimsoll", "bursts", "export", a, b, "--perfetto", folder_ / "burst.pftrace"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("note: "));
  std::ostringstream trace;
  trace << std::ifstream(folder_ / "burst.pftrace", std::ios::binary).rdbuf();
  EXPECT_THAT(trace.str(), HasSubstr("request 0000000000000007 on b"));
  const Finished twice = run({"plimsoll", "bursts", "clocks", a, a});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("give one recording per machine"));
}

// Of two machines, in files and at a server.
TEST_F(MadeBursts, OfAServerAreAnsweredAsThoseOfFiles) {
  mark(10, 1, traces::MarkKind::kStart, 7);
  mark(40, 1, traces::MarkKind::kStop, 7);
  const std::string a = write("a");
  begin();
  mark(62, 1, traces::MarkKind::kStart, 7);
  mark(88, 1, traces::MarkKind::kStop, 7);
  const std::string b = write("b");
  const TestServer server(folder_ / "data");
  ASSERT_TRUE(server.becomes_ready());
  const std::vector<std::string> stored{"--server", server.address()};
  const auto with = [](std::vector<std::string> argv, const std::vector<std::string>& more) {
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  };
  const Finished uploaded = run(with({"plimsoll", "bursts", "upload", a, b}, stored));
  ASSERT_EQ(uploaded.status, 0) << uploaded.err;
  EXPECT_THAT(run(with({"plimsoll", "bursts", "upload", a}, stored)).out, HasSubstr("already there"));

  const auto listed = json_of(with({"plimsoll", "bursts", "list"}, stored));
  ASSERT_EQ(listed["rows"].size(), 2U) << listed;
  EXPECT_EQ(listed["rows"][0]["begin"], format_time(kBeginMs * kNsPerMs));
  EXPECT_EQ(listed["rows"][0]["events"], 4);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"requests"},
                                                  {"clocks"},
                                                  {"search", "request{machine = b} during own request"}}) {
    std::vector<std::string> argv{"plimsoll", "bursts"};
    argv.insert(argv.end(), command.begin(), command.end());
    const auto of_files = json_of(with(argv, {a, b}));
    EXPECT_EQ(json_of(with(argv, stored)), of_files) << command.front();
  }
  // Some of them.
  EXPECT_EQ(json_of(with({"plimsoll", "bursts", "requests", "--machine", "b"}, stored)),
            json_of({"plimsoll", "bursts", "requests", b}));
  const auto before =
      json_of(with({"plimsoll", "bursts", "search", "request", "--until", "2026-01-01T00:00:00Z"}, stored));
  EXPECT_EQ(before["bursts"], 0) << before;
  EXPECT_EQ(json_of(with({"plimsoll", "bursts", "show", "--machine", "a"}, stored))["recordings"][0],
            json_of({"plimsoll", "bursts", "show", a}));
  const Finished exported =
      run(with({"plimsoll", "bursts", "export", "--perfetto", folder_ / "burst.pftrace"}, stored));
  EXPECT_EQ(exported.status, 0) << exported.err;
}

TEST_F(Bursts, SayWhatIsMissing) {
  const Finished refused = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                "--inh-caps=-all", "--bounding-set=-all", program("plimsolld"), "bursts",
                                "record", "--config", kConfig, "--output", file(), "--bursts", "1"});
  if (refused.err.contains("setpriv")) {
    GTEST_SKIP() << refused.err;
  }
  if (refused.status == 0) {
    GTEST_SKIP() << "on this machine all users may record";
  }
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AnyOf(HasSubstr("mount -t tracefs"), HasSubstr("CAP_DAC_READ_SEARCH"),
                                 HasSubstr("CAP_PERFMON")));
}

TEST_F(Bursts, RefuseWrongConfigs) {
  for (const char* config : {"7", "0,8", "21,1", "x"}) {
    const Finished refused = run({"plimsolld", "bursts", "record", "--config", config, "--output", file()});
    EXPECT_EQ(refused.status, 2) << config;
    EXPECT_THAT(refused.err, HasSubstr("--config")) << config;
  }
}

}  // namespace
}  // namespace plimsoll::testing
