#include <cstdlib>

#include "bench/diagnosis/parts.h"
#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/clouddiag/pca_peer.h"
#include "tests/traces/fault_corpus.h"

namespace plimsoll::bench {
namespace {

using diagnosis::FaultDay;
using diagnosis::KnownFault;
using diagnosis::Side;

struct Places {
  size_t faults = 0;
  size_t first = 0;
  size_t among_three = 0;
  void add(size_t place) {
    ++faults;
    first += place == 1 ? 1U : 0U;
    among_three += place <= 3 ? 1U : 0U;
  }
};

// The place of the faulty service, from 1, among services in the order of their first method.
template <typename Methods, typename ServiceOf>
size_t place_among(const FaultDay& day, const std::string& service, const Methods& methods,
                   const ServiceOf& service_of) {
  std::vector<uint32_t> seen;
  for (const auto& method : methods) {
    const uint32_t id = service_of(method);
    if (std::ranges::find(seen, id) == seen.end()) {
      seen.push_back(id);
      if (day.service_name(id) == service) {
        return seen.size();
      }
    }
  }
  return SIZE_MAX;
}

std::vector<uint32_t> requests_of(const diagnosis::Sides& sides, bool with_reference) {
  std::vector<uint32_t> traces = diagnosis::traces_of(sides, Side::kWindow);
  if (with_reference) {
    const auto reference = diagnosis::traces_of(sides, Side::kReference);
    traces.insert(traces.end(), reference.begin(), reference.end());
  }
  return traces;
}

void add_places(const std::string& name, const Places& places, double published_first, double goal,
                Report& report) {
  report.add({.name = name + "-first-share",
              .value = static_cast<double>(places.first) / static_cast<double>(places.faults),
              .unit = "share",
              .better = Better::kHigher,
              .peer = published_first > 0 ? "MicroRank, Online Boutique (Nezha, table 3)" : "",
              .peer_value = published_first,
              .goal = goal > 0 ? std::optional(goal) : std::nullopt,
              .note = fmt::format("{} first, {} among three of {}", places.first, places.among_three,
                                  places.faults)});
}

}  // namespace

Status measure_faults(const Flags& flags, Report& report) {
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  if (corpus == nullptr) {
    return fail(ErrorCode::kNotFound, "no corpus: set PLIMSOLL_CORPUS");
  }
  std::array<Places, 2> ours, printed, improved, peer;  // latency, code
  for (const char* folder : diagnosis::kFaultFolders) {
    const auto day = FaultDay::read(std::string(corpus) + "/traces", folder);
    if (!day) {
      return propagate(day);
    }
    for (const KnownFault& fault : day->faults()) {
      if (fault.shows == "nothing") {
        continue;
      }
      const size_t kind = fault.shows == "latency" ? 0 : 1;
      const auto sides = day->sides_of(fault);
      ours[kind].add(day->place_of(fault.service, day->diagnose_fault(fault)));
      const auto service_of = [](const auto& method) { return method.method.service; };
      const auto as_printed = diagnosis::clouddiag(day->spans(), day->assembly(), requests_of(sides, false));
      printed[kind].add(as_printed ? place_among(*day, fault.service, as_printed->methods, service_of)
                                   : SIZE_MAX);
      if (flags.quick) {
        continue;
      }
      const auto better = diagnosis::clouddiag(day->spans(), day->assembly(), requests_of(sides, true),
                                               diagnosis::CloudDiagOptions::improved());
      improved[kind].add(better ? place_among(*day, fault.service, better->methods, service_of) : SIZE_MAX);
      const auto matrix = diagnosis::request_matrix(day->spans(), day->assembly(), requests_of(sides, true),
                                                    diagnosis::TimeOf::kInclusive);
      if (!matrix) {
        return propagate(matrix);
      }
      const auto by_pca = diagnosis::pca_mann_whitney(*matrix);
      if (!by_pca) {
        return propagate(by_pca);
      }
      peer[kind].add(place_among(*day, fault.service, by_pca->methods, [&matrix](const auto& suspect) {
        return matrix->methods[suspect.column].service;
      }));
    }
  }
  constexpr double kMicroRank = 0.411;
  for (const size_t kind : {0, 1}) {
    const std::string name = kind == 0 ? "latency-faults" : "code-faults";
    add_places(name + "-ours", ours[kind], kind == 0 ? kMicroRank : 0, kind == 0 ? 27.0 / 28 : 5.0 / 8,
               report);
    add_places(name + "-clouddiag-as-printed", printed[kind], 0, 0, report);
    if (!flags.quick) {
      add_places(name + "-clouddiag-self-times", improved[kind], 0, 0, report);
      add_places(name + "-pca-mann-whitney", peer[kind], 0, 0, report);
    }
  }
  return {};
}

}  // namespace plimsoll::bench
