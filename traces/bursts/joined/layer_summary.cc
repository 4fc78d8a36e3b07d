#include "traces/bursts/joined/layer_summary.h"

#include <algorithm>
#include <iterator>

namespace plimsoll::traces {
namespace {

uint64_t nearest_rank(std::vector<uint64_t>& values, size_t percent) {
  const size_t rank = (values.size() * percent + 99) / 100;
  const auto at = std::next(values.begin(), static_cast<std::ptrdiff_t>(rank) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// By value: it is put in another order.
std::optional<LayerDistribution> distribution_of(std::vector<uint64_t> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  double sum = 0;
  for (const uint64_t value : values) {
    sum += static_cast<double>(value);
  }
  return LayerDistribution{.requests = values.size(),
                           .mean = sum / static_cast<double>(values.size()),
                           .p50 = nearest_rank(values, 50),
                           .p95 = nearest_rank(values, 95)};
}

}  // namespace

void LayerSummary::add(const RequestLayers& request) {
  if (++requests_ > kMaxRequests) {
    return;
  }
  durations_ns_.push_back(static_cast<uint64_t>(request.times.end_ns - request.times.begin_ns));
  for (size_t layer = 0; layer < kRequestLayers; ++layer) {
    for (size_t measure = 0; measure < kLayerMeasures; ++measure) {
      const auto measured = static_cast<LayerMeasure>(measure);
      if (request.layers[layer].knows(measured) && has_measure(static_cast<RequestLayer>(layer), measured)) {
        values_[layer][measure].push_back(request.layers[layer].value(measured));
      }
    }
  }
}

std::optional<LayerDistribution> LayerSummary::of(RequestLayer layer, LayerMeasure measure) const {
  return distribution_of(values_[static_cast<size_t>(layer)][static_cast<size_t>(measure)]);
}

std::optional<LayerDistribution> LayerSummary::duration_ns() const {
  return distribution_of(durations_ns_);
}

}  // namespace plimsoll::traces
