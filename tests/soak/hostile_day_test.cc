// A server with an address space of 2 GiB, and everything hostile at once: it lives, it says so, and it loses nothing that it has
// acknowledged.
//
// PLIMSOLL_TEST_SOAK_SECONDS     for how long (20)
// PLIMSOLL_TEST_FUZZ_SEED        other bytes
// PLIMSOLL_TEST_SERVER_LOG       a file for what the server logs
// PLIMSOLL_TEST_MAX_HEALTHZ_MS   fails where /healthz once took longer (any time)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/hex.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "bench/fleet/pests.h"
#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/fuzz/seed.h"
#include "tests/soak/health_watch.h"
#include "tests/soak/honest_uploader.h"
#include "tests/soak/hostile_bytes.h"
#include "tests/soak/raw_request.h"
#include "tests/soak/tally.h"

namespace plimsoll::soak {
namespace {

using plimsoll::testing::Finished;
using plimsoll::testing::pending_in;
using plimsoll::testing::Stored;
using plimsoll::testing::TemporaryFolder;
using plimsoll::testing::TestServer;
using ::testing::IsEmpty;

constexpr uint64_t kAddressSpaceBytes = uint64_t{2} << 30;
constexpr int64_t kPatienceMs = 100'000;  // a statement may take a minute, behind others
constexpr double kHonestProfilesPerS = 10;

int64_t setting(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

// Draws are made every ten seconds, symbols are looked for again every second.
std::string settings_of(const std::string& binaries) {
  return fmt::format(
      "[symbols]\nroots = [\"{}\"]\nretry = \"1s\"\n[binaries]\nfrom_machines = true\n"
      "[draw]\ninterval = \"10s\"\npercent = 50\n"
      "[collect]\nevents = [\"cycles\"]\nwindow = \"1s\"\n",
      binaries);
}

uint16_t port_of(const std::string& address) {
  uint16_t port = 0;
  const char* const digits = address.data() + address.rfind(':') + 1;
  std::from_chars(digits, address.data() + address.size(), port);
  return port;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

// Of /proc/PID/status, in MiB.
double mebibytes(pid_t pid, const std::string& field) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) {
      return std::strtod(line.c_str() + field.size() + 1, nullptr) / 1024;
    }
  }
  return 0;
}

// Clients in threads of their own, until stopped. Each has its own state of the generator.
class Attack {
 public:
  Attack(const TestServer& server, std::string folder) : server_(server), binaries_(std::move(folder)) {
    begin([this](Random& random) { profiles(random); });
    begin([this](Random& random) { profiles(random); });
    begin([this](Random& random) { messages(random); });
    begin([this](Random& random) { requests(random); });
    begin([this](Random& random) { requests(random); });
    begin([this](Random& random) { questions(random); });
    begin([this](Random& random) { statements(random); });
    begin([this](Random& random) { statements(random); });
    begin([this](Random& random) { binaries(random); });
    begin([this](Random& /*random*/) { sloth(); });
  }
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;
  ~Attack() { stop(); }

  void stop() {
    stops_ = true;
    ::eventfd_write(stop_fd_.get(), 1);
    threads_.clear();
  }
  const std::atomic<bool>& stops() const { return stops_; }
  Tally& tally() { return tally_; }

 private:
  void begin(std::function<void(Random&)> attack) {
    const uint64_t seed = fuzz::seed(100 + threads_.size());
    threads_.emplace_back([attack = std::move(attack), seed] {
      Random random(seed);
      attack(random);
    });
  }

  http::Client client(const std::string& address, int64_t timeout_ms = kPatienceMs) const {
    return http::Client({.base_url = address,
                         .timeout_ms = timeout_ms,
                         .max_response_bytes = size_t{1} << 30,
                         .cancel_fd = stop_fd_.get()});
  }

  void send(http::Client& client, std::string_view kind, std::string_view method, const std::string& target,
            std::string_view body = {}, std::string_view type = {}) {
    const int64_t before_ns = monotonic_now_ns();
    const auto answer = client.send(method, target, body, type);
    tally_.note_time(static_cast<double>(monotonic_now_ns() - before_ns) / 1e9,
                     fmt::format("{} {}", method, target));
    tally_.count(kind, answer ? answer->status : kNoAnswer, answer ? answer->body : "");
  }

  void profiles(Random& random) {
    HostileProfiles profiles(random);
    http::Client daemon = client(server_.fleet_address());
    while (!stops_) {
      const HostileProfile profile = profiles.next();
      send(daemon, profile.kind, "PUT", "/fleet/v1/profiles/" + http::url_encode(profile.id), profile.body);
    }
  }

  void messages(Random& random) {
    http::Client daemon = client(server_.fleet_address());
    while (!stops_) {
      const HostileMessage message = hostile_message(random);
      send(daemon, message.path, "POST", "/fleet/v1/" + message.path, message.body, "application/x-protobuf");
    }
  }

  void requests(Random& random) {
    while (!stops_) {
      const uint16_t port = port_of(random() % 2 == 0 ? server_.address() : server_.fleet_address());
      // What is damaged may be waiting for more: it is not waited for long.
      const RawAnswer answer = send_raw(port, hostile_request(random), random() % 2 == 0, 200);
      tally_.count("raw request", answer.status, answer.text);
    }
  }

  // Nobody waits for all that they have asked. libmicrohttpd leaves a head unanswered that has more parameters than it has memory for,
  // until nothing has moved for 30 s.
  static int64_t patience_ms(Random& random) {
    return static_cast<int64_t>(1 + random() % (random() % 8 == 0 ? 300 : 5000));
  }

  void questions(Random& random) {
    while (!stops_) {
      http::Client person = client(server_.address(), patience_ms(random));
      for (int i = 0; i < 20 && !stops_; ++i) {
        const HostileQuestion question = hostile_question(random);
        send(person, question.method == "GET" ? "view" : "order", question.method, question.target, {},
             question.method == "GET" ? "" : "application/json");
      }
    }
  }

  void statements(Random& random) {
    while (!stops_) {
      http::Client person = client(server_.address(), random() % 20 == 0 ? kPatienceMs : patience_ms(random));
      for (int i = 0; i < 10 && !stops_; ++i) {
        send(person, "statement", "GET", "/api/v1/sql?q=" + http::url_encode(hostile_statement(random)));
      }
    }
  }

  // Files change while they are read.
  void binaries(Random& random) {
    HostileProfiles profiles(random);
    http::Client daemon = client(server_.fleet_address());
    http::Client person = client(server_.address());
    while (!stops_) {
      const std::string path = binaries_ + "/" + std::to_string(random() % 40);
      const auto [image, build_id] = hostile_elf(random);
      std::error_code error;
      std::filesystem::remove_all(path, error);
      switch (random() % 20) {
        case 0:
          ::mkfifo(path.c_str(), 0600);
          break;
        case 1:
          std::filesystem::create_directory(path, error);
          break;
        case 2:
          std::filesystem::create_symlink(random() % 2 == 0 ? "/dev/zero" : path, path, error);
          break;
        case 3:  // a hole of a terabyte behind its head
          std::ofstream(path, std::ios::binary) << image;
          ::truncate(path.c_str(), int64_t{1} << 40);
          break;
        default:
          std::ofstream(path, std::ios::binary) << image;
      }
      const std::string named = random() % 10 == 0 ? binaries_ + "/../../../etc/passwd" : path;
      const HostileProfile profile = profiles.of_binary(named, build_id);
      send(daemon, profile.kind, "PUT", "/fleet/v1/profiles/" + profile.id, profile.body);
      send(person, "binary", "PUT", "/api/v1/binaries/", image, "application/octet-stream");
      send(person, "debuginfod", "GET", fmt::format("/buildid/{}/debuginfo", to_hex(build_id)));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  // Heads and bodies a byte at a time, and answers that nobody reads.
  void sloth() {
    const std::string top = "GET /api/v1/top?limit=100000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const uint16_t people = port_of(server_.address());
    const uint16_t daemons = port_of(server_.fleet_address());
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(10'000, 'x');
    const std::string body =
        "PUT /fleet/v1/profiles/x HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n" +
        std::string(1'000'000, 'b');
    std::array pests{bench::Pests("127.0.0.2", people, 300, head, 1),
                     bench::Pests("127.0.0.3", people, 100, top, top.size()),
                     bench::Pests("127.0.0.4", daemons, 100, head, 1),
                     bench::Pests("127.0.0.5", daemons, 50, body, 5000)};
    while (!stops_) {
      for (bench::Pests& some : pests) {
        some.act();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }

  const TestServer& server_;
  const std::string binaries_;
  Tally tally_;
  std::atomic<bool> stops_ = false;
  const UniqueFd stop_fd_{::eventfd(0, EFD_CLOEXEC)};  // readable from then on
  std::vector<std::jthread> threads_;                  // the last member: they use the others
};

// By function, of all machines that keep their word.
std::map<std::string, double> counted_in(const std::string& data_dir) {
  auto counted = plimsoll::testing::self_of(plimsoll::testing::top(
      {"--data", data_dir, "--event", kHonestEvent, "--by", "function", "--limit", "100000"}));
  counted.erase("main");  // calls them all
  return counted;
}

TEST(HostileDay, IsSurvivedInTwoGibibytes) {
  const auto seconds = std::chrono::seconds(setting("PLIMSOLL_TEST_SOAK_SECONDS", 20));
  const int64_t max_healthz_ms = setting("PLIMSOLL_TEST_MAX_HEALTHZ_MS", 0);
  const TemporaryFolder folder;
  const std::string binaries = folder / "binaries";
  std::filesystem::create_directory(binaries);
  TestServer server(folder / "data", settings_of(binaries));
  const pid_t pid = server.process().pid();
  const rlimit limit{.rlim_cur = kAddressSpaceBytes, .rlim_max = kAddressSpaceBytes};
  ASSERT_EQ(::prlimit(pid, RLIMIT_AS, &limit, nullptr), 0);
  ASSERT_TRUE(server.becomes_ready());

  HealthWatch health(server.address());
  Attack attack(server, binaries);
  HonestUploader honest(server.fleet_address(), 1, attack.tally());
  std::jthread uploads([&] { honest.run(kHonestProfilesPerS, attack.stops()); });
  const auto end = std::chrono::steady_clock::now() + seconds;
  while (std::chrono::steady_clock::now() < end && !has_ended(pid) && honest.problem().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  attack.stop();
  uploads.join();
  health.stop();

  // How long it takes is said below; after so many minutes it would never be.
  const int64_t pending = pending_in(folder / "data");
  const auto last_request = std::chrono::steady_clock::now();
  EXPECT_TRUE(
      plimsoll::testing::eventually([&] { return has_ended(pid) || pending_in(folder / "data") == 0; },
                                    std::chrono::seconds(1), std::chrono::minutes(20)))
      << "what was accepted does not become rows";
  const std::chrono::duration<double> rows_after = std::chrono::steady_clock::now() - last_request;
  ASSERT_FALSE(has_ended(pid)) << "the server has ended by itself: " << server.stop().err;
  const double peak_size_mib = mebibytes(pid, "VmPeak");
  const double peak_resident_mib = mebibytes(pid, "VmHWM");
  std::printf(
      "hostile day: %ld s in 2 GiB; /healthz %.0f ms at worst, p99 %.0f ms, of %zu; VmPeak %.0f MiB, VmHWM "
      "%.0f MiB; %ld profiles pending after it, rows of all %.0f s later; %s\n",
      static_cast<long>(seconds.count()), health.worst_ms(), health.p99_ms(), health.asked(), peak_size_mib,
      peak_resident_mib, static_cast<long>(pending), rows_after.count(), attack.tally().text().c_str());
  for (const std::string& slow : attack.tally().slowest()) {
    std::printf("slow: %s\n", slow.c_str());
  }
  const Finished stopped = server.stop();
  EXPECT_EQ(stopped.status, 0) << stopped.err;
  if (const char* const log = std::getenv("PLIMSOLL_TEST_SERVER_LOG")) {
    std::ofstream(log) << stopped.err;
  }
  EXPECT_LE(peak_size_mib, static_cast<double>(kAddressSpaceBytes >> 20U));
  EXPECT_THAT(health.failures(), IsEmpty());
  EXPECT_THAT(attack.tally().forbidden(), IsEmpty());
  EXPECT_EQ(honest.problem(), "");
  if (max_healthz_ms != 0) {
    EXPECT_LE(health.worst_ms(), static_cast<double>(max_healthz_ms));
  }

  EXPECT_FALSE(honest.acknowledged().empty());
  EXPECT_EQ(counted_in(folder / "data"), honest.acknowledged());
  const Stored stored = plimsoll::testing::stored_in(folder / "data");
  EXPECT_EQ(stored.built + stored.unbuildable, stored.accepted);
  EXPECT_THAT(stored.invisible_files, IsEmpty());
  EXPECT_THAT(stored.damage, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::soak
