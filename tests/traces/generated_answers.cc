#include "tests/traces/generated_answers.h"

#include <map>
#include <numeric>

#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/clouddiag/pca_peer.h"
#include "diagnosis/localization/exceedances.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {
namespace {

using NamePair = std::pair<std::string, std::string>;

// Of a method: its service and operation.
using FoundMethods = std::set<NamePair>;
// Of a pair: its operation and replica, whose name has the service.
using FoundPairs = std::set<NamePair>;

// As they come in, and put together.
class DamagedRequests {
 public:
  explicit DamagedRequests(const RequestGenerator& generator) : generator_(generator) {
    generator.add_spans({}, spans_);
    assembly_ = traces::assemble(spans_);
    all_.resize(assembly_.traces.size());
    std::iota(all_.begin(), all_.end(), 0U);
  }

  Counts by_replicas() const {
    const Observations observations = observe(spans_, assembly_);
    FoundPairs found;
    for (const SlowReplica& pair : slow_replicas(observations, Sides(all_.size(), Side::kWindow))) {
      found.insert(pair_of(observations.features[pair.feature].operation, pair.replica));
    }
    return compared(found, true_pairs());
  }

  Status by_clouddiag(const CloudDiagOptions& options, Counts& methods, Counts* pairs) const {
    const auto found = clouddiag(spans_, assembly_, all_, options);
    if (!found) {
      return propagate(found);
    }
    FoundMethods found_methods;
    FoundPairs found_pairs;
    for (const AnomalousMethod& of : found->methods) {
      found_methods.insert(method_of(of.method));
      for (const uint32_t replica : of.replicas) {
        found_pairs.insert(pair_of(of.method.operation, replica));
      }
    }
    methods = compared(found_methods, true_methods());
    if (pairs != nullptr) {
      *pairs = compared(found_pairs, true_pairs());
    }
    return {};
  }

  Result<Counts> by_pca() const {
    std::map<uint64_t, std::vector<uint32_t>> categories;
    for (const uint32_t trace : all_) {
      categories[assembly_.traces[trace].set_hash].push_back(trace);
    }
    FoundMethods found;
    for (const auto& [hash, members] : categories) {
      if (members.size() < CloudDiagOptions().min_requests) {
        continue;
      }
      const auto matrix = request_matrix(spans_, assembly_, members, TimeOf::kInclusive);
      const auto suspects = matrix ? pca_mann_whitney(*matrix) : propagate(matrix);
      if (!suspects) {
        return propagate(suspects);
      }
      for (const SuspectMethod& suspect : suspects->methods) {
        found.insert(method_of(matrix->methods[suspect.column]));
      }
    }
    return compared(found, true_methods());
  }

 private:
  NamePair method_of(const Method& method) const {
    return {std::string(spans_.names().services.name(method.service)),
            std::string(spans_.names().operations.name(method.operation))};
  }
  NamePair pair_of(uint32_t operation, uint32_t replica) const {
    return {std::string(spans_.names().operations.name(operation)),
            std::string(spans_.names().replicas.name(replica))};
  }

  FoundMethods true_methods() const {
    FoundMethods methods;
    for (const uint32_t method : generator_.faulty_methods()) {
      methods.emplace(generator_.service_name(generator_.component_of(method)),
                      RequestGenerator::method_name(method));
    }
    return methods;
  }
  FoundPairs true_pairs() const {
    FoundPairs pairs;
    for (const auto& [method, replica] : generator_.faulty_pairs()) {
      pairs.emplace(RequestGenerator::method_name(method),
                    generator_.replica_name(generator_.component_of(method), replica));
    }
    return pairs;
  }

  const RequestGenerator& generator_;
  traces::SpanSet spans_;
  traces::Assembly assembly_;
  std::vector<uint32_t> all_;
};

}  // namespace

GeneratedAnswers& GeneratedAnswers::operator+=(const GeneratedAnswers& other) {
  pairs += other.pairs;
  rpca_methods += other.rpca_methods;
  rpca_pairs += other.rpca_pairs;
  printed_methods += other.printed_methods;
  pca_methods += other.pca_methods;
  return *this;
}

Result<GeneratedAnswers> answers_of(const GeneratorOptions& options) {
  const RequestGenerator generator(options);
  const DamagedRequests requests(generator);
  GeneratedAnswers answers{.pairs = requests.by_replicas()};
  Status done =
      requests.by_clouddiag(CloudDiagOptions::improved(), answers.rpca_methods, &answers.rpca_pairs);
  done = done ? requests.by_clouddiag({.min_cv = 0}, answers.printed_methods, nullptr) : done;
  const auto by_pca = done ? requests.by_pca() : propagate(done);
  if (!by_pca) {
    return propagate(by_pca);
  }
  answers.pca_methods = *by_pca;
  return answers;
}

Counts slow_pairs_of(const GeneratorOptions& options) {
  const RequestGenerator generator(options);
  return DamagedRequests(generator).by_replicas();
}

}  // namespace plimsoll::diagnosis
