// Requests of a system with replicas, some of which are slow in some methods: what no public set of traces has.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/observations/request_matrix.h"
#include "traces/model/span_set.h"

namespace plimsoll::diagnosis {

struct GeneratorOptions {
  uint64_t seed = 1;
  size_t requests = 5000;
  uint32_t methods = 117;
  uint32_t components = 12;
  uint32_t replicas = 20;           // of each component
  uint32_t max_faulty_methods = 6;  // 1 to so many, each on 1 to 3 replicas; 0: no fault
  double hit = 1;                   // share of calls of a faulty pair that are slow
  double min_factor = 3;
  double max_factor = 8;
  uint32_t trees = 1;  // kinds of request, each with a part of the methods
};

// Method j's parent is one of the 12 before it, of its component with probability 0.8. Base self times are log-normal (median 1 ms, sigma 1);
// a call takes base x (0.7 + 0.3 x mean of 3 gamma(8) factors of the request x loadings) x log-normal(0.25), and times a uniform factor
// where its pair of method and replica is faulty and hit. A request picks one replica of each component.
class RequestGenerator {
 public:
  explicit RequestGenerator(const GeneratorOptions& options);

  using Pair = std::pair<uint32_t, uint32_t>;  // method, replica's number within its component
  const std::set<Pair>& faulty_pairs() const { return faulty_; }
  std::set<uint32_t> faulty_methods() const;

  // All requests by method, columns in the order of methods; Method::operation is the method, replicas() is the number within the
  // component plus 1. With `trees` above 1 methods that a request does not call have 0.
  RequestMatrix matrix(TimeOf time_of) const;

  // The same requests as spans, as senders with clocks of their own send them: a span for each call, a client span around each call of
  // another component, hosts that run a replica of each component and are up to 20 ms off, some spans lost, all in random order.
  struct Damage {
    double lost_share = 0.01;
    double clock_ms = 20;
  };
  void add_spans(const Damage& damage, traces::SpanSet& spans) const;

  // Names in the spans.
  static std::string method_name(uint32_t method) { return "m" + std::to_string(method); }
  std::string service_name(uint32_t component) const { return "c" + std::to_string(component); }
  std::string replica_name(uint32_t component, uint32_t replica) const {
    return service_name(component) + "-" + std::to_string(replica);
  }
  uint32_t component_of(uint32_t method) const { return component_[method]; }

 private:
  struct Request {
    uint32_t tree = 0;
    std::vector<uint32_t> replicas;  // by component
    std::vector<float> self_ms;      // by method; 0: not called
  };

  GeneratorOptions options_;
  std::vector<uint32_t> parent_;  // by method; the first is the root
  std::vector<uint32_t> component_;
  std::vector<std::vector<uint32_t>> children_;
  std::set<Pair> faulty_;
  std::vector<Request> requests_;
};

// How many of `found` are true, and how many of the true ones were found.
struct Counts {
  size_t found = 0;
  size_t false_ones = 0;
  size_t missed = 0;
  double precision() const {
    return found + false_ones == 0 ? 1 : static_cast<double>(found) / static_cast<double>(found + false_ones);
  }
  double recall() const {
    return found + missed == 0 ? 1 : static_cast<double>(found) / static_cast<double>(found + missed);
  }
  Counts& operator+=(const Counts& other) {
    found += other.found;
    false_ones += other.false_ones;
    missed += other.missed;
    return *this;
  }
};
template <typename T>
Counts compared(const std::set<T>& found, const std::set<T>& truth) {
  Counts counts;
  for (const T& one : found) {
    ++(truth.contains(one) ? counts.found : counts.false_ones);
  }
  counts.missed = truth.size() - counts.found;
  return counts;
}

}  // namespace plimsoll::diagnosis
