#include "daemon/group_counts/group_counter.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>

#include "daemon/events/cpu_list.h"
#include "daemon/sampling/event_config.h"
#include "daemon/sampling/open_event.h"

namespace plimsoll {
namespace {

class PerfGroupCounter : public GroupCounter {
 public:
  explicit PerfGroupCounter(std::vector<UniqueFd> fds) : fds_(std::move(fds)) {}

  Result<std::vector<perf::CounterValues>> read() const override {
    std::vector<perf::CounterValues> values;
    values.reserve(fds_.size());
    for (const UniqueFd& fd : fds_) {
      const auto read = perf::read_counter(fd);
      if (!read) {
        return propagate(read);
      }
      values.push_back(*read);
    }
    return values;
  }

 private:
  std::vector<UniqueFd> fds_;
};

}  // namespace

Result<std::vector<int>> PerfGroupCounters::cpus() const {
  return perf::online_cpus();
}

size_t PerfGroupCounters::max_open_files() const {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

Result<std::unique_ptr<GroupCounter>> PerfGroupCounters::open(const std::string& folder,
                                                              const perf::EventType& event,
                                                              std::span<const int> cpus) const {
  const UniqueFd group(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group.valid()) {
    return fail_errno(errno, "opening the control group {}", folder);
  }
  std::vector<UniqueFd> fds;
  for (const int cpu : cpus) {
    const perf::EventCode* const code = code_on(event, cpu);
    if (code == nullptr) {
      continue;
    }
    perf_event_attr attr = perf::counting_attr(event);
    set_code(*code, attr);
    auto fd = perf::open_group_event(attr, group, cpu, event.name);
    if (!fd) {
      return propagate(fd);
    }
    fds.push_back(std::move(*fd));
  }
  return std::make_unique<PerfGroupCounter>(std::move(fds));
}

}  // namespace plimsoll
