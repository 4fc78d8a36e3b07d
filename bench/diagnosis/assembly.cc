#include "traces/assembly/assembly.h"

#include "base/time.h"
#include "bench/diagnosis/parts.h"
#include "bench/harness/statistics.h"
#include "diagnosis/localization/diagnosis.h"
#include "tests/traces/request_generator.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalSpansPerS = 1e6;

double rate(size_t spans, int64_t start_ns) {
  return static_cast<double>(spans) * 1e9 / static_cast<double>(thread_cpu_ns() - start_ns);
}

}  // namespace

Status measure_assembly(const Flags& flags, Report& report) {
  const diagnosis::RequestGenerator generator(
      {.seed = 6, .requests = flags.quick ? size_t{2000} : size_t{10'000}, .replicas = 20, .trees = 3});
  traces::SpanSet spans;
  generator.add_spans({}, spans);
  const size_t count = spans.spans().size();
  std::vector<double> assembled;
  traces::Assembly assembly;
  for (int round = 0; round < 3; ++round) {
    const int64_t start_ns = thread_cpu_ns();
    assembly = traces::assemble(spans);
    assembled.push_back(rate(count, start_ns));
  }
  report.add({.name = "assembled-spans-per-s",
              .value = median(assembled),
              .unit = "spans/s",
              .better = Better::kHigher,
              .goal = kGoalSpansPerS,
              .note = fmt::format("{} spans of {} requests in random order, one thread", count,
                                  assembly.traces.size())});
  const int64_t start_ns = thread_cpu_ns();
  const diagnosis::Requests requests(spans, assembly);
  diagnosis::Sides sides(assembly.traces.size(), diagnosis::Side::kReference);
  std::fill(sides.begin() + static_cast<ptrdiff_t>(sides.size() / 2), sides.end(), diagnosis::Side::kWindow);
  const auto found = diagnosis::diagnose(requests, sides);
  report.add({.name = "diagnosed-spans-per-s",
              .value = rate(count, start_ns),
              .unit = "spans/s",
              .better = Better::kHigher,
              .note = fmt::format("{} findings", found.findings.size())});
  return {};
}

}  // namespace plimsoll::bench
