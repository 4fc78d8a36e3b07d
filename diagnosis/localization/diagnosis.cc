#include "diagnosis/localization/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "base/sort_stably.h"
#include "base/stop_scope.h"
#include "diagnosis/localization/exceedances.h"
#include "diagnosis/localization/feature_changes.h"
#include "diagnosis/localization/gap_coverage.h"
#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

// What counts as noise where the reference shows none: a millisecond each of two features, and four standard deviations.
constexpr double kMinNoiseMs = 2;
constexpr double kMinNoiseZ = 4;
constexpr double kNoiseShare = 0.75;
// Of its excess: windows without a fault reached five times what three in four parts of the reference have (docs/diagnosis.md).
constexpr double kNoiseSpread = 3;
// The highest score that gap coverage gives.
constexpr double kMaxCoverage = 1.15;
// Without parts of the reference to compare nothing is claimed.
constexpr double kUnjudged = 0.4;
constexpr double kPairConfidence = 0.99;
// Fewer requests show no excess, whatever it is.
constexpr size_t kMinOtherRequests = 60;
// A difference of medians shows from so many standard errors on (feature_changes.h).
constexpr double kShownZ = 4;

double confidence_over(double noise, double found) {
  return found <= noise ? 0 : 1 - noise / found;
}

class Diagnostician {
 public:
  Diagnostician(const Requests& requests, const Sides& sides, const DiagnosisOptions& options)
      : names_(requests.spans.names()),
        sides_(sides),
        options_(options),
        observations_(requests.observations),
        structures_(requests.structures) {}

  Diagnosis run() {
    made_.window = static_cast<size_t>(std::ranges::count(sides_, Side::kWindow));
    made_.reference = static_cast<size_t>(std::ranges::count(sides_, Side::kReference));
    pairs_ = slow_replicas(observations_, sides_);
    made_.slow_pairs = pairs_.size();
    if (made_.reference > 0) {
      compare_with_reference();
    } else {
      made_.notes.emplace_back("no reference: replicas are compared with each other only");
    }
    const std::vector<ReplicaPairs> replicas = pairs_by_replica();
    const size_t services = made_.findings.size();
    add_replicas(replicas);
    // Each is a pass over all observations.
    for (size_t i = 0; i < services && check_stop(); ++i) {
      give_to_replicas(replicas, services, made_.findings[i]);
    }
    if (options_.service != 0) {
      std::erase_if(made_.findings,
                    [this](const Finding& finding) { return finding.service != options_.service; });
    }
    // What is left out is left out of those that are not claimed.
    sort_stably(made_.findings,
                [](const Finding& finding) { return std::pair(!finding.is_claimed(), -finding.score); });
    made_.findings.resize(std::min(made_.findings.size(), options_.max_findings));
    sort_stably(made_.findings, [](const Finding& finding) { return -finding.score; });
    return std::move(made_);
  }

 private:
  void compare_with_reference() {
    changes_ = feature_changes(observations_, sides_);
    made_.excess_ms = total_excess_ms(changes_);
    coverage_ = gap_coverage(observations_, changes_);
    const auto votes = structures_.votes(sides_);
    measure_noise();
    highest_z_ = votes.empty() ? 0 : votes.front().z;
    double all_votes = 0;
    for (const auto& of : votes) {
      all_votes += of.z;
    }
    std::map<uint32_t, Finding> findings;
    for (const ServiceScore& of : coverage_) {
      findings[of.service] = finding_of(of, coverage_.front().score);
    }
    for (const auto& of : votes) {
      add_votes(of, of.z / all_votes, of.z / votes.front().z, findings[of.service]);
    }
    for (auto& [service, finding] : findings) {
      finding.service = service;
      made_.findings.push_back(std::move(finding));
    }
  }

  // How much parts of the reference differ from its rest: what a window without any fault shows.
  void measure_noise() {
    const auto blocks = reference_blocks(sides_, options_.max_blocks);
    is_judged_ = blocks.size() >= 2;
    if (!is_judged_) {
      made_.notes.push_back(fmt::format(
          "the reference has {} requests: too few to judge how much it changes by itself", made_.reference));
    }
    std::vector<double> excess_ms;
    for (const Sides& block : blocks) {
      if (!check_stop()) {
        break;
      }
      excess_ms.push_back(total_excess_ms(feature_changes(observations_, block)));
      const auto votes = structures_.votes(block);
      noise_z_ = std::max(noise_z_, votes.empty() ? 0 : votes.front().z);
    }
    // Not the largest: a reference may have had a fault of its own. But most parts of a few requests show nothing, and some of them much.
    const double share = made_.window < kMinBlock ? 1 : kNoiseShare;
    std::ranges::sort(excess_ms);
    made_.usual_excess_ms = statistics::quantile_of_sorted(excess_ms, share);
    noise_ms_ = std::max(kMinNoiseMs, made_.usual_excess_ms);
  }

  Finding finding_of(const ServiceScore& of, double highest) const {
    Finding finding{.service = of.service, .evidence = {}};
    const double certainty = confidence_over(kNoiseSpread * noise_ms_, made_.excess_ms);
    finding.score = of.score / kMaxCoverage * latency_weight();
    finding.confidence = (is_judged_ ? certainty : std::min(kUnjudged, certainty)) * of.score / highest;
    finding.kind = kind_of(of);
    const size_t main = main_feature(of.service, finding.kind);
    const Feature& feature = observations_.features[main];
    finding.operation = feature.operation;
    set_replica(main, finding);
    finding.evidence = fmt::format(
        "explains {:.0f} of {:.0f} ms of excess per call ({:.0f} itself, {:.0f} in calls to it, {:.0f} in "
        "its calls); {} of {} kinds of calls "
        "to it and {} of {} of its own wait longer; {}",
        of.explained_ms(), made_.excess_ms, of.self_ms, of.incoming_ms, of.outgoing_ms, of.incoming_moved,
        of.incoming, of.outgoing_moved, of.outgoing, feature_text(main));
    return finding;
  }

  // How much the times say, against what the calls say. Times count twice: calls that are slow time out, and are made again.
  double latency_weight() const { return times_of_noise() / (times_of_noise() + calls_of_noise() + 1); }
  double calls_weight() const { return calls_of_noise() / (times_of_noise() + calls_of_noise() + 1); }
  double times_of_noise() const { return 2 * made_.excess_ms / noise_ms_; }
  double calls_of_noise() const { return highest_z_ / std::max(kMinNoiseZ, noise_z_); }

  static Finding::Kind kind_of(const ServiceScore& of) {
    constexpr double kMainShare = 0.3;
    if (of.self_ms >= kMainShare * of.explained_ms()) {
      return Finding::Kind::kSlowItself;
    }
    return of.incoming_ms >= of.outgoing_ms || of.incoming_moved > 0 ? Finding::Kind::kSlowNetwork
                                                                     : Finding::Kind::kSlowCaller;
  }

  // The one of the service with the largest excess, among those that are of its kind where one is.
  size_t main_feature(uint32_t service, Finding::Kind kind) const {
    size_t main = 0;
    auto best = std::tuple(false, -1.0);
    for (size_t i = 0; i < changes_.size(); ++i) {
      const Feature& feature = observations_.features[i];
      if (!feature.touches(service)) {
        continue;
      }
      const bool is_self = feature.kind == Feature::Kind::kSelf;
      const bool is_of_kind = kind == Finding::Kind::kSlowItself    ? is_self
                              : kind == Finding::Kind::kSlowNetwork ? !is_self && feature.callee == service
                                                                    : !is_self && feature.service == service;
      const auto value = std::tuple(is_of_kind && changes_[i].has_moved(), changes_[i].excess_ms);
      if (value > best) {
        best = value;
        main = i;
      }
    }
    return main;
  }

  std::string feature_text(size_t i) const {
    const Feature& feature = observations_.features[i];
    const FeatureChange& change = changes_[i];
    const auto operation = names_.operations.name(feature.operation);
    const std::string what = feature.kind == Feature::Kind::kSelf
                                 ? fmt::format("{}: {}", names_.services.name(feature.service), operation)
                                 : fmt::format("{} to {}: {}", names_.services.name(feature.service),
                                               names_.services.name(feature.callee), operation);
    return fmt::format("{} median {:.1f} ms, before {:.1f} ms ({} and {} requests)", what, change.current_ms,
                       change.usual_ms, change.window_requests, change.reference_requests);
  }

  // The only replica of the service that was called in the window. Slow ones among several have findings of their own.
  void set_replica(size_t feature, Finding& finding) const {
    std::optional<uint32_t> only;
    bool is_only = true;
    const bool is_callee = observations_.features[feature].service != finding.service;
    for (const Observation& call : observations_.by_feature[feature]) {
      const uint32_t replica = is_callee ? call.callee_replica : call.replica;
      if (sides_[call.trace] == Side::kWindow && replica != 0) {
        is_only = is_only && only.value_or(replica) == replica;
        only = replica;
      }
    }
    if (only && is_only) {
      finding.replica = *only;
      finding.machine = observations_.machine_of(finding.service, *only);
    }
  }

  void add_votes(const CallStructures::ServiceVotes& of, double share, double relative, Finding& finding) {
    const double noise_z = std::max(kMinNoiseZ, noise_z_);
    const double score = share * calls_weight();
    const double certainty = confidence_over(noise_z, of.z) * relative;
    const double confidence = is_judged_ ? certainty : std::min(kUnjudged, certainty);
    const std::string evidence = fmt::format(
        "{} of {} requests make other calls, {:.2f} % of the reference do (z = {:.1f}, at most {:.1f} "
        "between its parts)",
        of.votes, of.requests, 100 * of.usual_share, of.z, noise_z_);
    if (score > finding.score) {
      finding.kind = Finding::Kind::kOtherPath;
      finding.operation = of.operation;
      finding.evidence = finding.evidence.empty() ? evidence : evidence + "; " + finding.evidence;
    } else {
      finding.evidence += (finding.evidence.empty() ? "" : "; ") + evidence;
    }
    finding.score += score;
    finding.confidence = std::max(finding.confidence, confidence);
  }

  // What one replica of a service is slow in when it runs, or is asked for, one operation.
  struct ReplicaPairs {
    uint32_t service = 0;
    const SlowReplica* main = nullptr;  // that explains most
    double weight = 0;                  // of all
  };

  uint32_t service_of(const SlowReplica& pair) const {
    const Feature& feature = observations_.features[pair.feature];
    return pair.is_callee ? feature.callee : feature.service;
  }

  std::vector<ReplicaPairs> pairs_by_replica() const {
    std::vector<ReplicaPairs> replicas;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> places;
    for (const SlowReplica& pair : pairs_) {
      const uint32_t service = service_of(pair);
      const uint32_t operation = observations_.features[pair.feature].operation;
      const auto [place, is_new] = places.try_emplace({service, operation, pair.replica}, replicas.size());
      if (is_new) {
        replicas.push_back({.service = service, .main = &pair});
      }
      ReplicaPairs& of = replicas[place->second];
      of.weight += weight_of(pair);
      of.main = weight_of(pair) > weight_of(*of.main) ? &pair : of.main;
    }
    return replicas;
  }

  // A finding for each, in the same order.
  void add_replicas(const std::vector<ReplicaPairs>& replicas) {
    double all = 0;
    for (const ReplicaPairs& of : replicas) {
      all += of.weight;
    }
    for (const ReplicaPairs& of : replicas) {
      const SlowReplica& pair = *of.main;
      const Feature& feature = observations_.features[pair.feature];
      made_.findings.push_back(
          {.service = of.service,
           .operation = feature.operation,
           .replica = pair.replica,
           .machine = observations_.machine_of(of.service, pair.replica),
           .kind = feature.kind == Feature::Kind::kSelf ? Finding::Kind::kSlowItself
                   : pair.is_callee                     ? Finding::Kind::kSlowNetwork
                                                        : Finding::Kind::kSlowCaller,
           .score = all > 0 ? of.weight / all : 0,
           .confidence = kPairConfidence,
           .evidence = fmt::format(
               "{} of {} requests' calls on this replica are slow, {:.2f} % on the others, by "
               "{:.1f} ms; {:.0f} % of its calls take longer "
               "than others (p = {:.1e})",
               pair.exceeding, pair.calls, 100 * pair.usual_share, pair.excess_ms, 100 * pair.auc, pair.p)});
    }
  }

  // A service whose excess goes with the requests on its slow replicas is not slow itself: the share that goes is theirs, and the first of
  // them stands where the service did. `first`: the finding of the first of the replicas.
  void give_to_replicas(const std::vector<ReplicaPairs>& replicas, size_t first, Finding& finding) {
    size_t heaviest = replicas.size();
    for (size_t i = 0; i < replicas.size(); ++i) {
      if (replicas[i].service == finding.service &&
          (heaviest == replicas.size() || replicas[i].weight > replicas[heaviest].weight)) {
        heaviest = i;
      }
    }
    const double all_ms = explained_ms(coverage_, finding.service);
    if (heaviest == replicas.size() || all_ms == 0 || finding.kind == Finding::Kind::kOtherPath) {
      return;
    }
    const auto left_ms = excess_of_others_ms(finding.service, replicas[heaviest].main->feature);
    if (!left_ms) {
      return;
    }
    const double left = std::min(1.0, *left_ms / all_ms);
    Finding& replica = made_.findings[first + heaviest];
    replica.score = std::max(replica.score, (1 - left) * finding.score);
    replica.evidence += fmt::format(
        "; without requests on slow replicas {:.0f} of {:.0f} ms of excess per call of the service are left",
        std::min(*left_ms, all_ms), all_ms);
    finding.score *= left;
    finding.confidence *= left;
  }

  static double explained_ms(const std::vector<ServiceScore>& scores, uint32_t service) {
    const auto found = std::ranges::find(scores, service, &ServiceScore::service);
    return found == scores.end() ? 0 : found->explained_ms();
  }

  // Of a service, without the requests of the window that its slow replicas took part in; nothing where too few call `feature` then.
  std::optional<double> excess_of_others_ms(uint32_t service, uint32_t feature) const {
    Sides others = sides_;
    for (const SlowReplica& pair : pairs_) {
      if (service_of(pair) != service) {
        continue;
      }
      for (const Observation& call : observations_.by_feature[pair.feature]) {
        const uint32_t replica = pair.is_callee ? call.callee_replica : call.replica;
        if (replica == pair.replica && others[call.trace] == Side::kWindow) {
          others[call.trace] = Side::kNeither;
        }
      }
    }
    const auto changes = feature_changes(observations_, others);
    return could_show(changes[feature].window_requests, changes_[feature])
               ? std::optional(explained_ms(gap_coverage(observations_, changes), service))
               : std::nullopt;
  }

  // Whether so many of the window's requests would show the change of all, had all changed alike: z grows with the root of their number. A
  // small change that only many requests show is no replica's because few of the others do not show it.
  static bool could_show(size_t requests, const FeatureChange& of_all) {
    const double share =
        static_cast<double>(requests) / static_cast<double>(std::max<size_t>(1, of_all.window_requests));
    return requests >= kMinOtherRequests && (of_all.z <= kShownZ || of_all.z * std::sqrt(share) > kShownZ);
  }

  static double weight_of(const SlowReplica& pair) {
    return std::max(0.0, pair.excess_ms) * static_cast<double>(std::max<size_t>(1, pair.exceeding));
  }

  const traces::Names& names_;
  const Sides& sides_;
  const DiagnosisOptions& options_;
  const Observations& observations_;
  const CallStructures& structures_;
  std::vector<SlowReplica> pairs_;
  std::vector<FeatureChange> changes_;
  std::vector<ServiceScore> coverage_;
  double noise_ms_ = kMinNoiseMs;
  double noise_z_ = 0;
  double highest_z_ = 0;
  bool is_judged_ = false;
  Diagnosis made_;
};

}  // namespace

const char* name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kSlowItself:
      return "slow itself";
    case Finding::Kind::kSlowNetwork:
      return "slow network to it";
    case Finding::Kind::kSlowCaller:
      return "slow caller";
    case Finding::Kind::kOtherPath:
      break;
  }
  return "another path";
}

Diagnosis diagnose(const Requests& requests, const Sides& sides, const DiagnosisOptions& options) {
  return Diagnostician(requests, sides, options).run();
}

}  // namespace plimsoll::diagnosis
