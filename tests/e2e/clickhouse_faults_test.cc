// A server whose rows are in ClickHouse, while SIGKILL ends either of the two, and while the network between them drops all packets: what was
// acknowledged is in the answers once.
//
// PLIMSOLL_TEST_CLICKHOUSE_KILLS   how often to kill one of the two (6); at most 220, since each interrupts a batch of one epoch
//                                  (docs/clickhouse.md, Questions)
// PLIMSOLL_TEST_FUZZ_SEED          other moments
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/test_network.h"
#include "tests/fuzz/seed.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using store::clickhouse::Connection;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kFromNs = 1'700'000'000'000'000'000;
constexpr std::array kEvents{"cycles", "faults"};
constexpr std::array kJobs{"shop", "store", "mail"};

int kills_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_CLICKHOUSE_KILLS");
  return text == nullptr ? 6 : std::atoi(text);  // NOLINT(cert-err34-c)
}

// Hits by event and job.
using Sums = std::map<std::pair<std::string, std::string>, double>;

struct Upload {
  std::string path;
  std::string body;
  Sums hits;
};

// A profile of both events, with a function of its own. `frames` are on its stack: "a;b;".
Upload upload_of(uint64_t seed, std::mt19937_64& random, const std::string& frames = {}) {
  const std::string job = kJobs[random() % kJobs.size()];
  const uint64_t cycles = 1 + random() % 1000;
  const uint64_t faults = 1 + random() % 1000;
  const wire::RawProfile profile =
      make_profile({.seed = seed,
                    .machine = fmt::format("machine-{}", seed % 3),
                    .from_ns = kFromNs + static_cast<int64_t>(seed),
                    .events = {{.name = kEvents[0]}, {.name = kEvents[1]}},
                    .job = job,
                    .stacks = fmt::format("main;{0}work_{1} {2}\nevent={3} main;work_{1} {4}\n", frames, seed,
                                          cycles, kEvents[1], faults)});
  return {.path = "/fleet/v1/profiles/" + to_hex(profile.profile_id()),
          .body = wire::encode(profile),
          .hits = {{{kEvents[0], job}, static_cast<double>(cycles)},
                   {{kEvents[1], job}, static_cast<double>(faults)}}};
}

void add(const Sums& hits, Sums& sums) {
  for (const auto& [of, value] : hits) {
    sums[of] += value;
  }
}

// Threads that send as many profiles as they are given, each as often as it takes.
class Senders {
 public:
  Senders(const std::string& address, uint64_t seed) {
    for (uint64_t number = 1; number <= 2; ++number) {
      threads_.emplace_back([this, address, number, seed] { run(address, number, seed); });
    }
  }
  Senders(const Senders&) = delete;
  Senders& operator=(const Senders&) = delete;
  ~Senders() {
    has_given_up_ = true;
    finish();
  }

  // So many more.
  void give(int64_t profiles) {
    const std::lock_guard lock(mutex_);
    left_ += profiles;
    changed_.notify_all();
  }

  // Returns once all that was begun is acknowledged; what was not begun is not sent.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  int64_t acknowledged() const { return acknowledged_; }
  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }
  // All that was acknowledged.
  Sums sums() const {
    const std::lock_guard lock(mutex_);
    return sums_;
  }

 private:
  void run(const std::string& address, uint64_t number, uint64_t seed) {
    http::Client client({.base_url = address});
    std::mt19937_64 random(seed + number);
    uint64_t next_seed = number * 1'000'000;
    while (take()) {
      const Upload upload = upload_of(++next_seed, random);
      const std::string problem = send(client, upload);
      const std::lock_guard lock(mutex_);
      if (!problem.empty()) {
        problem_ = problem;
        is_over_ = true;
        return;
      }
      add(upload.hits, sums_);
      ++acknowledged_;
    }
  }

  bool take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_ || left_ > 0; });
    if (is_over_) {
      return false;
    }
    --left_;
    return true;
  }

  // What is wrong.
  std::string send(http::Client& client, const Upload& upload) const {
    std::string problem;
    const bool is_acknowledged = eventually([&] {
      const auto response = client.send("PUT", upload.path, upload.body);
      if (response && response->status != 200 && response->status != 503) {
        problem = fmt::format("status {}: {}", response->status, response->body);
      }
      return has_given_up_ || !problem.empty() || (response && response->status == 200);
    });
    return is_acknowledged ? problem : "a profile was never acknowledged";
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t left_ = 0;  // protected by mutex_, like the next three
  bool is_over_ = false;
  std::string problem_;
  Sums sums_;
  std::atomic<int64_t> acknowledged_ = 0;
  std::atomic<bool> has_given_up_ = false;
  std::vector<std::thread> threads_;  // last: they use all else
};

class ClickHouseFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = ClickHouseServer::why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    start_clickhouse({});
  }
  void TearDown() override {
    senders_.reset();
    server_.reset();
    clickhouse_.reset();
  }

  void start_clickhouse(ClickHousePlace place) {
    clickhouse_ = std::make_unique<ClickHouseServer>(ClickHouseEngine::kDebian, std::move(place));
    database_ = clickhouse_->new_database();
    const std::string password_file = folder_ / "password";
    const Finished written = run({"/bin/sh", "-c", "umask 077; printf '%s\\n' \"$1\" > \"$2\"", "sh",
                                  database_.password, password_file});
    ASSERT_EQ(written.status, 0) << written.err;
    config_ = fmt::format("[store]\naddress = \"clickhouse://{}@{}/{}\"\npassword_file = \"{}\"\n",
                          database_.user, database_.base_url.substr(std::string("http://").size()),
                          database_.database, password_file);
  }

  void start_server(const std::string& further_config = {}) {
    server_ = std::make_unique<TestServer>(data_dir_, config_ + further_config);
    ASSERT_TRUE(server_->becomes_ready()) << server_->process().err();
    senders_ = std::make_unique<Senders>(server_->fleet_address(), random_());
  }

  bool server_has_ended() const {
    siginfo_t info{};
    const auto pid = static_cast<id_t>(server_->process().pid());
    return ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  }

  // It may have ended by itself, with an error: where ClickHouse was killed while it started, or where the process in which the one before it
  // tried a profile (store/ingest.h) was about to end.
  void kill_server() {
    const Finished ended = server_->crash();
    if (ended.status != 128 + SIGKILL) {
      EXPECT_NE(ended.status, 0);
      EXPECT_THAT(ended.err,
                  AnyOf(HasSubstr("opening the store clickhouse://"), HasSubstr("is being written by")));
    }
  }

  // Unless it runs.
  void restart_server() {
    if (server_has_ended()) {
      kill_server();
      server_->start();
    }
  }

  bool becomes_ready_again() {
    http::Client client({.base_url = server_->address()});
    return eventually([&] {
      restart_server();
      const auto ready = client.send("GET", "/readyz");
      return ready && ready->ok();
    });
  }

  bool waits_ms(uint64_t longest_ms) {
    const int64_t end_ns = monotonic_now_ns() + static_cast<int64_t>(random_() % longest_ms) * kNsPerMs;
    return eventually([=] { return monotonic_now_ns() >= end_ns; }, std::chrono::microseconds(50));
  }

  // Until so many more profiles are acknowledged of those that are sent from now on; at once where the server has ended.
  bool acknowledges(int64_t profiles) {
    const int64_t before = senders_->acknowledged();
    senders_->give(profiles);
    return eventually(
        [&] { return senders_->acknowledged() - before >= profiles || has_problem() || server_has_ended(); },
        std::chrono::microseconds(50));
  }

  // Until a batch is being committed: one of its tables, or its mark, has just been written.
  bool commits(int64_t profiles) {
    constexpr std::array kTables{"locations", "stacks", "origins", "origin_events", "rows", "batches"};
    const std::string table = kTables[random_() % kTables.size()];
    Connection connection(database_);
    const uint64_t before = newest_batch_in(table, connection);
    senders_->give(profiles);
    return eventually(
        [&] { return newest_batch_in(table, connection) > before || has_problem() || server_has_ended(); },
        std::chrono::milliseconds(1));
  }

  // 0 where ClickHouse does not answer.
  static uint64_t newest_batch_in(const std::string& table, Connection& connection) {
    const auto answer = connection.query("SELECT max(batch) FROM " + table);
    return answer ? std::strtoull(answer->c_str(), nullptr, 10) : 0;
  }

  bool has_problem() const { return !senders_->problem().empty(); }

  // By event, once all profiles are rows.
  static void expect_sums(const std::vector<std::string>& where, const Sums& sent) {
    for (const std::string event : kEvents) {
      SCOPED_TRACE(event);
      std::map<std::string, double> expected;
      for (const auto& [of, hits] : sent) {
        if (of.first == event) {
          expected[of.second] = hits;
        }
      }
      std::vector<std::string> arguments = where;
      arguments.insert(arguments.end(), {"--by", "job", "--event", event});
      std::map<std::string, double> counted;
      eventually(
          [&] {
            counted = self_so_far(arguments);
            return counted == expected;
          },
          std::chrono::milliseconds(100));
      EXPECT_EQ(counted, expected);
    }
  }

  // In what is committed.
  void expect_each_profile_once(int64_t profiles) const {
    Connection connection(database_);
    const auto marks = store::clickhouse::read_marks(connection);
    const auto epochs = marks ? store::clickhouse::committed_among(*marks) : propagate(marks);
    ASSERT_TRUE(epochs) << epochs.error().text();
    std::string committed;
    for (const auto& [number, epoch] : *epochs) {
      committed += fmt::format("{}({})", committed.empty() ? "" : " OR ", epoch.condition());
    }
    const auto counts =
        connection.query("SELECT count(), uniqExact(profile_id) FROM origins WHERE " + committed);
    ASSERT_TRUE(counts) << counts.error().text();
    EXPECT_EQ(*counts, fmt::format("{0}\t{0}\n", profiles));
  }

  // Of the running server, and without it.
  void expect_all_once(const Sums& sent, int64_t profiles) {
    expect_sums({"--server", server_->address()}, sent);
    const Finished stopped = server_->stop();
    EXPECT_EQ(stopped.status, 0) << stopped.err;
    expect_sums({"--data", data_dir_}, sent);
    expect_each_profile_once(profiles);
  }

  TemporaryFolder folder_;
  const std::string data_dir_ = folder_ / "data";
  std::mt19937_64 random_{fuzz::seed(20'261'201)};
  store::clickhouse::ConnectionOptions database_;
  std::string config_;
  std::unique_ptr<ClickHouseServer> clickhouse_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Senders> senders_;
};

TEST_F(ClickHouseFaults, KilledAtAnyMomentTheyHaveEachProfileOnce) {
  ASSERT_NO_FATAL_FAILURE(start_server());
  const int wanted = kills_wanted();
  int of_server = 0;
  int of_clickhouse = 0;
  for (int round = 0; of_server + of_clickhouse < wanted && !has_problem() && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    restart_server();
    switch (round % 6) {
      case 1:  // while the server starts, if it was killed before
        EXPECT_TRUE(waits_ms(400));
        break;
      case 3:  // between uploads
        EXPECT_TRUE(acknowledges(1 + static_cast<int64_t>(random_() % 20)));
        break;
      case 5:  // whatever they are doing
        senders_->give(20);
        EXPECT_TRUE(waits_ms(4000));
        break;
      default:
        EXPECT_TRUE(commits(20));
    }
    // So that each kind of moment meets each of the two.
    const bool both = round % 7 == 6;
    const bool is_servers_turn = (round + round / 2) % 2 == 0;
    if (both || !is_servers_turn) {
      clickhouse_->kill();
      ++of_clickhouse;
    }
    if (both || is_servers_turn) {
      kill_server();
      ++of_server;
      if (both) {
        ASSERT_NO_FATAL_FAILURE(clickhouse_->start());
      }
      server_->start();
    } else {
      EXPECT_TRUE(acknowledges(5)) << "uploads wait for ClickHouse";
      ASSERT_NO_FATAL_FAILURE(clickhouse_->start());
    }
  }
  ASSERT_TRUE(becomes_ready_again()) << server_->process().err();
  senders_->finish();
  EXPECT_EQ(senders_->problem(), "");
  EXPECT_GE(of_server + of_clickhouse, wanted);
  expect_all_once(senders_->sums(), senders_->acknowledged());
  std::printf("clickhouse faults: %d kills of the server and %d of ClickHouse; %ld profiles, each once\n",
              of_server, of_clickhouse, static_cast<long>(senders_->acknowledged()));
}

// ClickHouse is in a network of its own. The server and the test are in another one, from which packets get there or are dropped: neither side
// is told, and no connection is reset.
class CutNetwork : public ClickHouseFaults {
 protected:
  void SetUp() override {
    if (const std::string why = ClickHouseServer::why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    if (!here_.is_entered()) {
      GTEST_SKIP() << "this user may not make network namespaces";
    }
    start_clickhouse(
        {.host = network_.address(kClickHouse), .running = [this](const std::vector<std::string>& argv) {
           return network_.running(kClickHouse, argv);
         }});
  }

  bool cut() const { return network_.cut(kClickHouse); }
  bool restore() const { return network_.restore(kClickHouse); }

  // Without its rows the server is not ready, and says so.
  bool becomes_unready() const {
    http::Client client({.base_url = server_->address()});
    return eventually([&] {
      const auto ready = client.send("GET", "/readyz");
      return ready && ready->status == 503 && ready->body.find("rows") != std::string::npos;
    });
  }

  // Several at once: each gets an answer, which is an error, from the server itself.
  void expect_questions_fail() const {
    std::vector<std::thread> threads;
    for (int question = 0; question < 4; ++question) {
      threads.emplace_back([this] {
        http::Client client({.base_url = server_->address()});
        const auto answer = client.send("GET", "/api/v1/top?by=job&event=cycles");
        EXPECT_TRUE(answer) << answer.error().text();
        EXPECT_THAT(answer ? answer->status : 0, AnyOf(413U, 503U));
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

 private:
  static constexpr int kClickHouse = 1;

  TestNetwork network_{1};
  NetworkScope here_{network_, 0};
};

TEST_F(CutNetwork, UploadsAreTakenAndEachProfileCountsOnceAfterwards) {
  ASSERT_NO_FATAL_FAILURE(start_server("[query]\nmax_time = \"2s\"\n"));
  constexpr int kCuts = 4;
  for (int round = 0; round < kCuts && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    EXPECT_TRUE(commits(20));
    ASSERT_TRUE(cut());
    EXPECT_TRUE(acknowledges(20)) << "uploads wait for ClickHouse";
    if (round == 0) {
      // For as long as requests last.
      expect_questions_fail();
      EXPECT_TRUE(becomes_unready()) << "it is ready without its rows";
    } else {
      // What was sent comes late.
      EXPECT_TRUE(waits_ms(3000));
    }
    ASSERT_TRUE(restore());
    EXPECT_FALSE(server_has_ended());
    EXPECT_EQ(senders_->problem(), "");
  }
  EXPECT_TRUE(server_->becomes_ready());
  senders_->finish();
  expect_all_once(senders_->sums(), senders_->acknowledged());
  std::printf("clickhouse faults: the network cut %d times in inserts; %ld profiles, each once\n", kCuts,
              static_cast<long>(senders_->acknowledged()));
}

TEST_F(CutNetwork, AFullArchiveRefusesUploadsUntilTheNetworkIsBack) {
  ASSERT_NO_FATAL_FAILURE(start_server("[retention]\nraw_max_bytes = \"2MiB\"\n"));
  ASSERT_TRUE(cut());
  http::Client client({.base_url = server_->fleet_address()});
  Sums sent;
  int64_t profiles = 0;
  bool is_full = false;
  Upload last;
  for (uint64_t seed = 1; seed <= 200 && !is_full; ++seed) {
    // Random, since profiles are compressed.
    std::string frames;
    while (frames.size() < 40'000) {
      frames += fmt::format("{}{:016x}", frames.size() % 2000 < 16 ? ";f" : "", random_());
    }
    last = upload_of(seed, random_, frames.substr(1) + ";");
    const auto answer = client.send("PUT", last.path, last.body);
    ASSERT_TRUE(answer) << answer.error().text();
    is_full = answer->status == 503;
    if (is_full) {
      EXPECT_THAT(answer->body, HasSubstr("no rows are built from them"));
    } else {
      ASSERT_EQ(answer->status, 200U) << answer->body;
      add(last.hits, sent);
      ++profiles;
    }
  }
  ASSERT_TRUE(is_full);
  ASSERT_TRUE(restore());
  EXPECT_TRUE(eventually([&] {
    const auto answer = client.send("PUT", last.path, last.body);
    return answer && answer->status == 200;
  })) << server_->process().err();
  add(last.hits, sent);
  EXPECT_TRUE(server_->becomes_ready());
  expect_all_once(sent, profiles + 1);
}

}  // namespace
}  // namespace plimsoll::testing
