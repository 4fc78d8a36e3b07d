#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/time.h"
#include "cli/fdo.h"
#include "cli/profiled_runs.h"
#include "statistics/mean_interval.h"

namespace plimsoll::cli {
namespace {

// Fewer pairs give no interval that is worth much.
constexpr uint32_t kMinPairs = 3;

// Pairs of runs: CPU time of the test program over that of the base, as logarithms, so that halving and doubling weigh alike.
struct Comparison {
  std::vector<double> log_ratios = {};
  double base_ns = 0;  // sums
  double test_ns = 0;

  size_t pairs() const { return log_ratios.size(); }
};

struct Speedup {
  double percent = 0;  // less CPU time
  double low = 0;      // 95 % interval
  double high = 0;
};

double percent_less(double log_ratio) {
  return 100 * (1 - std::exp(log_ratio));
}

Speedup speedup_of(const Comparison& comparison) {
  const statistics::MeanInterval ratio = statistics::mean_interval(comparison.log_ratios);
  return {
      .percent = percent_less(ratio.mean), .low = percent_less(ratio.high), .high = percent_less(ratio.low)};
}

std::vector<std::string> command_of(const FdoVerifyOptions& options, const std::string& program) {
  if (options.command.empty()) {
    return {"/bin/sh", "-c", program};
  }
  std::vector<std::string> command;
  for (std::string word : options.command) {
    for (size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}", at + program.size())) {
      word.replace(at, 2, program);
    }
    command.push_back(std::move(word));
  }
  return command;
}

Status check_options(const FdoVerifyOptions& options) {
  const bool has_place = std::ranges::any_of(
      options.command, [](const std::string& word) { return word.find("{}") != std::string::npos; });
  return options.command.empty() || has_place
             ? Status()
             : with_hint(
                   fail(ErrorCode::kInvalid, "the command after \"--\" runs the same program both times"),
                   "write {} where --base and --test are to stand: -- {} --input data.json");
}

void show(const std::string& text) {
  if (::isatty(STDERR_FILENO) == 1) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }
}

Result<double> cpu_time_of(ProfiledRuns& runs, std::string_view which) {
  const auto time = runs.run(0);
  if (!time) {
    return propagate(time, "running the {} program", which);
  }
  if (time->cpu_ns <= 0) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the {} program used no CPU time that could be measured", which),
        "give it more work");
  }
  return static_cast<double>(time->cpu_ns);
}

Result<Comparison> compare(const FdoVerifyOptions& options) {
  auto base = ProfiledRuns::create(
      {.command = command_of(options, options.base), .profiler_options = {}, .limit_s = options.limit_s});
  auto test = ProfiledRuns::create(
      {.command = command_of(options, options.test), .profiler_options = {}, .limit_s = options.limit_s});
  if (!base || !test) {
    return propagate(!base ? base : test);
  }
  Comparison comparison;
  std::mt19937_64 random(std::random_device{}());
  const int64_t start_ns = monotonic_now_ns();
  // The first pair warms caches of files, and counts for nothing.
  for (uint32_t pair = 0; pair <= options.runs; ++pair) {
    const double seconds = static_cast<double>(monotonic_now_ns() - start_ns) / 1e9;
    if (comparison.pairs() >= kMinPairs && seconds > options.max_seconds) {
      break;
    }
    show(fmt::format("\r\x1b[Krun {} of {} of each ", pair, options.runs));
    const bool base_first = (random() & 1U) != 0;
    const auto first = base_first ? cpu_time_of(*base, "base") : cpu_time_of(*test, "test");
    const auto second = !first ? first : base_first ? cpu_time_of(*test, "test") : cpu_time_of(*base, "base");
    if (!second) {
      show("\r\x1b[K");
      return propagate(second);
    }
    const double base_ns = base_first ? *first : *second;
    const double test_ns = base_first ? *second : *first;
    if (pair > 0) {
      comparison.log_ratios.push_back(std::log(test_ns / base_ns));
      comparison.base_ns += base_ns;
      comparison.test_ns += test_ns;
    }
  }
  show("\r\x1b[K");
  return comparison;
}

std::string json_of(const Comparison& comparison, const Speedup& speedup, bool accepted) {
  const auto pairs = static_cast<double>(comparison.pairs());
  const nlohmann::ordered_json json = {{"accepted", accepted},
                                       {"speedup_percent", speedup.percent},
                                       {"speedup_low_percent", speedup.low},
                                       {"speedup_high_percent", speedup.high},
                                       {"runs", comparison.pairs()},
                                       {"base_cpu_seconds", comparison.base_ns / pairs / 1e9},
                                       {"test_cpu_seconds", comparison.test_ns / pairs / 1e9}};
  return json.dump(2) + "\n";
}

std::string text_of(const FdoVerifyOptions& options, const Comparison& comparison, const Speedup& speedup,
                    bool accepted) {
  const auto pairs = static_cast<double>(comparison.pairs());
  return fmt::format(
      "{}: the test program takes {:.2f} % less CPU time (95 % interval {:.2f} to {:.2f} %; more than {:.2f} "
      "% is "
      "wanted)\nCPU time of a run: {:.3f} s before, {:.3f} s after, on the mean of {} pairs of runs\n",
      accepted ? "accepted" : "rejected", speedup.percent, speedup.low, speedup.high,
      options.min_speedup_percent, comparison.base_ns / pairs / 1e9, comparison.test_ns / pairs / 1e9,
      comparison.pairs());
}

}  // namespace

Status run_fdo_verify(const FdoVerifyOptions& options) {
  if (auto checked = check_options(options); !checked) {
    return checked;
  }
  const auto comparison = compare(options);
  if (!comparison) {
    Error error = comparison.error();
    // A program that fails is no wrong use of this one, and no verdict.
    error.code = ErrorCode::kUnavailable;
    return std::unexpected(std::move(error));
  }
  const Speedup speedup = speedup_of(*comparison);
  const bool accepted = speedup.low > options.min_speedup_percent;
  auto written = write_output("-", options.is_json ? json_of(*comparison, speedup, accepted)
                                                   : text_of(options, *comparison, speedup, accepted));
  if (!written || accepted) {
    return written;
  }
  return with_hint(fail(ErrorCode::kConflict, "rejected: a speed-up of more than {:.2f} % is not certain",
                        options.min_speedup_percent),
                   speedup.high <= options.min_speedup_percent
                       ? "keep the base program"
                       : "keep the base program, or measure with more --runs or more work for each run");
}

}  // namespace plimsoll::cli
