#include "tests/fleets/vm_fleet.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <string_view>

namespace plimsoll::fleets {
namespace {

constexpr std::array<const char*, 2> kPlatforms{"B8ms", "D8s_v5"};
constexpr size_t kNamedJobs = 4;

// Reads what is gzipped, or is not.
Result<std::string> read_gzipped(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(path.c_str(), "rb"), ::gzclose);
  if (file == nullptr) {
    return fail(ErrorCode::kNotFound, "cannot open {}", path);
  }
  std::string content;
  std::array<char, 1U << 16U> part{};
  int read = 0;
  while ((read = ::gzread(file.get(), part.data(), part.size())) > 0) {
    content.append(part.data(), static_cast<size_t>(read));
  }
  if (read < 0) {
    return fail(ErrorCode::kCorrupt, "cannot read {}", path);
  }
  return content;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

double number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <typename T>
const T& pick(const std::vector<T>& values, Random& random) {
  return values[std::uniform_int_distribution<size_t>(0, values.size() - 1)(random)];
}

namespace vm {
enum Column : size_t {
  kCycles = 0,
  kFirstJob = 1,
  kInstructions = kFirstJob + kNamedJobs,
  kFirstJobInstructions,
  kFirstJobCycles,
  kColumns,
};
}  // namespace vm

Fleet empty_fleet() {
  Fleet fleet;
  fleet.name = "vm-noise";
  fleet.parts = kNamedJobs;
  fleet.hits.resize(vm::kColumns);
  for (size_t job = 0; job < kNamedJobs; ++job) {
    fleet.questions.push_back(
        {"job-" + std::to_string(job + 1), Statistic::kShare, vm::kFirstJob + job, vm::kCycles});
  }
  fleet.questions.push_back({"ipc", Statistic::kRatio, vm::kInstructions, vm::kCycles});
  fleet.questions.push_back({"ipc-job-1", Statistic::kRatio, vm::kFirstJobInstructions, vm::kFirstJobCycles});
  fleet.questions.push_back({"total", Statistic::kTotal, vm::kCycles, vm::kCycles});
  return fleet;
}

void add_job(size_t job, double instructions, double performance, Fleet& fleet) {
  const double cycles = instructions / performance;
  fleet.hits[vm::kCycles].back() += cycles;
  fleet.hits[vm::kInstructions].back() += instructions;
  if (job < kNamedJobs) {
    fleet.hits[vm::kFirstJob + job].back() += cycles;
  }
  if (job == 0) {
    fleet.hits[vm::kFirstJobInstructions].back() += instructions;
    fleet.hits[vm::kFirstJobCycles].back() += cycles;
  }
}

}  // namespace

Result<std::vector<MeasuredJob>> read_vm_noise(const std::string& folder) {
  const auto quotas = read_gzipped(folder + "/jobs.csv");
  const auto performance = quotas ? read_gzipped(folder + "/performance.csv.gz") : propagate(quotas);
  if (!performance) {
    return propagate(performance);
  }
  std::map<std::string_view, MeasuredJob> by_name;
  for (const std::string_view line : split(*quotas, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    by_name[fields.front()] = {std::string(fields.front()), number(fields.at(1)), {}};
  }
  for (const std::string_view line : split(*performance, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (const double value = number(fields.at(3)); value > 0) {
      by_name[fields.at(1)].performance[std::string(fields.front())].push_back(value);
    }
  }
  std::vector<MeasuredJob> jobs;
  for (auto& [name, job] : by_name) {
    if (job.quota_cores > 0 && job.performance.size() == kPlatforms.size()) {
      jobs.push_back(std::move(job));
    }
  }
  std::ranges::sort(jobs, std::greater(), &MeasuredJob::quota_cores);
  return jobs;
}

Fleet vm_fleet(const std::vector<MeasuredJob>& jobs, double fraction, size_t machines, Random& random) {
  std::vector<double> quotas;
  for (const MeasuredJob& job : jobs) {
    quotas.push_back(job.quota_cores);
  }
  std::discrete_distribution<size_t> pick_job(quotas.begin(), quotas.end());
  std::gamma_distribution<double> size(2, 300);
  Fleet fleet = empty_fleet();
  for (size_t i = 0; i < machines; ++i) {
    const uint32_t platform = i % 10 < 7 ? 0 : 1;
    fleet.machines.push_back({.stratum = platform});
    for (std::vector<double>& column : fleet.hits) {
      column.push_back(0);
    }
    for (size_t instance = 0; instance < 2; ++instance) {
      const size_t job = pick_job(random);
      const auto& by_platform = jobs[job].performance;
      const double usual = mean(by_platform.at(kPlatforms.front()));
      add_job(job, size(random), pick(by_platform.at(kPlatforms.at(platform)), random) / usual, fleet);
    }
  }
  draw_evenly(fraction, 2, fleet);
  return fleet;
}

}  // namespace plimsoll::fleets
