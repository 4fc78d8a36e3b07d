// Programs that serve profiles of themselves (appprof/), linked and preloaded, fetched by pprof, google-pprof and plimsolld. Needs
// no privileges beyond one's own processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"
#include "tests/places.h"

namespace plimsoll::testing::appprof_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kMiB = 1 << 20;
constexpr double kPeriod = 65'536;  // of appprof_load

std::string library() {
  return built_file("libplimsoll_appprof.so");
}

struct Answer {
  int status = 0;
  std::string body;
};

// A program that serves, found by a line that it prints.
class Serving {
 public:
  Serving(const std::vector<std::string>& argv, std::string url) : process_(argv), url_(std::move(url)) {}

  Answer get(const std::string& path, const std::string& method = "GET", const std::string& body = {}) const {
    const auto response = http::Client({.base_url = url_}).send(method, path, body);
    return response ? Answer{static_cast<int>(response->status), response->body} : Answer{};
  }
  std::string url(const std::string& path) const { return url_ + path; }
  const Background& process() const { return process_; }
  void set_url(const std::string& url) { url_ = url; }

  // The word after another one on standard error.
  std::string word_after(const std::string& name) const {
    std::istringstream text(process_.err());
    for (std::string word; text >> word;) {
      if (word == name) {
        text >> word;
        return word;
      }
    }
    return {};
  }

 private:
  Background process_;
  std::string url_;
};

std::unique_ptr<Serving> start_load(const std::string& announcements) {
  auto load =
      std::make_unique<Serving>(std::vector<std::string>{"appprof_load", "127.0.0.1:0", announcements}, "");
  EXPECT_TRUE(eventually([&] { return load->process().err().find("ready") != std::string::npos; }));
  load->set_url(load->word_after("address"));
  return load;
}

// "NAME=VALUE" for env(1): a program with the library, and perhaps more, before it.
std::vector<std::string> preloaded(const std::vector<std::string>& variables,
                                   const std::vector<std::string>& argv, const std::string& more = {}) {
  std::vector<std::string> command = {"/usr/bin/env", "LD_PRELOAD=" + library() + more};
  command.insert(command.end(), variables.begin(), variables.end());
  command.insert(command.end(), argv.begin(), argv.end());
  return command;
}

// Of the estimate of `bytes` in blocks of one size: each is a sample with p = 1 - exp(-block / period), and stands for 1/p.
double standard_error(double bytes, double block) {
  const double p = 1 - std::exp(-block / kPeriod);
  return block * std::sqrt(bytes / block * (1 - p)) / p;
}

// "appprof_load.cc:41": where the program's source says "line: FUNCTION".
std::string place_of(const std::string& function,
                     const std::string& path = "tests/workloads/appprof_load.cc") {
  std::ifstream source(source_file(path));
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("line: " + function)) {
      return path + ":" + std::to_string(number);
    }
  }
  return "no line of the source is marked";
}

// One program for all tests that only ask: its profiles do not change.
class Appprof : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    g_announcements = std::make_unique<TemporaryFolder>();
    g_load = start_load(g_announcements->path());
  }
  static void TearDownTestSuite() {
    g_load.reset();
    g_announcements.reset();
  }
  static const Serving& load() { return *g_load; }
  static const std::string& announcements() { return g_announcements->path(); }

  // Through plimsolld's scraper, into one store.
  void scrape(const std::vector<std::string>& urls) {
    std::vector<std::string> import = {"plimsoll", "import", "--data", data(), "--symbol-root", built_file()};
    for (const std::string& url : urls) {
      const std::string file = folder_ / (std::to_string(scraped_++) + ".profile");
      const Finished scraped = run({"plimsolld", "--scrape", url, "--output", file});
      ASSERT_EQ(scraped.status, 0) << url << scraped.err;
      EXPECT_THAT(scraped.out, Not(HasSubstr("note:")));
      import.push_back(file);
    }
    const Finished imported = run(import);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  double sum_of(const std::string& event, const std::string& function,
                const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "--data", data(), "--event", event, "--where", "function=~" + function, "--by", "app"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    double sum = 0;
    for (const auto& [app, value] : self_of(top(arguments))) {
      sum += value;
    }
    return sum;
  }

  std::string data() const { return folder_ / "data"; }

  TemporaryFolder folder_;

 private:
  static std::unique_ptr<TemporaryFolder> g_announcements;
  static std::unique_ptr<Serving> g_load;
  int scraped_ = 0;
};
std::unique_ptr<TemporaryFolder> Appprof::g_announcements;
std::unique_ptr<Serving> Appprof::g_load;

TEST_F(Appprof, TheHeapHasItsSitesWithinTheMarginOfSampling) {
  scrape({load().url("/debug/pprof/heap"), load().url("/debug/pprof/growth")});
  for (const auto& [function, bytes, block] :
       std::vector<std::tuple<std::string, double, double>>{{"^hold_tiny_blocks", 4 * kMiB, 16},
                                                            {"^hold_small_blocks", 16 * kMiB, 1024},
                                                            {"^hold_large_blocks", 64 * kMiB, 65'536},
                                                            {"^hold_huge_block", 64 * kMiB, 64 * kMiB}}) {
    const double error = standard_error(bytes, block);
    // One in 3.5 million runs is off by more than five standard errors.
    EXPECT_NEAR(sum_of("heap-inuse-bytes", function), bytes, 5 * error + 1) << function;
    EXPECT_NEAR(sum_of("heap-inuse-objects", function), bytes / block, 5 * error / block + 1) << function;
  }
  EXPECT_EQ(sum_of("heap-inuse-bytes", "^allocate_and_free"), 0);
  EXPECT_EQ(sum_of("heap-inuse-bytes", "^hold_large_blocks", {"--where", "label:revision=42"}),
            sum_of("heap-inuse-bytes", "^hold_large_blocks"))
      << "the process's labels";
  EXPECT_EQ(sum_of("heap-inuse-bytes", "^hold_small_blocks", {"--where", "label:request=list"}),
            sum_of("heap-inuse-bytes", "^hold_small_blocks"))
      << "those of the thread that allocated";
  EXPECT_EQ(sum_of("heap-inuse-bytes", "^hold_large_blocks", {"--where", "label:request=list"}), 0);
  EXPECT_GT(sum_of("heap-growth-bytes", "^hold_huge_block"), 60 * kMiB);
}

TEST_F(Appprof, AllocationsIncludeWhatIsFreed) {
  scrape({load().url("/debug/pprof/allocs")});
  EXPECT_NEAR(sum_of("alloc-bytes", "^allocate_and_free"), 64 * kMiB, 5 * standard_error(64 * kMiB, 4096));
  EXPECT_NEAR(sum_of("alloc-objects", "^allocate_and_free"), 16'384,
              5 * standard_error(64 * kMiB, 4096) / 4096);
  EXPECT_NEAR(sum_of("alloc-bytes", "^hold_small_blocks"), 16 * kMiB, 5 * standard_error(16 * kMiB, 1024));
}

TEST_F(Appprof, LockWaitsAreThoseThatTheProgramMeasured) {
  scrape({load().url("/debug/pprof/contention")});
  const double measured_ns = std::stod(load().word_after("lock_wait_ns"));
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_mutex"), 10);
  // The program's clock starts before the call and stops after it.
  EXPECT_LE(sum_of("lock-wait-ns", "^wait_for_mutex"), measured_ns);
  EXPECT_GE(sum_of("lock-wait-ns", "^wait_for_mutex"), measured_ns / 2);
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_rwlock"), 5);
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_rwlock", {"--where", "label:request=store"}), 5);
}

TEST_F(Appprof, TheSameWaitsBelongToWhoHeldTheLock) {
  scrape({load().url("/debug/pprof/mutex")});
  EXPECT_EQ(sum_of("lock-contentions", "^release_mutex"), 10);
  EXPECT_EQ(sum_of("lock-contentions", "^release_rwlock"), 5);
  const double measured_ns = std::stod(load().word_after("lock_wait_ns"));
  EXPECT_LE(sum_of("lock-wait-ns", "^release_mutex"), measured_ns);
  EXPECT_GE(sum_of("lock-wait-ns", "^release_mutex"), measured_ns / 2);
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_mutex"), 0);
}

TEST_F(Appprof, WaitsForConditionsAreAKindOfTheirOwn) {
  scrape({load().url("/debug/pprof/block"), load().url("/debug/pprof/contention")});
  const double measured_ns = std::stod(load().word_after("signal_wait_ns"));
  EXPECT_GE(sum_of("block-waits", "^wait_for_signal"), 3);
  EXPECT_EQ(sum_of("block-waits", "^wait_for_signal", {"--where", "label:request=drain"}),
            sum_of("block-waits", "^wait_for_signal"));
  EXPECT_LE(sum_of("block-wait-ns", "^wait_for_signal"), measured_ns);
  EXPECT_GE(sum_of("block-wait-ns", "^wait_for_signal"), measured_ns / 2);
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_signal"), 0);
}

TEST_F(Appprof, LegacyTextsHaveTheSameSites) {
  scrape({load().url("/pprof/contention"), load().url("/pprof/heap")});
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_mutex"), 10);
  EXPECT_NEAR(sum_of("heap-inuse-bytes", "^hold_small_blocks"), 16 * kMiB,
              5 * standard_error(16 * kMiB, 1024));
}

TEST_F(Appprof, WallTimeHasBlockedThreadsWithTheirLabelsAndCpuHasNot) {
  scrape({load().url("/debug/pprof/wall?seconds=1"), load().url("/debug/pprof/profile?seconds=1"),
          load().url("/debug/pprof/threads")});
  const double blocked = sum_of("wall-ns", "^block_forever");
  const double burning = sum_of("wall-ns", "^burn_cpu");
  // Three threads live, one after the other is asked: some 66 times each, after pauses that vary.
  EXPECT_NEAR(blocked / burning, 1, 0.5);
  EXPECT_EQ(sum_of("wall-ns", "^block_forever",
                   {"--where", "label:request=search", "--where", "label:tenant=gold"}),
            blocked);
  EXPECT_EQ(sum_of("wall-ns", "^burn_cpu", {"--where", "label:request=search"}), 0);
  EXPECT_GT(sum_of("app-cpu-ns", "^burn_cpu"), 0);
  EXPECT_EQ(sum_of("app-cpu-ns", "^burn_cpu", {"--where", "label:request=burn"}),
            sum_of("app-cpu-ns", "^burn_cpu"));
  EXPECT_EQ(sum_of("app-cpu-ns", "^block_forever"), 0);
  EXPECT_EQ(sum_of("threads", "^block_forever"), 1);
  EXPECT_THAT(load().get("/debug/pprof/threads?debug=1").body, HasSubstr(" S appprof_load"));
}

// A daemon finds the program by its announcement, scrapes it and sends to a server, which names the sites.
TEST_F(Appprof, AServersAnswersNameTheSitesWithFileAndLine) {
  TestServer server(data(), "[symbols]\nroots = [\"" + built_file() + "\"]\n");
  ASSERT_TRUE(server.becomes_ready());
  const std::string config = folder_ / "daemon.toml";
  // Counts of a process that is younger than the interval are taken as they are.
  std::ofstream(config) << "[daemon]\nserver = \"" << server.fleet_address()
                        << "\"\n[scrape]\ninterval = \"1h\"\nannouncements = \"" << announcements()
                        << "\"\nannounced_kinds = [\"contention\", \"heap\"]\n"
                        << "announced_jobs = [\"appprof_load\"]\n";
  const Background daemon({"plimsolld", "--config", config});
  const auto rows = [&](const std::string& event, const std::string& by, const std::string& function) {
    const Finished answer = run({"plimsoll", "top", "--server", server.address(), "--event", event, "--by",
                                 by, "--where", "function=~" + function, "--limit", "100", "--json"});
    const auto table = query::from_json(answer.out);
    return answer.status == 0 && table ? rows_of(*table) : std::vector<Row>();
  };
  const auto places = [&](const std::string& event, const std::string& function) {
    std::vector<std::string> found;
    for (const Row& row : rows(event, "function,line", "^" + function)) {
      if (text(row.at("function")).starts_with(function)) {
        found.push_back(text(row.at("line")));
      }
    }
    return found;
  };
  for (const auto& [event, function] :
       {std::pair("lock-wait-ns", "wait_for_mutex"), std::pair("lock-wait-ns", "wait_for_rwlock"),
        std::pair("heap-inuse-bytes", "hold_large_blocks")}) {
    ASSERT_TRUE(eventually([&] { return !places(event, function).empty(); }, std::chrono::milliseconds(100)))
        << function << daemon.err();
    EXPECT_THAT(places(event, function), ElementsAre(EndsWith(place_of(function)))) << function;
  }
  std::map<std::string, double> by_request;
  for (const Row& row : rows("lock-contentions", "label:request", "^wait_for_rwlock")) {
    by_request[text(row.at("label:request"))] = number(row.at("self"));
  }
  EXPECT_EQ(by_request, (std::map<std::string, double>{{"store", 5}}));
}

TEST_F(Appprof, GoToolPprofShowsTheSitesOfEachEndpoint) {
  if (run({"/usr/bin/env", "go", "version"}).status != 0) {
    GTEST_SKIP() << "go is not installed";
  }
  for (const auto& [path, function] :
       std::vector<std::pair<std::string, std::string>>{{"/debug/pprof/heap", "hold_large_blocks"},
                                                        {"/debug/pprof/allocs", "allocate_and_free"},
                                                        {"/debug/pprof/growth", "hold_huge_block"},
                                                        {"/debug/pprof/contention", "wait_for_mutex"},
                                                        {"/debug/pprof/mutex", "release_rwlock"},
                                                        {"/debug/pprof/block", "wait_for_signal"},
                                                        {"/debug/pprof/profile?seconds=1", "burn_cpu"},
                                                        {"/debug/pprof/wall?seconds=1", "block_forever"},
                                                        {"/debug/pprof/threads", "block_forever"},
                                                        {"/pprof/heap", "hold_large_blocks"},
                                                        {"/pprof/contention", "wait_for_mutex"}}) {
    const Finished shown =
        run({"/usr/bin/env", "HOME=" + folder_.path(), "PPROF_TMPDIR=" + folder_.path(), "go", "tool",
             "pprof", "-symbolize=remote", "-top", "-nodecount=1000", "-nodefraction=0", load().url(path)});
    EXPECT_EQ(shown.status, 0) << path << shown.err;
    EXPECT_THAT(shown.out, HasSubstr(function)) << path << shown.err;
  }
}

TEST_F(Appprof, GooglePprofShowsTheSitesOfEachEndpoint) {
  if (::access("/usr/bin/google-pprof", X_OK) != 0) {
    GTEST_SKIP() << "google-pprof is not installed";
  }
  for (const auto& [path, function] :
       std::vector<std::pair<std::string, std::string>>{{"/pprof/heap", "hold_large_blocks"},
                                                        {"/pprof/growth", "hold_huge_block"},
                                                        {"/pprof/contention", "wait_for_mutex"},
                                                        {"/pprof/profile", "burn_cpu"}}) {
    // Without a program: names come from /pprof/symbol, and the program's path from /pprof/cmdline.
    const Finished shown = run({"/usr/bin/env", "HOME=" + folder_.path(), "PPROF_TMPDIR=" + folder_.path(),
                                "google-pprof", "--text", "--seconds=1", load().url(path)});
    EXPECT_EQ(shown.status, 0) << path << shown.err;
    EXPECT_THAT(shown.out, HasSubstr(function)) << path << shown.err;
  }
}

TEST_F(Appprof, OneProfileThatSamplesAtATimeAndSoManyRequestsAMinute) {
  Answer first;
  std::thread other([&] {
    do {  // a look below may be under way
      first = load().get("/debug/pprof/wall?seconds=2");
    } while (first.status == 429);
  });
  EXPECT_TRUE(eventually([&] {
    const Answer second = load().get("/debug/pprof/threads");
    return second.status == 429 && second.body.find("one at a time") != std::string::npos;
  }));
  other.join();
  EXPECT_EQ(first.status, 200);
  for (const char* path :
       {"/debug/pprof/profile?seconds=0", "/debug/pprof/profile?seconds=61", "/debug/pprof/wall?seconds=x",
        "/debug/pprof/heap?seconds=5", "/debug/pprof/allocs?seconds=-1"}) {
    EXPECT_EQ(load().get(path).status, 400) << path;
  }
  EXPECT_EQ(load().get("/no/such/thing").status, 404);
  EXPECT_EQ(load().get("/", "DELETE").status, 405);
  EXPECT_THAT(load().get("/").body,
              AllOf(HasSubstr("/debug/pprof/wall"), HasSubstr("label job: appprof_load")));
  EXPECT_THAT(load().get("/debug/pprof/cmdline").body, ::testing::StartsWith(program("appprof_load")));
  EXPECT_THAT(load().get("/pprof/symbol").body, HasSubstr("num_symbols: 1"));
}

TEST_F(Appprof, APreloadedProgramsLocksAndHeapAreThoseThatItMeasured) {
  const std::string announcements = folder_.path();
  const Serving heap_server(
      preloaded({"PLIMSOLL_APPPROF_LISTEN=127.0.0.1:0", "PLIMSOLL_APPPROF_ANNOUNCE=1",
                 "PLIMSOLL_APPPROF_DIR=" + announcements, "PLIMSOLL_APPPROF_LOCK_NS=1000",
                 "PLIMSOLL_APPPROF_HEAP_BYTES=65536", "PLIMSOLL_APPPROF_SAMPLES=4294967295",
                 "PLIMSOLL_APPPROF_LABELS=job=old"},
                {program("heap_server")}),
      "");
  ASSERT_TRUE(eventually([&] { return heap_server.process().err().find("port ") != std::string::npos; }))
      << heap_server.process().err();
  const std::string files = announcements + "/" + std::to_string(heap_server.process().pid()) + "-*.json";
  const std::string json = run({"/bin/sh", "-c", "cat " + files}).out;
  const size_t begin = json.find("http://");
  ASSERT_NE(begin, std::string::npos) << json;
  const std::string url = json.substr(begin, json.find('"', begin) - begin);
  EXPECT_THAT(json,
              AllOf(HasSubstr("\"allocs\""), HasSubstr("\"job\": \"old\""), HasSubstr("\"problems\": []")));
  const std::string truth = http::Client({.base_url = "http://127.0.0.1:" + heap_server.word_after("port")})
                                .send("GET", "/truth")
                                ->body;
  std::istringstream words(truth);
  std::string word;
  double ns = 0, count = 0;
  words >> word >> ns >> word >> count;
  scrape({url + "/debug/pprof/contention", url + "/debug/pprof/heap"});
  EXPECT_EQ(sum_of("lock-contentions", "^wait_for_the_lock"), count);
  EXPECT_LE(sum_of("lock-wait-ns", "^wait_for_the_lock"), ns);
  EXPECT_GE(sum_of("lock-wait-ns", "^wait_for_the_lock"), ns / 2);
  EXPECT_NEAR(sum_of("heap-inuse-bytes", "^allocate_large_blocks"), 64 * kMiB,
              5 * standard_error(64 * kMiB, 65'536));
  EXPECT_NEAR(sum_of("heap-inuse-bytes", "^allocate_small_blocks"), 16 * kMiB,
              5 * standard_error(16 * kMiB, 1024));
}

TEST_F(Appprof, WithoutTcmallocTheRestIsServed) {
  const std::string announcements = folder_.path();
  const Serving sleeper(preloaded({"PLIMSOLL_APPPROF_ANNOUNCE=1", "PLIMSOLL_APPPROF_DIR=" + announcements},
                                  {"/bin/sleep", "600"}),
                        "");
  const std::string files = announcements + "/" + std::to_string(sleeper.process().pid()) + "-*.json";
  std::string json;
  ASSERT_TRUE(eventually([&] {
    json = run({"/bin/sh", "-c", "cat " + files}).out;
    return json.find("http://") != std::string::npos && json.ends_with("}\n");
  })) << sleeper.process().err();
  const size_t begin = json.find("http://");
  const std::string url = json.substr(begin, json.find('"', begin) - begin);
  const auto get = [&](const std::string& what) {
    const auto response = http::Client({.base_url = url}).send("GET", what);
    return response ? Answer{static_cast<int>(response->status), response->body} : Answer{};
  };
  EXPECT_EQ(get("/debug/pprof/heap").status, 501);
  EXPECT_THAT(get("/debug/pprof/heap").body, HasSubstr("tcmalloc is not the allocator"));
  EXPECT_THAT(get("/debug/pprof/allocs").body, HasSubstr("tcmalloc is not the allocator"));
  EXPECT_EQ(get("/debug/pprof/contention").status, 200);
  EXPECT_EQ(get("/debug/pprof/threads").status, 200);
  EXPECT_THAT(json, HasSubstr("tcmalloc is not the allocator"));
}

// Ten days of a program that leaks, as it would have been scraped: files with their times.
TEST_F(Appprof, APlantedLeakIsFoundAndNamed) {
  Serving program({"appprof_leak", "127.0.0.1:0"}, "");
  for (int day = 0; day < 10; ++day) {
    ASSERT_TRUE(eventually([&] {
      return program.process().err().find("day " + std::to_string(day) + "\n") != std::string::npos;
    })) << program.process().err();
    program.set_url(program.word_after("address"));
    const std::string file = folder_ / (std::to_string(day) + ".pb.gz");
    std::ofstream(file, std::ios::binary) << program.get("/debug/pprof/heap").body;
    const Finished imported =
        run({"plimsoll", "import", "--data", data(), "--symbol-root", built_file(), "--job", "shop", "--time",
             "2026-11-" + std::to_string(day + 10) + "T12:00:00Z", file});
    ASSERT_EQ(imported.status, 0) << imported.err;
    ASSERT_EQ(::kill(program.process().pid(), SIGUSR1), 0);
  }
  const Finished answer = run({"plimsoll", "leaks", "--data", data(), "--json"});
  const auto table = query::from_json(answer.out);
  ASSERT_TRUE(table) << answer.err;
  const std::vector<Row> rows = rows_of(*table);
  ASSERT_FALSE(rows.empty()) << answer.out;
  EXPECT_THAT(text(rows[0].at("function")), ::testing::StartsWith("leak_records"));
  EXPECT_THAT(text(rows[0].at("line")),
              EndsWith(place_of("leak_records", "tests/workloads/appprof_leak.cc")));
  EXPECT_EQ(text(rows[0].at("verdict")), "grows");
  // 128 samples a day, of eight days.
  EXPECT_NEAR(number(rows[0].at("growth_per_day")), 8 * kMiB, 5 * standard_error(64 * kMiB, 1024) / 8);
}

// Of the heap when it ran out, imported; the program ends as it does without the library.
TEST_F(Appprof, WhereMemoryWentIsInAFileWhenItRunsOut) {
  for (const auto& [how, ending, function] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"new", "bad_alloc\n", "^hold_all_with_new"},
           {"small", "bad_alloc\n", "^hold_all_with_small_blocks"},
           {"handler", "own handler\n", "^hold_all_with_new"}}) {
    SCOPED_TRACE(how);
    const TemporaryFolder dumps;
    const Finished done = run({"appprof_oom", dumps.path(), how});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, ending);
    EXPECT_THAT(done.err, HasSubstr("out of memory: heap profile in " + dumps.path()));
    const std::string dump = run({"/bin/sh", "-c", "echo " + dumps.path() + "/*.pb.gz"}).out;
    EXPECT_EQ(run({"/bin/sh", "-c", "head -c 14 " + dumps.path() + "/*.heap"}).out, "heap profile: ");
    const std::string data = dumps / "data";
    const Finished imported = run({"plimsoll", "import", "--data", data, "--symbol-root", built_file(),
                                   dump.substr(0, dump.find('\n'))});
    ASSERT_EQ(imported.status, 0) << imported.err;
    double found = 0;
    double all = 0;
    for (const auto& [name, bytes] : self_of(top({"--data", data, "--event", "heap-inuse-bytes"}))) {
      all += bytes;
      found += std::regex_search(name, std::regex(function)) ? bytes : 0;
    }
    EXPECT_GT(all, 256 * kMiB);
    EXPECT_GT(found, 0.9 * all);
  }
}

// malloc() asks no new handler without the library, and none with it: neither ours nor one that the program sets later.
TEST_F(Appprof, MallocThatFailsAsksNoHandler) {
  for (const std::string& how : {std::string("malloc"), std::string("late-handler")}) {
    SCOPED_TRACE(how);
    const TemporaryFolder dumps;
    const Finished done = run({"appprof_oom", dumps.path(), how});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, "no memory\n");
    EXPECT_THAT(done.err, ::testing::Not(HasSubstr("out of memory: heap profile")));
  }
}

}  // namespace
}  // namespace plimsoll::testing::appprof_test
