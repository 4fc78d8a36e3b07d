#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/file.h"
#include "bench/fdo/exact_counts.h"
#include "bench/fdo/parts.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "query/fdo/code/execution.h"
#include "query/fdo/code/read_code.h"

namespace plimsoll::bench {
namespace {

struct Subject {
  std::string_view name;
  const char* exact_rounds;
  const char* sampled_rounds;
  const char* quick_rounds;
};
constexpr uint64_t kMaxProgramBytes = uint64_t{64} << 20;
constexpr std::array<Subject, 4> kSubjects = {{{"fdo_json_gcc", "10", "2000", "500"},
                                               {"fdo_json_clang", "10", "2000", "500"},
                                               {"fdo_compressor_gcc", "16", "320", "96"},
                                               {"fdo_compressor_clang", "16", "320", "96"}}};

fdo::BinaryCounts counts_of(const CountByAddress& samples) {
  fdo::BinaryCounts counts;
  counts.event = "cpu-clock";
  for (const auto& [address, count] : samples) {
    counts.addresses.push_back({address, count, count, 0});
  }
  return counts;
}

// By block: its first instruction's.
std::vector<double> exact_blocks(const fdo::ProgramCode& code, const CountByAddress& exact) {
  std::vector<double> blocks;
  for (const fdo::FunctionCode& function : code.functions) {
    for (const fdo::Block& block : function.blocks) {
      const auto found = exact.find(block.from);
      blocks.push_back(found == exact.end() ? 0 : found->second);
    }
  }
  return blocks;
}

std::vector<double> estimated_blocks(const fdo::ProgramCode& code, const fdo::Execution& execution) {
  std::map<uint64_t, double> by_address;
  for (const fdo::CountedRange& range : execution.counts.ranges) {
    by_address[range.first] = range.count;
  }
  std::vector<double> blocks;
  for (const fdo::FunctionCode& function : code.functions) {
    for (const fdo::Block& block : function.blocks) {
      const auto found = by_address.find(block.from);
      blocks.push_back(found == by_address.end() ? 0 : found->second);
    }
  }
  return blocks;
}

// What two distributions have in common.
double overlap(std::span<const double> a, std::span<const double> b) {
  const double sum_a = std::accumulate(a.begin(), a.end(), 0.0);
  const double sum_b = std::accumulate(b.begin(), b.end(), 0.0);
  double common = 0;
  for (size_t i = 0; i < a.size() && sum_a > 0 && sum_b > 0; ++i) {
    common += std::min(a[i] / sum_a, b[i] / sum_b);
  }
  return common;
}

// Function by function, each as heavy as its instructions that ran: what decides about branches and layout within it.
double overlap_within(const fdo::ProgramCode& code, std::span<const double> exact,
                      std::span<const double> estimated) {
  double sum = 0;
  double weights = 0;
  size_t first = 0;
  for (const fdo::FunctionCode& function : code.functions) {
    double weight = 0;
    for (size_t i = 0; i < function.blocks.size(); ++i) {
      weight += exact[first + i] * function.blocks[i].instructions;
    }
    sum += weight * overlap(exact.subspan(first, function.blocks.size()),
                            estimated.subspan(first, function.blocks.size()));
    weights += weight;
    first += function.blocks.size();
  }
  return weights > 0 ? sum / weights : 0;
}

double correlation(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

Status measure_subject(const Subject& subject, const Flags& flags, const ScratchFolder& scratch,
                       Report& report) {
  const std::string program = sibling_program(std::string(subject.name));
  const std::string folder = scratch / std::string(subject.name);
  std::filesystem::create_directories(folder);
  const auto exact = exact_counts({program, subject.exact_rounds}, folder);
  const auto sampled =
      exact ? sampled_counts({program, flags.quick ? subject.quick_rounds : subject.sampled_rounds}, folder)
            : propagate(exact);
  const auto bytes = sampled ? read_file(program, kMaxProgramBytes) : propagate(sampled);
  const auto binary = bytes ? elf::ElfFile::parse(as_bytes(*bytes)) : propagate(bytes);
  if (!binary) {
    return propagate(binary, "{}", subject.name);
  }
  const fdo::BinaryCounts counts = counts_of(*sampled);
  const auto extents = fdo::function_extents(*binary);
  const auto code = fdo::read_code(*binary, extents, fdo::sampled_addresses(counts));
  if (!code) {
    return propagate(code, "{}", subject.name);
  }
  const std::vector<double> truth = exact_blocks(*code, *exact);
  const int64_t start_ns = thread_cpu_ns();
  const fdo::Execution smooth = fdo::execution_of_samples(*code, counts);
  const double cost_ms = static_cast<double>(thread_cpu_ns() - start_ns) / 1e6;
  const std::vector<double> ours = estimated_blocks(*code, smooth);
  const std::vector<double> plain =
      estimated_blocks(*code, fdo::execution_of_samples(*code, counts, {.smooth = false}));
  const std::string peer = "samples by instruction";
  const std::string name(subject.name.substr(4));
  const std::string note = fmt::format("{:.0f} samples, {} blocks", smooth.value_matched, truth.size());
  report.add({name + "-overlap-share",
              overlap(truth, ours),
              "",
              Better::kHigher,
              peer,
              overlap(truth, plain),
              {},
              {},
              note});
  report.add({name + "-overlap-within-functions-share", overlap_within(*code, truth, ours), "",
              Better::kHigher, peer, overlap_within(*code, truth, plain)});
  report.add({name + "-correlation", correlation(truth, ours), "", Better::kHigher, peer,
              correlation(truth, plain)});
  report.add({name + "-cpu-ms", cost_ms, "ms"});
  return {};
}

}  // namespace

Status measure_flow(const Flags& flags, Report& report) {
  const auto scratch = ScratchFolder::create();
  if (!scratch) {
    return propagate(scratch);
  }
  for (const Subject& subject : kSubjects) {
    if (const Status status = measure_subject(subject, flags, *scratch, report); !status) {
      return status;
    }
  }
  return {};
}

}  // namespace plimsoll::bench
