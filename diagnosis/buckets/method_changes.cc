#include "diagnosis/buckets/method_changes.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <tuple>
#include <vector>

#include "statistics/student_t.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMaxMethods = 20;
// Above a method, the nearest.
constexpr size_t kMaxCallers = 30;
// Of growth that is none, in any of the methods of a bucket.
constexpr double kTailOfAll = 0.025;
// A method that calls more often: by this factor, and where that explains this part of its growth.
constexpr double kMoreCalls = 1.2;
constexpr double kMostOfIt = 0.5;
// Children of a caller ran at once: so many on average at least, of which this part is lost.
constexpr double kMinAtOnce = 1.25;
constexpr double kMinLost = 0.4;

// Sums over calls, by side.
struct CallSums {
  double calls = 0;
  double self_ms = 0;
  double on_path_ms = 0;

  double self_per_call() const { return calls > 0 ? self_ms / calls : 0; }
};
using BothSums = std::array<CallSums, 2>;

class MethodComparison {
 public:
  MethodComparison(const ComparedRequests& requests, std::span<const uint32_t> members,
                   const CallForest& forest, const HostBootstrap& bootstrap)
      : requests_(requests),
        members_(members),
        forest_(forest),
        bootstrap_(bootstrap),
        counts_(2 * bootstrap.units(), 0) {
    for (size_t place = 0; place < members_.size(); ++place) {
      counts_[cell_of(place)] += 1;
      side_counts_[side_of(place)] += 1;
    }
    number_methods();
  }

  // The largest growth first.
  std::vector<MethodChange> methods() const;
  Bottleneck bottleneck_of(const MethodChange& method) const;

 private:
  size_t side_of(size_t place) const { return requests_.is_new[members_[place]]; }
  size_t cell_of(size_t place) const { return 2 * size_t{bootstrap_.unit_of(place)} + side_of(place); }
  void number_methods();
  std::vector<BothSums> path_sums() const;
  void set_changes(std::vector<MethodChange>& made, size_t methods_of_bucket) const;
  std::vector<RatioChange> at_once(std::span<const uint32_t> callers) const;
  bool find_caller(Bottleneck& bottleneck) const;

  const ComparedRequests& requests_;
  std::span<const uint32_t> members_;
  const CallForest& forest_;
  const HostBootstrap& bootstrap_;
  std::vector<double> counts_;  // requests by 2 x unit + side
  std::array<double, 2> side_counts_{};
  std::vector<uint32_t> method_of_path_;
  uint32_t method_count_ = 0;
};

void MethodComparison::number_methods() {
  boost::unordered_flat_map<std::tuple<uint32_t, uint32_t, uint32_t, bool>, uint32_t> numbers;
  for (const CallPath& call : forest_.paths) {
    const auto next = static_cast<uint32_t>(numbers.size());
    const std::tuple method(call.service, call.operation, call.callee, call.is_edge);
    method_of_path_.push_back(numbers.try_emplace(method, next).first->second);
  }
  method_count_ = static_cast<uint32_t>(numbers.size());
}

std::vector<BothSums> MethodComparison::path_sums() const {
  std::vector<BothSums> sums(forest_.paths.size());
  for (size_t place = 0; place < members_.size(); ++place) {
    for (const CallTimes& times : forest_.of(members_[place])) {
      CallSums& path = sums[times.path][side_of(place)];
      path.calls += times.calls;
      path.self_ms += static_cast<double>(times.self_ms);
      path.on_path_ms += static_cast<double>(times.on_path_ms);
    }
  }
  return sums;
}

// Of the methods that are shown. Their growth is tested for all methods of the bucket at once (Bonferroni), because the largest of many is
// picked.
void MethodComparison::set_changes(std::vector<MethodChange>& made, size_t methods_of_bucket) const {
  std::vector<uint32_t> place_of(method_count_, UINT32_MAX);
  for (uint32_t i = 0; i < made.size(); ++i) {
    place_of[method_of_path_[made[i].path]] = i;
  }
  std::vector<RatioSums> sums(made.size(),
                              {.numerator = std::vector<double>(counts_.size(), 0), .denominator = counts_});
  for (size_t place = 0; place < members_.size(); ++place) {
    for (const CallTimes& times : forest_.of(members_[place])) {
      const uint32_t method = place_of[method_of_path_[times.path]];
      if (method != UINT32_MAX) {
        sums[method].numerator[cell_of(place)] += static_cast<double>(times.on_path_ms);
      }
    }
  }
  const std::vector<RatioChange> changes = bootstrap_.ratio_changes(sums);
  const double level = 1 - kTailOfAll / static_cast<double>(std::max<size_t>(1, methods_of_bucket));
  const auto degrees = static_cast<double>(std::max<size_t>(2, bootstrap_.fewer_units()) - 1);
  const double errors = statistics::student_t_quantile(level, degrees);
  for (size_t i = 0; i < made.size(); ++i) {
    made[i].on_path_ms = changes[i].change;
    made[i].min_growth_ms = changes[i].change.difference() - errors * changes[i].deviation;
  }
}

std::vector<MethodChange> MethodComparison::methods() const {
  const std::vector<BothSums> sums = path_sums();
  std::vector<BothSums> of_method(method_count_);
  std::vector<MethodChange> all(method_count_);
  std::vector<double> growth_of_path(method_count_, -INFINITY);  // of the path that stands in `all`
  for (uint32_t path = 0; path < sums.size(); ++path) {
    const uint32_t method = method_of_path_[path];
    for (size_t side = 0; side < 2; ++side) {
      CallSums& of = of_method[method][side];
      of.calls += sums[path][side].calls;
      of.self_ms += sums[path][side].self_ms;
      of.on_path_ms += sums[path][side].on_path_ms;
    }
    const double growth =
        sums[path][1].on_path_ms / side_counts_[1] - sums[path][0].on_path_ms / side_counts_[0];
    if (growth > growth_of_path[method]) {
      growth_of_path[method] = growth;
      all[method].path = path;
    }
  }
  std::vector<uint32_t> order;
  for (uint32_t method = 0; method < method_count_; ++method) {
    const auto& [base, current] = of_method[method];
    if (base.calls + current.calls == 0) {
      continue;  // of other buckets
    }
    order.push_back(method);
    MethodChange& change = all[method];
    change.on_path_ms.base = base.on_path_ms / side_counts_[0];
    change.on_path_ms.current = current.on_path_ms / side_counts_[1];
    change.base_calls = base.calls / side_counts_[0];
    change.current_calls = current.calls / side_counts_[1];
    change.base_self_ms = base.self_per_call();
    change.current_self_ms = current.self_per_call();
  }
  std::ranges::sort(order, std::greater<>(), [&](uint32_t method) {
    return std::pair(all[method].on_path_ms.difference(), all.size() - method);
  });
  std::vector<MethodChange> made;
  for (const uint32_t method : order) {
    if (made.size() < kMaxMethods) {
      made.push_back(all[method]);
    }
  }
  set_changes(made, order.size());
  return made;
}

// By caller: how many of its children run at once.
std::vector<RatioChange> MethodComparison::at_once(std::span<const uint32_t> callers) const {
  const std::vector<double> none(counts_.size(), 0);
  std::vector<std::vector<double>> covered_ms(callers.size(), none);
  std::vector<RatioSums> sums;
  for (const std::vector<double>& of : covered_ms) {
    sums.push_back({.numerator = none, .denominator = of});
  }
  for (size_t place = 0; place < members_.size(); ++place) {
    for (const CallTimes& times : forest_.of(members_[place])) {
      const auto caller = std::ranges::find(callers, times.path);
      if (caller != callers.end()) {
        const auto of = static_cast<size_t>(caller - callers.begin());
        sums[of].numerator[cell_of(place)] += static_cast<double>(times.children_ms);
        covered_ms[of][cell_of(place)] += static_cast<double>(times.covered_ms);
      }
    }
  }
  return bootstrap_.ratio_changes(sums);
}

// Of the callers above the method the one whose children lost most of running at once.
bool MethodComparison::find_caller(Bottleneck& bottleneck) const {
  std::vector<uint32_t> callers;
  for (uint32_t caller = forest_.paths[bottleneck.method.path].parent;
       caller != kNoCall && callers.size() < kMaxCallers; caller = forest_.paths[caller].parent) {
    callers.push_back(caller);
  }
  const std::vector<RatioChange> changes = at_once(callers);
  double lost = 0;
  for (size_t i = 0; i < callers.size(); ++i) {
    const ValueChange& change = changes[i].change;
    const bool is_lost =
        change.base >= kMinAtOnce && change.high < 0 && -change.difference() >= kMinLost * (change.base - 1);
    if (is_lost && -change.difference() > lost) {
      lost = -change.difference();
      bottleneck.caller = callers[i];
      bottleneck.at_once = change;
    }
  }
  return bottleneck.caller != kNoCall;
}

Bottleneck MethodComparison::bottleneck_of(const MethodChange& method) const {
  Bottleneck found{.kind = Bottleneck::Kind::kItself, .method = method, .at_once = {}};
  const double growth = method.on_path_ms.difference();
  const double by_self = (method.current_self_ms - method.base_self_ms) * method.current_calls;
  const double by_calls = (method.current_calls - method.base_calls) * method.base_self_ms;
  const bool is_new = method.base_calls == 0;
  const bool is_more =
      method.current_calls >= kMoreCalls * method.base_calls && by_calls >= kMostOfIt * growth;
  if (!is_new && by_self < kMostOfIt * growth && find_caller(found)) {
    found.kind = Bottleneck::Kind::kSequential;
  } else if (is_new || is_more) {
    found.kind = Bottleneck::Kind::kMoreCalls;
  } else if (forest_.paths[method.path].is_edge) {
    found.kind = Bottleneck::Kind::kWaiting;
  }
  return found;
}

}  // namespace

const char* name_of(Bottleneck::Kind kind) {
  switch (kind) {
    case Bottleneck::Kind::kItself:
      return "takes longer itself";
    case Bottleneck::Kind::kWaiting:
      return "waits longer (network, queues)";
    case Bottleneck::Kind::kMoreCalls:
      return "called more often";
    case Bottleneck::Kind::kSequential:
      return "sequential where it was parallel";
    case Bottleneck::Kind::kNone:
      break;
  }
  return "none on the critical path";
}

void add_methods(const ComparedRequests& requests, std::span<const uint32_t> members,
                 const CallForest& forest, const HostBootstrap& bootstrap, BucketComparison& made) {
  const MethodComparison comparison(requests, members, forest, bootstrap);
  made.methods = comparison.methods();
  const auto grown =
      std::ranges::find_if(made.methods, [](const MethodChange& method) { return method.min_growth_ms > 0; });
  if (grown != made.methods.end()) {
    made.bottleneck = comparison.bottleneck_of(*grown);
  }
}

}  // namespace plimsoll::diagnosis
