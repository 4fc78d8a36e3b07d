#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/resource_limit.h"
#include "bench/fleet/parts.h"
#include "bench/fleet/pests.h"
#include "bench/fleet/profile_maker.h"
#include "bench/fleet/server_under_test.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "http/client.h"

namespace plimsoll::bench {
namespace {

// Everybody has an address of their own, as strangers on a network have.
constexpr const char* kSlowHeads = "127.0.0.2";
constexpr const char* kSlowReaders = "127.0.0.3";

struct Waits {
  std::vector<double> health_ms;
  std::vector<double> top_ms;
  size_t failures = 0;
};

// As people and their monitoring ask: each time on a connection of its own.
Waits ask(const std::string& address, double seconds) {
  Waits waits;
  const double end_s = now_s() + seconds;
  while (now_s() < end_s) {
    for (const bool is_health : {true, false}) {
      http::Client client({.base_url = address, .timeout_ms = 60'000});
      const double before_s = now_s();
      const auto answer = client.send("GET", is_health ? "/healthz" : "/api/v1/top");
      (is_health ? waits.health_ms : waits.top_ms).push_back((now_s() - before_s) * 1e3);
      waits.failures += answer && answer->ok() ? 0 : 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return waits;
}

// Returns when told to stop.
void upload(const ServerUnderTest& server, const std::deque<MadeProfile>& profiles, double per_s,
            const std::atomic<bool>& stops) {
  http::Client client({.base_url = fmt::format("127.0.0.1:{}", server.fleet_port())});
  double next_s = now_s();
  for (const MadeProfile& profile : profiles) {
    while (now_s() < next_s && !stops) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (stops) {
      return;
    }
    const auto sent = client.send("PUT", "/fleet/v1/profiles/" + profile.id, profile.encoded);
    next_s += per_s > 0 ? 1 / per_s : 0;
  }
}

void ask_without_end(const std::string& address, const std::atomic<bool>& stops) {
  constexpr const char* kLong =
      "/api/v1/"
      "sql?query=WITH%20RECURSIVE%20n(i)%20AS%20(SELECT%201%20UNION%20ALL%20SELECT%20i%2B1%20FROM%20n)"
      "%20SELECT%20count(*)%20FROM%20n";
  while (!stops) {
    http::Client client({.base_url = address, .timeout_ms = 5'000});
    const auto answer = client.send("GET", kLong);
    std::this_thread::sleep_for(std::chrono::milliseconds(answer && answer->status == 429 ? 500 : 1));
  }
}

void besiege(const ServerUnderTest& server, size_t heads, size_t readers, const std::atomic<bool>& stops) {
  const std::string top = "GET /api/v1/top?limit=100000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  Pests slow_heads(kSlowHeads, server.people_port(), heads,
                   "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(10'000, 'x'), 1);
  Pests slow_readers(kSlowReaders, server.people_port(), readers, top, top.size());
  while (!stops) {
    slow_heads.act();
    slow_readers.act();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

Waits ask_besieged(const ServerUnderTest& server, ProfileMaker& profiles, const Flags& flags,
                   double seconds) {
  constexpr int kStatements = 20;
  constexpr double kUploadsPerS = 1000.0 / 60;
  const std::string address = fmt::format("127.0.0.1:{}", server.people_port());
  std::atomic<bool> stops = false;
  std::vector<std::jthread> others;
  others.emplace_back([&] { besiege(server, flags.quick ? 500 : 5000, 200, stops); });
  others.emplace_back([&, made = profiles.make_many(static_cast<uint32_t>(2 * seconds * kUploadsPerS))] {
    upload(server, made, kUploadsPerS, stops);
  });
  for (int i = 0; i < kStatements; ++i) {
    others.emplace_back([&] { ask_without_end(address, stops); });
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  Waits waits = ask(address, seconds);
  stops = true;
  return waits;
}

}  // namespace

Status measure_siege(const Flags& flags, Report& report) {
  const auto files = raise_limit(RLIMIT_NOFILE, 16'384, "open files");
  auto server = files ? ServerUnderTest::start("[fleet]\nmax_connections = 4096\n") : propagate(files);
  if (!server) {
    return propagate(server);
  }
  ProfileMaker profiles;
  upload(*server, profiles.make_many(flags.quick ? 50 : 500), 0, false);
  std::this_thread::sleep_for(std::chrono::seconds(3));  // they become rows
  const std::string address = fmt::format("127.0.0.1:{}", server->people_port());
  const double seconds = flags.quick ? 5 : 30;
  const Waits at_rest = ask(address, seconds / 3);
  const Waits besieged = ask_besieged(*server, profiles, flags, seconds);
  const auto peak_rss_bytes = server->peak_rss_bytes();
  if (!peak_rss_bytes) {
    return propagate(peak_rss_bytes);
  }
  const std::string what = fmt::format(
      "{} slow heads, 200 slow readers, 20 statements without end, 1,000 uploads a minute; {} of {} requests "
      "failed",
      flags.quick ? 500 : 5000, besieged.failures, besieged.health_ms.size() + besieged.top_ms.size());
  report.add({.name = "siege_healthz_p99",
              .value = quantile(besieged.health_ms, 0.99),
              .unit = "ms",
              .peer = "at rest",
              .peer_value = quantile(at_rest.health_ms, 0.99),
              .goal = 500,
              .note = what});
  report.add({.name = "siege_top_p99",
              .value = quantile(besieged.top_ms, 0.99),
              .unit = "ms",
              .peer = "at rest",
              .peer_value = quantile(at_rest.top_ms, 0.99),
              .goal_ratio = 1.0 / 3,
              .note = what});
  report.add({.name = "siege_memory",
              .value = static_cast<double>(*peak_rss_bytes) / kMebibyte,
              .unit = "MiB",
              .goal = 2048,
              .note = "the server's, at its peak"});
  return {};
}

}  // namespace plimsoll::bench
