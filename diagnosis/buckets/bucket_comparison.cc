#include "diagnosis/buckets/bucket_comparison.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>

#include "diagnosis/buckets/host_bootstrap.h"
#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMaxMethods = 20;
// A method that calls more often: by this factor, and where that explains this part of its growth.
constexpr double kMoreCalls = 1.2;
constexpr double kMostOfIt = 0.5;
// Children of a caller ran at once: so many on average at least, of which this part is lost.
constexpr double kMinAtOnce = 1.25;
constexpr double kMinLost = 0.4;

// Requests of a side by ascending time.
struct Latencies {
  std::vector<float> ms;
  std::vector<uint32_t> unit;
};

// The requests `shares` of which are faster, where each counts as often as its unit was drawn. `shares` ascend.
std::array<double, kComparedShares.size()> weighted_quantiles(const Latencies& side,
                                                              std::span<const float> counts) {
  double total = 0;
  for (const uint32_t unit : side.unit) {
    total += static_cast<double>(counts[unit]);
  }
  std::array<double, kComparedShares.size()> found{};
  double passed = 0;
  size_t next = 0;
  for (size_t i = 0; i < side.ms.size() && next < found.size(); ++i) {
    passed += static_cast<double>(counts[side.unit[i]]);
    while (next < found.size() && passed > kComparedShares[next] * total) {
      found[next++] = static_cast<double>(side.ms[i]);
    }
  }
  return found;
}

// One bucket while it is compared.
class BucketAtHand {
 public:
  BucketAtHand(const ComparedRequests& requests, std::span<const uint32_t> members, const CallForest* forest)
      : requests_(requests), members_(members), forest_(forest), bootstrap_(requests, members) {
    counts_.assign(2 * bootstrap_.units(), 0);
    for (size_t place = 0; place < members_.size(); ++place) {
      counts_[cell_of(place)] += 1;
    }
  }

  BucketComparison compare();

 private:
  size_t side_of(size_t place) const { return requests_.is_new[members_[place]]; }
  size_t cell_of(size_t place) const { return 2 * size_t{bootstrap_.unit_of(place)} + side_of(place); }
  void count_sides(BucketComparison& made) const;
  void compare_percentiles(BucketComparison& made) const;
  void compare_methods(BucketComparison& made) const;
  ValueChange path_change(const std::vector<uint32_t>& method_of_path, uint32_t method) const;
  ValueChange at_once(uint32_t caller) const;
  Bottleneck bottleneck_of(const MethodChange& method) const;
  bool find_caller(Bottleneck& bottleneck) const;

  // Sums over the calls of one path, by side.
  struct PathSums {
    double calls = 0;
    double self_ms = 0;
    double on_path_ms = 0;
    double children_ms = 0;
    double covered_ms = 0;
  };
  using BothSums = std::array<PathSums, 2>;
  std::vector<BothSums> path_sums() const;

  const ComparedRequests& requests_;
  std::span<const uint32_t> members_;
  const CallForest* forest_;
  HostBootstrap bootstrap_;
  std::vector<double> counts_;  // requests by 2 x unit + side
};

void BucketAtHand::count_sides(BucketComparison& made) const {
  made.is_by_hosts = bootstrap_.is_by_hosts();
  boost::unordered_flat_map<uint32_t, uint8_t> sides;
  std::array<double, 2> sums{};
  double squares = 0;
  made.first_current_ns = INT64_MAX;
  for (size_t place = 0; place < members_.size(); ++place) {
    const uint32_t request = members_[place];
    const auto ms = static_cast<double>(requests_.ms[request]);
    sums[side_of(place)] += ms;
    squares += ms * ms;
    requests_.add_side(request, sides[requests_.host[request]]);
    ++(side_of(place) == 1 ? made.current_requests : made.base_requests);
    if (side_of(place) == 1) {
      made.first_current_ns = std::min(made.first_current_ns, requests_.start_ns[request]);
    }
  }
  for (const auto& [host, side] : sides) {
    made.base_hosts += side & 1U;
    made.current_hosts += side >> 1U;
  }
  const auto all = static_cast<double>(members_.size());
  const double mean = (sums[0] + sums[1]) / all;
  const double deviation = std::sqrt(std::max(0.0, squares / all - mean * mean));
  if (made.base_requests > 0 && made.current_requests > 0 && deviation > 0) {
    made.paper_score = (sums[1] / static_cast<double>(made.current_requests) -
                        sums[0] / static_cast<double>(made.base_requests)) /
                       deviation;
  }
}

void BucketAtHand::compare_percentiles(BucketComparison& made) const {
  std::vector<uint32_t> order(members_.size());
  for (uint32_t place = 0; place < order.size(); ++place) {
    order[place] = place;
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return requests_.ms[members_[a]] < requests_.ms[members_[b]]; });
  std::array<Latencies, 2> sides;
  for (const uint32_t place : order) {
    Latencies& side = sides[side_of(place)];
    side.ms.push_back(requests_.ms[members_[place]]);
    side.unit.push_back(bootstrap_.unit_of(place));
  }
  const std::vector<float> once(bootstrap_.units(), 1);
  const auto base = weighted_quantiles(sides[0], once);
  const auto current = weighted_quantiles(sides[1], once);
  std::array<std::vector<double>, kComparedShares.size()> differences;
  for (size_t draw = 0; draw < HostBootstrap::kDraws; ++draw) {
    const auto of_base = weighted_quantiles(sides[0], bootstrap_.draw(draw));
    const auto of_current = weighted_quantiles(sides[1], bootstrap_.draw(draw));
    for (size_t i = 0; i < differences.size(); ++i) {
      differences[i].push_back(of_current[i] - of_base[i]);
    }
  }
  for (size_t i = 0; i < differences.size(); ++i) {
    made.percentiles_ms[i].base = base[i];
    made.percentiles_ms[i].current = current[i];
    HostBootstrap::set_interval(differences[i], made.percentiles_ms[i]);
  }
}

std::vector<BucketAtHand::BothSums> BucketAtHand::path_sums() const {
  std::vector<BothSums> sums(forest_->paths.size());
  for (size_t place = 0; place < members_.size(); ++place) {
    for (const CallTimes& times : forest_->of(members_[place])) {
      PathSums& path = sums[times.path][side_of(place)];
      path.calls += times.calls;
      path.self_ms += static_cast<double>(times.self_ms);
      path.on_path_ms += static_cast<double>(times.on_path_ms);
      path.children_ms += static_cast<double>(times.children_ms);
      path.covered_ms += static_cast<double>(times.covered_ms);
    }
  }
  return sums;
}

ValueChange BucketAtHand::path_change(const std::vector<uint32_t>& method_of_path, uint32_t method) const {
  std::vector<double> sums(counts_.size(), 0);
  for (size_t place = 0; place < members_.size(); ++place) {
    for (const CallTimes& times : forest_->of(members_[place])) {
      if (method_of_path[times.path] == method) {
        sums[cell_of(place)] += static_cast<double>(times.on_path_ms);
      }
    }
  }
  return bootstrap_.ratio_change(sums, counts_);
}

void BucketAtHand::compare_methods(BucketComparison& made) const {
  const std::vector<BothSums> sums = path_sums();
  const std::array<double, 2> requests{static_cast<double>(made.base_requests),
                                       static_cast<double>(made.current_requests)};
  boost::unordered_flat_map<uint64_t, uint32_t> numbers;
  std::vector<uint32_t> method_of_path(sums.size());
  std::vector<BothSums> of_method;
  std::vector<MethodChange> methods;
  std::vector<double> growth_of_path;  // of the path that stands in `methods`
  for (uint32_t path = 0; path < sums.size(); ++path) {
    const CallPath& call = forest_->paths[path];
    const auto next = static_cast<uint32_t>(methods.size());
    const uint32_t method =
        numbers.try_emplace(uint64_t{call.service} << 32U | call.operation, next).first->second;
    method_of_path[path] = method;
    if (method == next) {
      methods.emplace_back();
      of_method.emplace_back();
      growth_of_path.push_back(-INFINITY);
    }
    for (size_t side = 0; side < 2; ++side) {
      PathSums& all = of_method[method][side];
      all.calls += sums[path][side].calls;
      all.self_ms += sums[path][side].self_ms;
      all.on_path_ms += sums[path][side].on_path_ms;
    }
    const double growth = sums[path][1].on_path_ms / requests[1] - sums[path][0].on_path_ms / requests[0];
    if (growth > growth_of_path[method]) {
      growth_of_path[method] = growth;
      methods[method].path = path;
    }
  }
  std::vector<uint32_t> order(methods.size());
  for (uint32_t method = 0; method < methods.size(); ++method) {
    order[method] = method;
    const BothSums& of = of_method[method];
    const auto per_call = [](const PathSums& side) { return side.calls > 0 ? side.self_ms / side.calls : 0; };
    MethodChange& change = methods[method];
    change.on_path_ms.base = of[0].on_path_ms / requests[0];
    change.on_path_ms.current = of[1].on_path_ms / requests[1];
    change.base_calls = of[0].calls / requests[0];
    change.current_calls = of[1].calls / requests[1];
    change.base_self_ms = per_call(of[0]);
    change.current_self_ms = per_call(of[1]);
  }
  std::ranges::sort(order, std::greater<>(), [&](uint32_t method) {
    return std::pair(methods[method].on_path_ms.difference(), methods.size() - method);
  });
  order.resize(std::min(order.size(), kMaxMethods));
  for (const uint32_t method : order) {
    methods[method].on_path_ms = path_change(method_of_path, method);
    made.methods.push_back(methods[method]);
  }
  if (!made.methods.empty() && made.methods.front().on_path_ms.is_larger()) {
    made.bottleneck = bottleneck_of(made.methods.front());
  }
}

ValueChange BucketAtHand::at_once(uint32_t caller) const {
  std::vector<double> children(counts_.size(), 0);
  std::vector<double> covered(counts_.size(), 0);
  for (size_t place = 0; place < members_.size(); ++place) {
    for (const CallTimes& times : forest_->of(members_[place])) {
      if (times.path == caller) {
        children[cell_of(place)] += static_cast<double>(times.children_ms);
        covered[cell_of(place)] += static_cast<double>(times.covered_ms);
      }
    }
  }
  return bootstrap_.ratio_change(children, covered);
}

// Of the callers above the method the one whose children lost most of running at once.
bool BucketAtHand::find_caller(Bottleneck& bottleneck) const {
  double lost = 0;
  for (uint32_t caller = forest_->paths[bottleneck.method.path].parent; caller != kNoCall;
       caller = forest_->paths[caller].parent) {
    const ValueChange change = at_once(caller);
    const bool is_lost =
        change.base >= kMinAtOnce && change.high < 0 && -change.difference() >= kMinLost * (change.base - 1);
    if (is_lost && -change.difference() > lost) {
      lost = -change.difference();
      bottleneck.caller = caller;
      bottleneck.at_once = change;
    }
  }
  return bottleneck.caller != kNoCall;
}

Bottleneck BucketAtHand::bottleneck_of(const MethodChange& method) const {
  Bottleneck found{.kind = Bottleneck::Kind::kItself, .method = method, .at_once = {}};
  const double growth = method.on_path_ms.difference();
  const double by_self = (method.current_self_ms - method.base_self_ms) * method.current_calls;
  const double by_calls = (method.current_calls - method.base_calls) * method.base_self_ms;
  if (by_self < kMostOfIt * growth && find_caller(found)) {
    found.kind = Bottleneck::Kind::kSequential;
  } else if (method.current_calls >= kMoreCalls * method.base_calls && by_calls >= kMostOfIt * growth) {
    found.kind = Bottleneck::Kind::kMoreCalls;
  } else if (forest_->paths[method.path].is_edge) {
    found.kind = Bottleneck::Kind::kWaiting;
  }
  return found;
}

BucketComparison BucketAtHand::compare() {
  BucketComparison made;
  count_sides(made);
  if (made.base_requests == 0 || made.current_requests == 0) {
    return made;
  }
  compare_percentiles(made);
  if (forest_ != nullptr) {
    compare_methods(made);
  }
  return made;
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

BucketComparison compare_bucket(const ComparedRequests& requests, std::span<const uint32_t> members,
                                const CallForest* forest) {
  return BucketAtHand(requests, members, forest).compare();
}

}  // namespace plimsoll::diagnosis
