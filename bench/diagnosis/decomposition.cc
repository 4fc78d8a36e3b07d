#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <functional>

#include "base/file.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "bench/diagnosis/parts.h"
#include "bench/harness/child.h"
#include "bench/harness/statistics.h"
#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/rpca/robust_pca.h"
#include "tests/traces/request_generator.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalS = 2;
// CloudDiag's paper: "less than 200 s" for a matrix of this size; numpy took 119 to 200 s here.
constexpr double kPaperS = 200;

struct Run {
  double took_s = 0;
  int iterations = 0;
  size_t rank = 0;
};

Result<Run> decompose(const diagnosis::Matrix& matrix, size_t threads, int rounds) {
  Run run;
  std::vector<double> took_s;
  for (int round = 0; round < rounds; ++round) {
    diagnosis::Matrix copy = matrix;
    const int64_t start_ns = monotonic_now_ns();
    const auto parts = diagnosis::robust_pca(std::move(copy), {.threads = threads});
    took_s.push_back(static_cast<double>(monotonic_now_ns() - start_ns) / 1e9);
    if (!parts || !parts->has_converged) {
      return parts ? Result<Run>(fail(ErrorCode::kUnsupported, "no convergence")) : propagate(parts);
    }
    run.iterations = parts->iterations;
    run.rank = parts->rank;
  }
  run.took_s = median(took_s);
  return run;
}

double resident_bytes() {
  const auto sizes = read_file("/proc/self/statm", 4096);
  const size_t space = sizes ? sizes->find(' ') : std::string::npos;
  const double pages = space == std::string::npos ? 0 : std::strtod(sizes->c_str() + space, nullptr);
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// What `work` has resident at most beyond what there was before it, in a process of its own: a peak does not go down again. There are no
// other threads. Fails where the work does.
Result<double> peak_bytes_of(const std::function<bool()>& work) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe(ends.data()) != 0) {
    return fail_errno(errno, "making a pipe");
  }
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail_errno(errno, "starting a process");
  }
  if (pid == 0) {
    const double before = resident_bytes();
    const bool is_done = work();
    const double bytes = static_cast<double>(own_peak_rss_bytes()) - before;
    const bool is_written = ::write(to.get(), &bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes);
    ::_exit(is_done && is_written ? 0 : 1);
  }
  to = UniqueFd();
  double bytes = 0;
  const bool is_read = ::read(from.get(), &bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes);
  int status = 0;
  const bool has_ended = ::waitpid(pid, &status, 0) == pid && status == 0;
  return is_read && has_ended ? Result<double>(bytes) : fail(ErrorCode::kIo, "the measured process failed");
}

// In matrices of single precision.
Status measure_memory(size_t rows, Report& report) {
  constexpr double kGoalMatrices = 3;
  const diagnosis::RequestMatrix requests =
      diagnosis::RequestGenerator({.seed = 5, .requests = rows, .replicas = 20})
          .matrix(diagnosis::TimeOf::kSelf);
  const double matrix_bytes = static_cast<double>(requests.ms.values().size_bytes());
  const auto alone = peak_bytes_of([&requests] {
    diagnosis::Matrix copy = requests.ms;
    const auto parts = diagnosis::robust_pca(std::move(copy));
    return parts && parts->has_converged;
  });
  const auto with_replicas = peak_bytes_of([&requests] {
    diagnosis::RequestMatrix copy = requests;
    return diagnosis::anomalous_columns(copy, diagnosis::CloudDiagOptions::improved()).has_value();
  });
  if (!alone || !with_replicas) {
    return propagate(!alone ? alone : with_replicas);
  }
  report.add({.name = fmt::format("rpca-{}x117-peak-matrices", rows),
              .value = *alone / matrix_bytes,
              .unit = "ratio",
              .goal = kGoalMatrices,
              .note = "resident, with its input"});
  report.add({.name = fmt::format("clouddiag-{}x117-peak-matrices", rows),
              .value = *with_replicas / matrix_bytes,
              .unit = "ratio",
              .note = "with the replicas of all entries, as large as a matrix"});
  return {};
}

}  // namespace

Status measure_decomposition(const Flags& flags, Report& report) {
  const size_t rows = flags.quick ? 20'000 : 100'000;
  double whole_s = 0;
  for (const auto& [name, time_of] :
       {std::pair("self", diagnosis::TimeOf::kSelf), std::pair("inclusive", diagnosis::TimeOf::kInclusive)}) {
    const diagnosis::RequestGenerator generator({.seed = 5, .requests = rows, .replicas = 20});
    const diagnosis::Matrix matrix = generator.matrix(time_of).ms;
    for (const size_t threads : {2, 1}) {
      const auto run = decompose(matrix, threads, flags.quick ? 1 : 3);
      if (!run) {
        return propagate(run);
      }
      whole_s = threads == 1 ? run->took_s : whole_s;
      report.add({.name = fmt::format("rpca-{}x117-{}-{}-threads-s", rows, name, threads),
                  .value = run->took_s,
                  .unit = "s",
                  .peer = flags.quick ? "" : "the paper",
                  .peer_value = flags.quick ? 0 : kPaperS,
                  .goal = threads == 2 && !flags.quick ? std::optional(kGoalS) : std::nullopt,
                  .note = fmt::format("{} iterations, rank {}", run->iterations, run->rank)});
    }
  }
  const diagnosis::RequestGenerator quarter({.seed = 5, .requests = rows / 4, .replicas = 20});
  const auto run = decompose(quarter.matrix(diagnosis::TimeOf::kInclusive).ms, 1, flags.quick ? 1 : 3);
  if (!run) {
    return propagate(run);
  }
  report.add({.name = "rpca-time-of-four-times-the-requests-ratio",
              .value = whole_s / run->took_s,
              .unit = "ratio",
              .goal = 4.6,
              .note = "linear: 4"});
  return measure_memory(rows, report);
}

}  // namespace plimsoll::bench
