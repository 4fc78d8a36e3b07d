#include <algorithm>
#include <filesystem>

#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/symbolizer/measured_run.h"
#include "bench/symbolizer/parts.h"
#include "bench/symbolizer/peers.h"
#include "bench/symbolizer/subject.h"

namespace plimsoll::bench {
namespace {

constexpr double kMebibyte = 1 << 20;

struct Built {
  std::vector<double> cpu_s;
  std::vector<double> wall_s;
  double peak_anonymous_mib = 0;
  double file_mib = 0;
};

// Runs the command once more, which writes `file`.
Status build_once(const std::vector<std::string>& command, const std::string& file, Built& built) {
  const auto cost = run_measured(command);
  std::error_code error;
  const uint64_t file_bytes = cost ? std::filesystem::file_size(file, error) : 0;
  if (!cost || error) {
    return cost ? fail_errno(error.value(), "looking at {}", file) : propagate(cost);
  }
  built.cpu_s.push_back(cost->cpu_s);
  built.wall_s.push_back(cost->wall_s);
  built.peak_anonymous_mib =
      std::max(built.peak_anonymous_mib, static_cast<double>(cost->peak_anonymous_bytes) / kMebibyte);
  built.file_mib = static_cast<double>(file_bytes) / kMebibyte;
  return {};
}

void report_built(const Subject& subject, const Built& ours, const Built& gsym, Report& report) {
  const std::string peer = "llvm-gsymutil --convert";
  report.add({.name = "table-build-cpu-s",
              .value = median(ours.cpu_s),
              .unit = "s",
              .peer = peer,
              .peer_value = median(gsym.cpu_s),
              .goal_ratio = 1,
              .note = fmt::format("{}, {:.0f} MB of DWARF", subject.name,
                                  static_cast<double>(subject.dwarf_bytes) / 1e6)});
  report.add({.name = "table-build-wall-s",
              .value = median(ours.wall_s),
              .unit = "s",
              .peer = peer,
              .peer_value = median(gsym.wall_s),
              .goal_ratio = 1,
              .note = "it has a thread for each CPU"});
  report.add({.name = "table-build-anonymous-mib",
              .value = ours.peak_anonymous_mib,
              .unit = "MiB",
              .peer = peer,
              .peer_value = gsym.peak_anonymous_mib,
              .goal = 1024,
              .note = "the most that RssAnon was, looked at each millisecond"});
  report.add({.name = "table-mib",
              .value = ours.file_mib,
              .unit = "MiB",
              .peer = "GSYM",
              .peer_value = gsym.file_mib,
              .goal_ratio = 1 / 1.3,
              .note = "GSYM has no columns, discriminators and producers"});
}

}  // namespace

Status measure_building(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const auto subject = folder ? find_subject(flags) : propagate(folder);
  if (!subject) {
    return propagate(subject);
  }
  const std::string table = *folder / "table";
  const std::string gsym = *folder / "gsym";
  Built ours;
  Built theirs;
  for (int round = 0; round < (flags.quick ? 1 : 3); ++round) {
    auto built = build_once(table_command(*subject, table), table, ours);
    built = built ? build_once(gsym_command(*subject, gsym), gsym, theirs) : propagate(built);
    if (!built) {
      return propagate(built);
    }
  }
  report_built(*subject, ours, theirs, report);
  return {};
}

}  // namespace plimsoll::bench
