#include "daemon/sampling/ring_size.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "capture/perf/records.h"

namespace plimsoll::perf {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kFewestPages = 64;
constexpr uint64_t kMaxPages = 2048;
constexpr double kOtherBytes = 1024;  // of a sample with a stack, besides it
constexpr double kBranchSampleBytes = kBareSampleBytes + 8 + kMostBranches * sizeof(BranchEntry);
constexpr double kSeconds = 0.5;

double bytes_a_second(const SampledEvent& event, uint32_t stack_bytes) {
  const double samples = event.type.nominal_per_second / static_cast<double>(event.mean_period);
  if (event.with_branches) {
    return samples * kBranchSampleBytes;
  }
  return samples *
         (event.stack_share * (stack_bytes + kOtherBytes) + (1 - event.stack_share) * kBareSampleBytes);
}

}  // namespace

uint32_t ring_pages(std::span<const SampledEvent> events, uint32_t stack_bytes, size_t cpus,
                    uint64_t max_bytes) {
  double bytes = 0;
  for (const SampledEvent& event : events) {
    bytes += kSeconds * bytes_a_second(event, stack_bytes);
  }
  // perf_event_mmap() accepts powers of two only; rounding the share down keeps all rings together within max_bytes.
  const uint64_t share = std::bit_floor(max_bytes / kPageBytes / std::max<size_t>(cpus, 1));
  const uint64_t most = std::clamp(share, kFewestPages, kMaxPages);
  const double wanted = std::min(std::ceil(bytes / kPageBytes), static_cast<double>(most));
  return static_cast<uint32_t>(std::max(std::bit_ceil(static_cast<uint64_t>(wanted)), kFewestPages));
}

Result<FittedSampler> open_fitted(SamplerOptions options) {
  for (;;) {
    auto sampler = Sampler::open(options);
    if (sampler) {
      return FittedSampler{std::move(*sampler), options.sample_pages};
    }
    if (sampler.error().code != ErrorCode::kTooLarge || options.sample_pages <= 1) {
      return propagate(sampler);
    }
    options.sample_pages /= 2;
  }
}

}  // namespace plimsoll::perf
