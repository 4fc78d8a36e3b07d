#include "bench/daemon/capture.h"

#include "base/random.h"
#include "base/time.h"
#include "bench/daemon/parts.h"
#include "daemon/events/cpu_list.h"
#include "daemon/sampling/sampler.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kCaptureRateHz = 999;
constexpr int64_t kDrainNs = 100'000'000;

Result<perf::Sampler> open_sampler() {
  const auto cpus = perf::online_cpus();
  const auto cpu_clock = perf::find_event("cpu-clock");
  if (!cpus || !cpu_clock) {
    return cpus ? propagate(cpu_clock) : propagate(cpus);
  }
  return perf::Sampler::open({.events = {{*cpu_clock, perf::mean_period(*cpu_clock, kCaptureRateHz)}},
                              .cpus = *cpus,
                              .sample_pages = 1024,
                              .stack_bytes = kStackBytes,
                              .seed = random_seed()});
}

}  // namespace

void Capture::consume(Bytes bytes, size_t max_of_one) {
  CapturedSample captured{.record = {bytes.begin(), bytes.end()}, .sample = {}, .process = {}};
  auto record = perf::decode_record(captured.record);
  if (!record) {
    return;
  }
  auto* const sample = std::get_if<perf::SampleRecord>(&record->body);
  if (sample == nullptr) {
    processes_.apply(*record);
    return;
  }
  const identity::Process& process = processes_.find(sample->pid);
  const bool is_user = sample->user_abi == PERF_SAMPLE_REGS_ABI_64;
  if (is_user && kept_[process.identity->executable]++ < max_of_one) {
    captured.sample = std::move(*sample);
    captured.process = process;
    samples_.push_back(std::move(captured));
  }
}

Status Capture::run(double seconds, size_t max_of_one) {
  auto sampler = open_sampler();
  if (!sampler) {
    return propagate(sampler);
  }
  if (auto enabled = sampler->enable(); !enabled) {
    return enabled;
  }
  processes_.scan();
  const int64_t end_ns = monotonic_now_ns() + static_cast<int64_t>(seconds * 1e9);
  while (monotonic_now_ns() < end_ns) {
    if (const auto waited = sampler->wait(monotonic_now_ns() + kDrainNs); !waited) {
      return propagate(waited);
    }
    sampler->drain([&](Bytes bytes) { consume(bytes, max_of_one); });
  }
  return sampler->disable();
}

}  // namespace plimsoll::bench
