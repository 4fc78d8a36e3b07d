#include "server/health/health.h"

#include <cmath>
#include <utility>

#include "base/time.h"
#include "base/version.h"
#include "query/registry/view.h"

namespace plimsoll::server {
namespace {

std::vector<std::string> names_of_answering_views() {
  std::vector<std::string> names;
  for (const query::View& view : query::views()) {
    if (view.answer) {
      names.push_back(view.name);
    }
  }
  return names;
}

// Of a histogram.
query::ViewAnswers answers_of(const ViewTimes& times) {
  query::ViewAnswers answers{.view = times.view, .sum_ns = std::llround(times.sum_s * kNsPerSecond)};
  const auto count_over = [&times](double bound_s) {
    int64_t count = 0;
    for (size_t bucket = 0; bucket < times.counts.size(); ++bucket) {
      const double lower_s = bucket == 0 ? 0 : kAnswerBucketsS[bucket - 1];
      count += lower_s >= bound_s ? static_cast<int64_t>(times.counts[bucket]) : 0;
    }
    return count;
  };
  answers.answers = count_over(0);
  answers.over_1s = count_over(1);
  answers.over_10s = count_over(10);
  for (const double bound_s : kAnswerBucketsS) {
    if (count_over(bound_s) * 20 <= answers.answers) {
      answers.p95_max_ns = std::llround(bound_s * kNsPerSecond);
      break;
    }
  }
  return answers;
}

query::ReceivedUploads uploads_of(const scheduler::ReceivedProfiles& received) {
  return {.accepted = received.accepted,
          .duplicate = received.duplicate,
          .refused = received.refused,
          .failed = received.failed,
          .samples = received.samples,
          .lost_samples = received.lost_samples};
}

}  // namespace

query::RunningServer running_server(const ServerHealth& health) {
  query::RunningServer running{.version = health.version,
                               .started_ns = health.started_ns,
                               .work = health.work,
                               .daemons_with_problem = health.daemons.with_problem,
                               .problem = health.daemons.problem,
                               .daemons_slowed_down = health.daemons.slowed_down,
                               .profiles_queued = health.daemons.profiles_queued,
                               .spooled_bytes = health.daemons.spooled_bytes,
                               .daemon_cpus = health.daemons.cpus,
                               .daemon_cpus_limit = health.daemons.cpus_limit,
                               .cpus_of_daemon = health.overhead.cpus_of_daemon,
                               .max_overhead_share = health.overhead.max_share,
                               .can_record_bursts = health.daemons.can_record_bursts,
                               .cannot_record_bursts = health.daemons.cannot_record_bursts,
                               .bursts_not_reported = health.daemons.bursts_not_reported,
                               .why_no_bursts = health.daemons.why_no_bursts,
                               .received = uploads_of(health.received),
                               .symbolizers = health.symbolizers,
                               .store = health.measured.store,
                               .store_error = health.measured.store_error};
  for (const ViewTimes& times : health.questions) {
    running.answers.push_back(answers_of(times));
  }
  for (const ListenerHealth& listener : health.listeners) {
    (listener.name == "clients" ? running.address : running.fleet_address) = listener.address;
  }
  return running;
}

HealthCollector::HealthCollector(const std::string& data_dir, scheduler::FleetService& fleet,
                                 BackgroundWork& work, Listeners listeners, Symbolizers symbolizers)
    : fleet_(fleet),
      work_(work),
      listeners_(std::move(listeners)),
      symbolizers_(std::move(symbolizers)),
      started_ns_(wall_now_ns()),
      questions_(names_of_answering_views()),
      watch_(data_dir, work) {}

ServerHealth HealthCollector::collect() {
  return {.now_ns = wall_now_ns(),
          .version = std::string(version()),
          .started_ns = started_ns_,
          .listeners = listeners_(),
          .received = fleet_.received(),
          .daemons = fleet_.daemons(),
          .overhead = fleet_.overhead(),
          .work = work_.all(),
          .questions = questions_.all(),
          .symbolizers = symbolizers_(),
          .measured = watch_.newest(),
          .process = process_health()};
}

}  // namespace plimsoll::server
