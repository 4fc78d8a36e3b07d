#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "bench/store/parts.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kWords = size_t{1} << 25U;  // 256 MiB, which no cache holds
constexpr double kGigabyte = 1e9;

// Runs `work` on each of the threads' own memory at once; median seconds.
template <typename Work>
double median_s(std::vector<std::vector<uint64_t>>& memory, Work work) {
  std::vector<double> took_s;
  for (int round = 0; round < kRounds; ++round) {
    const double start_s = now_s();
    std::vector<std::jthread> threads;
    for (std::vector<uint64_t>& words : memory) {
      threads.emplace_back([&] { work(words); });
    }
    threads.clear();  // waits
    took_s.push_back(now_s() - start_s);
  }
  return median(took_s);
}

}  // namespace

Status measure_memory_of_store(const Flags& flags, Report& report) {
  const size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<uint64_t>> memory(cpus, std::vector<uint64_t>(kWords / (flags.quick ? 4 : 1), 1));
  const double bytes = static_cast<double>(cpus * memory[0].size() * sizeof(uint64_t));
  const double read_s = median_s(memory, [](const std::vector<uint64_t>& words) {
    keep(std::accumulate(words.begin(), words.end(), uint64_t{0}));
  });
  const double copied_s = median_s(memory, [](std::vector<uint64_t>& words) {
    const size_t half = words.size() / 2;
    std::memcpy(words.data(), words.data() + half, half * sizeof(uint64_t));
    keep(words[0]);
  });
  report.add({.name = "memory_read",
              .value = bytes / read_s / kGigabyte,
              .unit = "GB/s",
              .better = Better::kHigher,
              .note = "summing words, all CPUs at once"});
  report.add({.name = "memory_copy",
              .value = bytes / copied_s / kGigabyte,
              .unit = "GB/s",
              .better = Better::kHigher,
              .note = "memcpy, bytes read and written, all CPUs at once"});
  return {};
}

}  // namespace plimsoll::bench
