// What call trees are judged by: how long each call took itself, and how long it waited between two services.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

// One quantity that is measured in each call of its kind.
struct Feature {
  // kSelf: time of `operation` in `service` itself. kGap: time of a call from `service` to `callee` in neither of them: network, queues,
  // connections, and what the callee does before its span begins.
  enum class Kind : uint8_t { kSelf, kGap };

  Kind kind = Kind::kSelf;
  uint32_t service = 0;    // IDs of traces::Names
  uint32_t operation = 0;  // of a gap: as the caller names it
  uint32_t callee = 0;     // of a gap

  auto operator<=>(const Feature&) const = default;
  bool touches(uint32_t of_service) const {
    return service == of_service || (kind == Kind::kGap && callee == of_service);
  }
};

struct Observation {
  float ms = 0;
  uint32_t trace = 0;           // index into the Assembly's traces
  uint32_t replica = 0;         // that ran it; of a gap: the caller's
  uint32_t callee_replica = 0;  // of a gap
};

// One request's calls of one feature together.
struct RequestMean {
  float ms = 0;  // per call
  uint32_t trace = 0;
};

// By feature, by ascending time: any two groups of traces are compared without sorting again.
struct Observations {
  std::vector<Feature> features;
  std::vector<std::vector<Observation>> by_feature;
  // Calls of one request wait for the same things: requests are what is independent.
  std::vector<std::vector<RequestMean>> by_request;
  // By service and replica: two services may name their replicas alike ("0").
  boost::unordered_flat_map<std::pair<uint32_t, uint32_t>, uint32_t> machines;
  size_t traces = 0;

  // That a replica of a service runs on; 0: unknown.
  uint32_t machine_of(uint32_t service, uint32_t replica) const {
    const auto found = machines.find(std::pair(service, replica));
    return found == machines.end() ? 0 : found->second;
  }
};

// 16 to 24 bytes a span; about 0.2 us each.
Observations observe(const traces::SpanSet& spans, const traces::Assembly& assembly);

}  // namespace plimsoll::diagnosis
