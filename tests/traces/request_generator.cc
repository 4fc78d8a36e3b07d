#include "tests/traces/request_generator.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace plimsoll::diagnosis {
namespace {

constexpr uint32_t kParentsBefore = 12;
constexpr size_t kFactors = 3;
constexpr int64_t kBeginNs = 1'700'000'000'000'000'000;

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

uint32_t below(Random& random, uint32_t end) {
  return std::uniform_int_distribution<uint32_t>(0, end - 1)(random);
}

std::set<RequestGenerator::Pair> choose_faults(const GeneratorOptions& options, Random& random) {
  std::set<RequestGenerator::Pair> faulty;
  if (options.max_faulty_methods == 0) {
    return faulty;
  }
  const uint32_t methods = 1 + below(random, options.max_faulty_methods);
  std::set<uint32_t> chosen;
  while (chosen.size() < methods) {
    chosen.insert(below(random, options.methods));
  }
  for (const uint32_t method : chosen) {
    const uint32_t replicas = 1 + below(random, 3);
    std::set<uint32_t> slow;
    while (slow.size() < std::min(replicas, options.replicas)) {
      slow.insert(below(random, options.replicas));
    }
    for (const uint32_t replica : slow) {
      faulty.emplace(method, replica);
    }
  }
  return faulty;
}

// Lays one request's calls out in time.
class SpanWriter {
 public:
  SpanWriter(Random& random, traces::TraceId trace) : random_(random), trace_(trace) {}

  traces::SpanId new_id() { return (random_() << 1U) | 1U; }
  const traces::TraceId& trace() const { return trace_; }
  double gap_ms() { return 0.3 * std::exp(0.4 * normal_(random_)); }

 private:
  Random& random_;
  traces::TraceId trace_;
  std::normal_distribution<double> normal_;
};

}  // namespace

RequestGenerator::RequestGenerator(const GeneratorOptions& options)
    : options_(options), parent_(options.methods), component_(options.methods), children_(options.methods) {
  Random random(options.seed);
  std::normal_distribution<double> normal;
  std::gamma_distribution<double> gamma(8, 1.0 / 8);
  std::vector<double> base_ms(options.methods);
  std::vector<std::array<double, kFactors>> loadings(options.methods);
  for (uint32_t method = 0; method < options.methods; ++method) {
    base_ms[method] = std::exp(normal(random));
    for (double& loading : loadings[method]) {
      loading = uniform(random, 0, 2);
    }
    component_[method] = below(random, options.components);
    if (method > 0) {
      const uint32_t nearest = std::min(method, kParentsBefore);
      parent_[method] = method - 1 - below(random, nearest);
      if (uniform(random, 0, 1) < 0.8) {
        component_[method] = component_[parent_[method]];
      }
      children_[parent_[method]].push_back(method);
    }
  }
  // Each kind of request but the first leaves some calls out that make none themselves.
  std::vector<std::vector<uint8_t>> is_called(options.trees, std::vector<uint8_t>(options.methods, 1));
  for (uint32_t tree = 1; tree < options.trees; ++tree) {
    for (uint32_t method = 1; method < options.methods; ++method) {
      is_called[tree][method] = !children_[method].empty() || uniform(random, 0, 1) < 0.7 ? 1 : 0;
    }
  }
  faulty_ = choose_faults(options, random);
  requests_.resize(options.requests);
  for (Request& request : requests_) {
    request.tree = below(random, options.trees);
    for (uint32_t component = 0; component < options.components; ++component) {
      request.replicas.push_back(below(random, options.replicas));
    }
    std::array<double, kFactors> factors{};
    for (double& factor : factors) {
      factor = gamma(random);
    }
    for (uint32_t method = 0; method < options.methods; ++method) {
      double latent = 0;
      for (size_t i = 0; i < kFactors; ++i) {
        latent += factors[i] * loadings[method][i] / kFactors;
      }
      double self_ms = base_ms[method] * (0.7 + 0.3 * latent) * std::exp(0.25 * normal(random));
      if (faulty_.contains({method, request.replicas[component_[method]]}) &&
          uniform(random, 0, 1) < options.hit) {
        self_ms *= uniform(random, options.min_factor, options.max_factor);
      }
      request.self_ms.push_back(is_called[request.tree][method] != 0 ? static_cast<float>(self_ms) : 0);
    }
  }
}

std::set<uint32_t> RequestGenerator::faulty_methods() const {
  std::set<uint32_t> methods;
  for (const auto& [method, replica] : faulty_) {
    methods.insert(method);
  }
  return methods;
}

RequestMatrix RequestGenerator::matrix(TimeOf time_of) const {
  RequestMatrix made;
  for (uint32_t method = 0; method < options_.methods; ++method) {
    made.methods.push_back({component_[method], method});
  }
  made.ms = Matrix(requests_.size(), options_.methods);
  for (uint32_t row = 0; row < requests_.size(); ++row) {
    const Request& request = requests_[row];
    made.traces.push_back(row);
    std::ranges::copy(request.self_ms, made.ms.row(row).begin());
    for (uint32_t method = options_.methods; time_of == TimeOf::kInclusive && method-- > 1;) {
      made.ms.at(row, parent_[method]) += made.ms.at(row, method);
    }
    for (uint32_t method = 0; method < options_.methods; ++method) {
      made.replicas.push_back(request.replicas[component_[method]] + 1);
    }
  }
  return made;
}

void RequestGenerator::add_spans(const Damage& damage, traces::SpanSet& spans) const {
  Random random(options_.seed + 77);
  std::vector<int64_t> offset_ns(options_.replicas);
  for (int64_t& offset : offset_ns) {
    offset = static_cast<int64_t>(1e6 * uniform(random, -damage.clock_ms, damage.clock_ms));
  }
  std::vector<std::string> services, operations;
  std::vector<std::vector<std::string>> replicas(options_.components);
  std::vector<std::string> machines;
  for (uint32_t component = 0; component < options_.components; ++component) {
    services.push_back(service_name(component));
    for (uint32_t replica = 0; replica < options_.replicas; ++replica) {
      replicas[component].push_back(replica_name(component, replica));
    }
  }
  for (uint32_t method = 0; method < options_.methods; ++method) {
    operations.push_back(method_name(method));
  }
  for (uint32_t host = 0; host < options_.replicas; ++host) {
    machines.push_back("host-" + std::to_string(host));
  }
  std::vector<traces::NamedSpan> all;
  double now_ms = 0;
  for (const Request& request : requests_) {
    SpanWriter writer(random, {random(), random()});
    const auto host_of = [&](uint32_t component) {
      return (request.replicas[component] + 7 * component) % options_.replicas;
    };
    const auto add = [&](uint32_t in_component, uint32_t method, traces::SpanId id, traces::SpanId parent,
                         double start_ms, double end_ms, traces::SpanKind kind) {
      const int64_t offset = kBeginNs + offset_ns[host_of(in_component)];
      all.push_back({.trace = writer.trace(),
                     .id = id,
                     .parent = parent,
                     .start_ns = offset + static_cast<int64_t>(1e6 * start_ms),
                     .end_ns = offset + static_cast<int64_t>(1e6 * end_ms),
                     .service = services[in_component],
                     .operation = operations[method],
                     .replica = replicas[in_component][request.replicas[in_component]],
                     .machine = machines[host_of(in_component)],
                     .kind = kind});
    };
    // Half of the own time before the first child, half behind the last one, which follow each other. Returns the end.
    const auto call = [&](const auto& self, uint32_t method, traces::SpanId parent,
                          double start_ms) -> double {
      const traces::SpanId id = writer.new_id();
      double at_ms = start_ms + static_cast<double>(request.self_ms[method]) / 2;
      for (const uint32_t child : children_[method]) {
        if (request.self_ms[child] == 0) {
          continue;
        }
        if (component_[child] == component_[method]) {
          at_ms = self(self, child, id, at_ms);
          continue;
        }
        const traces::SpanId client = writer.new_id();
        const double gap_ms = writer.gap_ms();
        const double end_ms = self(self, child, client, at_ms + gap_ms / 2) + gap_ms / 2;
        add(component_[method], child, client, id, at_ms, end_ms, traces::SpanKind::kClient);
        at_ms = end_ms;
      }
      const double end_ms = at_ms + static_cast<double>(request.self_ms[method]) / 2;
      add(component_[method], method, id, parent, start_ms, end_ms, traces::SpanKind::kServer);
      return end_ms;
    };
    now_ms += 10;
    call(call, 0, 0, now_ms);
  }
  std::ranges::shuffle(all, random);
  for (const traces::NamedSpan& span : all) {
    if (uniform(random, 0, 1) >= damage.lost_share) {
      static_cast<void>(spans.add(span).has_value());
    }
  }
}

}  // namespace plimsoll::diagnosis
