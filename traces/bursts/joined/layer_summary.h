// How layers are distributed over requests: mean and percentiles. Pure; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/bursts/joined/request_layers.h"

namespace plimsoll::traces {

struct LayerDistribution {
  uint64_t requests = 0;  // of which it is known
  double mean = 0;
  // By nearest rank.
  uint64_t p50 = 0;
  uint64_t p95 = 0;
  bool operator==(const LayerDistribution&) const = default;
};

class LayerSummary {
 public:
  static constexpr size_t kMaxRequests = 250'000;

  // Takes up to 300 bytes per request. Those beyond kMaxRequests are counted alone.
  void add(const RequestLayers& request);

  uint64_t requests() const { return requests_; }
  // Nothing: it is known of no request, or there is none.
  std::optional<LayerDistribution> of(RequestLayer layer, LayerMeasure measure) const;
  std::optional<LayerDistribution> duration_ns() const;

 private:
  using Values = std::vector<uint64_t>;

  uint64_t requests_ = 0;
  Values durations_ns_;
  std::array<std::array<Values, kLayerMeasures>, kRequestLayers> values_;
};

}  // namespace plimsoll::traces
