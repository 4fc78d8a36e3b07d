#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include "base/resource_limit.h"
#include "bench/fleet/connections.h"
#include "bench/fleet/parts.h"
#include "bench/fleet/profile_maker.h"
#include "bench/fleet/server_under_test.h"
#include "bench/store/clock.h"
#include "proto/fleet.pb.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kAtOnce = 16;  // requests that keep a server fully busy
constexpr uint32_t kTimesCapacity = 10;
constexpr int kAskedAtOnce = 16;
constexpr double kRegisterPatienceS = 60;

// Daemons that have registered, over the connections that they keep, and then always have a profile to upload: one request at a time
// each, and then as long a pause as the server asks for.
class UploadStorm {
 public:
  struct Outcome {
    double elapsed_s = 0;
    uint64_t asked = 0;
    uint64_t turned_away = 0;  // with a time to come back
    std::deque<MadeProfile> acknowledged;
    uint64_t known = 0;                        // of these, what the server says that it had before
    std::map<std::string, uint64_t> failures;  // what went wrong, and how often

    double asked_each_s() const { return static_cast<double>(asked) / elapsed_s; }
    double acknowledged_each_s() const { return static_cast<double>(acknowledged.size()) / elapsed_s; }
  };

  // Takes what it uploads off the front of the profiles, until the time is over or each of them was acknowledged.
  static Result<Outcome> run(uint16_t port, uint32_t daemons, double seconds,
                             std::deque<MadeProfile>& profiles);

 private:
  UploadStorm(std::deque<MadeProfile>& profiles, uint32_t daemons)
      : profiles_(profiles), registrations_(daemons), under_way_(daemons) {}
  Status register_all();
  Status run_for(double seconds);
  // The daemon's next profile where the last one was acknowledged, else that one again.
  Status ask(uint32_t daemon);
  Status take_answer(uint32_t daemon, const Answer& answer);
  void take_failure(uint32_t daemon, const std::string& failure);

  std::deque<MadeProfile>& profiles_;
  std::vector<std::string> registrations_;   // by daemon; empty once it has registered
  std::vector<MadeProfile> under_way_;       // likewise; without an ID: none
  std::multimap<double, uint32_t> pausing_;  // daemons, by until when
  std::unique_ptr<Connections> connections_;
  Outcome outcome_;
};

Result<UploadStorm::Outcome> UploadStorm::run(uint16_t port, uint32_t daemons, double seconds,
                                              std::deque<MadeProfile>& profiles) {
  const auto files = raise_limit(RLIMIT_NOFILE, daemons + kSpareFiles, "open files");
  if (!files) {
    return propagate(files);
  }
  UploadStorm storm(profiles, daemons);
  auto connections = Connections::create(
      {.ports = {port}, .clients = daemons},
      {.answered = [&](uint32_t daemon, const Answer& answer) { return storm.take_answer(daemon, answer); },
       .failed =
           [&](uint32_t daemon, const Error& error) {
             storm.take_failure(daemon, error.message);
             return Status();
           }});
  if (!connections) {
    return propagate(connections);
  }
  storm.connections_ = std::move(*connections);
  if (auto registered = storm.register_all(); !registered) {
    return propagate(registered);
  }
  const double start_s = now_s();
  for (uint32_t daemon = 0; daemon < daemons; ++daemon) {
    // Not all in one moment: what they offer is so much a second.
    storm.pausing_.emplace(start_s + static_cast<double>(daemon) / daemons, daemon);
  }
  if (auto done = storm.run_for(seconds); !done) {
    return propagate(done);
  }
  storm.outcome_.elapsed_s = now_s() - start_s;
  return std::move(storm.outcome_);
}

Status UploadStorm::register_all() {
  constexpr uint64_t kRegisterAtOnce = 256;
  const double deadline_s = now_s() + kRegisterPatienceS;
  for (uint32_t daemon = 0; daemon < registrations_.size(); ++daemon) {
    registrations_[daemon] = simulated_registration(daemon);
    if (auto asked = connections_->ask(daemon, "POST /fleet/v1/register", registrations_[daemon]); !asked) {
      return asked;
    }
    const uint64_t max_asking = daemon + 1 < registrations_.size() ? kRegisterAtOnce : 0;
    while (connections_->asking() > max_asking) {
      if (auto waited = connections_->wait(deadline_s); !waited) {
        return waited;
      }
      if (now_s() > deadline_s) {
        return fail(ErrorCode::kUnavailable, "{} daemons have not all registered after {} s",
                    registrations_.size(), kRegisterPatienceS);
      }
    }
  }
  return {};
}

Status UploadStorm::run_for(double seconds) {
  const double end_s = now_s() + seconds;
  while (now_s() < end_s && (connections_->asking() > 0 || !pausing_.empty())) {
    // Answers are not to wait until all have asked.
    for (int i = 0; i < kAskedAtOnce && !pausing_.empty() && pausing_.begin()->first <= now_s(); ++i) {
      const uint32_t daemon = pausing_.extract(pausing_.begin()).mapped();
      if (auto asked = ask(daemon); !asked) {
        return asked;
      }
    }
    const double next_s = pausing_.empty() ? end_s : pausing_.begin()->first;
    if (auto waited = connections_->wait(std::min(next_s, end_s)); !waited) {
      return waited;
    }
  }
  return {};
}

Status UploadStorm::ask(uint32_t daemon) {
  MadeProfile& profile = under_way_[daemon];
  if (profile.id.empty()) {
    if (profiles_.empty()) {
      return {};
    }
    profile = std::move(profiles_.front());
    profiles_.pop_front();
  }
  ++outcome_.asked;
  return connections_->ask(daemon, "PUT /fleet/v1/profiles/" + profile.id, profile.encoded);
}

Status UploadStorm::take_answer(uint32_t daemon, const Answer& answer) {
  if (!registrations_[daemon].empty()) {
    registrations_[daemon].clear();
    if (answer.status != 200) {
      ++outcome_.failures[fmt::format("registering, status {}: {:.200}", answer.status, answer.body)];
    }
    return {};
  }
  if (answer.status == 200) {
    wire::UploadReply reply;
    outcome_.known += reply.ParseFromString(answer.body) && reply.already_known();
    outcome_.acknowledged.push_back(std::exchange(under_way_[daemon], {}));
    if (answer.retry_after_s == 0) {
      return ask(daemon);
    }
    pausing_.emplace(now_s() + static_cast<double>(answer.retry_after_s), daemon);
  } else if (answer.status == 429 && answer.retry_after_s > 0) {
    ++outcome_.turned_away;
    pausing_.emplace(now_s() + static_cast<double>(answer.retry_after_s), daemon);
  } else {
    take_failure(daemon, fmt::format("status {}: {:.200}", answer.status, answer.body));
  }
  return {};
}

void UploadStorm::take_failure(uint32_t daemon, const std::string& failure) {
  ++outcome_.failures[failure];
  pausing_.emplace(now_s() + 1, daemon);
}

Status check(const UploadStorm::Outcome& outcome) {
  if (outcome.failures.empty()) {
    return {};
  }
  const auto& [failure, times] = *outcome.failures.begin();
  return fail(ErrorCode::kUnavailable, "of {} uploads {} failed like this: {}", outcome.asked, times,
              failure);
}

// The same server with few daemons, with many, and with few again: what it can take changes while its store grows.
struct Outcomes {
  UploadStorm::Outcome few_before;
  UploadStorm::Outcome many;
  UploadStorm::Outcome few_after;
  uint32_t many_daemons = 0;
};

Result<Outcomes> storm(const ServerUnderTest& server, double seconds, std::deque<MadeProfile>& profiles) {
  Outcomes outcomes;
  const auto run = [&](uint32_t daemons, double run_s, UploadStorm::Outcome& outcome) -> Status {
    auto ran = UploadStorm::run(server.fleet_port(), daemons, run_s, profiles);
    if (auto fine = ran ? check(*ran) : propagate(ran); !fine) {
      return propagate(fine, "uploads by {} daemons", daemons);
    }
    outcome = std::move(*ran);
    return profiles.empty()
               ? fail(ErrorCode::kTooLarge, "the server took all profiles that were made beforehand")
               : Status();
  };
  if (auto ran = run(kAtOnce, seconds, outcomes.few_before); !ran) {
    return propagate(ran);
  }
  outcomes.many_daemons = static_cast<uint32_t>(outcomes.few_before.acknowledged_each_s() * kTimesCapacity);
  if (auto ran = run(outcomes.many_daemons, 2 * seconds, outcomes.many); !ran) {
    return propagate(ran);
  }
  const auto ran = run(kAtOnce, seconds, outcomes.few_after);
  return ran ? Result<Outcomes>(std::move(outcomes)) : propagate(ran);
}

// How many profiles of those that were acknowledged a server does not know after a crash, to which all are offered again.
Result<uint64_t> lost_by_crash(ServerUnderTest& server, std::deque<MadeProfile> acknowledged) {
  const uint64_t count = acknowledged.size();
  constexpr double kPatienceS = 300;
  const auto restarted = server.kill_and_restart();
  const auto again = restarted ? UploadStorm::run(server.fleet_port(), kAtOnce, kPatienceS, acknowledged)
                               : propagate(restarted);
  const Status fine = again ? check(*again) : propagate(again);
  return fine ? Result<uint64_t>(count - again->known) : propagate(fine, "offering the profiles again");
}

// What came of a storm over a server of its own.
struct Round {
  double before_each_s = 0;  // acknowledged
  double after_each_s = 0;
  double peak_each_s = 0;
  double of_peak_percent = 0;
  double peak_rss_mib = 0;
  double profile_kb = 0;
  uint32_t daemons = 0;
  double asked_each_s = 0;
  uint64_t turned_away = 0;
  uint64_t acknowledged = 0;
  uint64_t lost = 0;
};

Result<Round> run_round(double seconds, ProfileMaker& maker) {
  constexpr double kMaxEachS = 2000;
  // Those that may be taken, and one for each of many daemons.
  std::deque<MadeProfile> profiles =
      maker.make_many(static_cast<uint32_t>(kMaxEachS * (4 * seconds + kTimesCapacity)));
  auto server = ServerUnderTest::start("");
  auto outcomes = server ? storm(*server, seconds, profiles) : propagate(server);
  const auto peak_rss_bytes = outcomes ? server->peak_rss_bytes() : propagate(outcomes);
  if (!peak_rss_bytes) {
    return propagate(peak_rss_bytes);
  }
  Round round{
      .before_each_s = outcomes->few_before.acknowledged_each_s(),
      .after_each_s = outcomes->few_after.acknowledged_each_s(),
      .peak_rss_mib = static_cast<double>(*peak_rss_bytes) / kMebibyte,
      .profile_kb = static_cast<double>(outcomes->few_before.acknowledged.front().encoded.size()) / 1e3,
      .daemons = outcomes->many_daemons,
      .asked_each_s = outcomes->many.asked_each_s(),
      .turned_away = outcomes->many.turned_away};
  round.peak_each_s = (round.before_each_s + round.after_each_s) / 2;
  round.of_peak_percent = 100 * outcomes->many.acknowledged_each_s() / round.peak_each_s;
  std::deque<MadeProfile> acknowledged = std::move(outcomes->few_before.acknowledged);
  std::ranges::move(outcomes->many.acknowledged, std::back_inserter(acknowledged));
  std::ranges::move(outcomes->few_after.acknowledged, std::back_inserter(acknowledged));
  round.acknowledged = acknowledged.size();
  const auto lost = lost_by_crash(*server, std::move(acknowledged));
  round.lost = lost.value_or(0);
  return lost ? Result<Round>(round) : propagate(lost);
}

// The round in the middle, by what was taken in of the peak; and the worst of all in memory and losses.
void add(std::vector<Round> rounds, Report& report) {
  std::ranges::sort(rounds, {}, &Round::of_peak_percent);
  const Round& middle = rounds[rounds.size() / 2];
  report.add(
      {.name = "uploads_peak",
       .value = middle.peak_each_s,
       .unit = "profiles/s",
       .better = Better::kHigher,
       .note = fmt::format("from {} daemons, of {:.0f} kB each: {:.0f} before the storm, {:.0f} after it",
                           kAtOnce, middle.profile_kb, middle.before_each_s, middle.after_each_s)});
  report.add(
      {.name = "uploads_of_peak_at_ten_times",
       .value = middle.of_peak_percent,
       .unit = "%",
       .better = Better::kHigher,
       .goal = 90,
       .note = fmt::format("{} daemons ask {:.0f} times a second; {} times they were told to come back "
                           "later; in {} rounds from {:.1f} to {:.1f} %",
                           middle.daemons, middle.asked_each_s, middle.turned_away, rounds.size(),
                           rounds.front().of_peak_percent, rounds.back().of_peak_percent)});
  uint64_t acknowledged = 0;
  uint64_t lost = 0;
  for (const Round& round : rounds) {
    acknowledged += round.acknowledged;
    lost += round.lost;
  }
  report.add({.name = "uploads_memory",
              .value = std::ranges::max(rounds, {}, &Round::peak_rss_mib).peak_rss_mib,
              .unit = "MiB",
              .goal = 500,
              .note = "the server's, at its peak"});
  report.add({.name = "uploads_lost",
              .value = static_cast<double>(lost),
              .unit = "profiles",
              .goal = 0,
              .note = fmt::format("of {} that were acknowledged, after servers were killed", acknowledged)});
}

}  // namespace

Status measure_uploads(const Flags& flags, Report& report) {
  const size_t count = flags.quick ? 1 : 3;
  ProfileMaker maker;
  std::vector<Round> rounds;
  while (rounds.size() < count) {
    const auto round = run_round(flags.quick ? 3 : 10, maker);
    if (!round) {
      return propagate(round);
    }
    rounds.push_back(*round);
  }
  add(std::move(rounds), report);
  return {};
}

}  // namespace plimsoll::bench
