#include "daemon/sampling/open_event.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace plimsoll::perf {
namespace {

std::string paranoia() {
  const auto level = read_file("/proc/sys/kernel/perf_event_paranoid", 64);
  return level ? level->substr(0, level->find('\n')) : "unknown";
}

// What x86 answers with EOPNOTSUPP, and others with EINVAL.
constexpr std::string_view kNoBranches =
    "this CPU records no branches (Intel LBR, AMD LbrExtV2 since Linux 6.1, Arm BRBE since 6.17), or its "
    "host does "
    "not pass that on to virtual machines";

// Why the kernel would find the attributes invalid.
std::string_view explain_invalid(const perf_event_attr& attr, bool is_in_group) {
  if (attr.branch_sample_type != 0) {
    return kNoBranches;
  }
  if (is_in_group) {
    return "the CPU may have too few counters for the event and its group";
  }
  return attr.type > PERF_TYPE_BREAKPOINT || attr.type == PERF_TYPE_RAW
             ? "the PMU rejects these terms, or can count but not sample"
             : "Linux 6.0 or newer is needed (PERF_FORMAT_LOST)";
}

std::unexpected<Error> explain_open_failure(int error_number, const perf_event_attr& attr,
                                            std::string_view name, int cpu, bool is_in_group) {
  auto failure = fail_errno(error_number, "opening event {} on CPU {}", name, cpu);
  switch (error_number) {
    case EACCES:
    case EPERM:
      return with_hint(failure,
                       fmt::format("sampling a whole machine needs CAP_PERFMON (kernel.perf_event_paranoid "
                                   "is {}; without the capability it would have to be 0 or less)",
                                   paranoia()));
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      failure.error().code = ErrorCode::kUnsupported;
      if (error_number == EOPNOTSUPP && attr.branch_sample_type != 0) {
        return with_hint(failure, std::string(kNoBranches));
      }
      return with_hint(failure,
                       "this machine's CPU or virtual machine does not offer the event: "
                       "\"plimsolld probe\" lists those it does");
    case EMFILE:
      return with_hint(failure, "raise the limit of open files (ulimit -n)");
    case EINVAL:
      failure.error().code = ErrorCode::kUnsupported;
      return with_hint(failure, std::string(explain_invalid(attr, is_in_group)));
    default:
      return failure;
  }
}

}  // namespace

bool samples_tell_cgroups() {
  static const bool tell = [] {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    attr.sample_type = PERF_SAMPLE_CGROUP;
    const UniqueFd fd(
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    return fd.valid() || errno != EINVAL;
  }();
  return tell;
}

Result<UniqueFd> open_event(const perf_event_attr& attr, int cpu, std::string_view name, int leader_fd) {
  perf_event_attr offered = attr;
  if (!samples_tell_cgroups()) {
    offered.sample_type &= ~uint64_t{PERF_SAMPLE_CGROUP};
    offered.cgroup = 0;
  }
  const long fd = ::syscall(SYS_perf_event_open, &offered, -1, cpu, leader_fd, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) {
    return explain_open_failure(errno, attr, name, cpu, leader_fd >= 0);
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<UniqueFd> open_group_event(const perf_event_attr& attr, const UniqueFd& group, int cpu,
                                  std::string_view name) {
  const long fd = ::syscall(SYS_perf_event_open, &attr, group.get(), cpu, -1,
                            PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
  if (fd < 0 && errno == EINVAL) {
    return with_hint(fail(ErrorCode::kUnsupported, "counting {} for a control group on CPU {}", name, cpu),
                     "the kernel has no CONFIG_CGROUP_PERF, or the PMU cannot count per control group");
  }
  if (fd < 0) {
    return explain_open_failure(errno, attr, name, cpu, false);
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<CounterValues> read_counter(const UniqueFd& fd) {
  CounterValues values{};
  if (::read(fd.get(), &values, sizeof values) != sizeof values) {
    return fail_errno(errno, "reading a counter");
  }
  return values;
}

}  // namespace plimsoll::perf
