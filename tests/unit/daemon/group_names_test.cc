// Samples and the census, each on its own way to a process's control group, give an instance the same names.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "capture/identity/processes.h"
#include "daemon/machine/census.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/container_ids.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/capture/identity/no_images.h"

namespace plimsoll::identity {
namespace {

// How hierarchies are mounted. "PATH" is where the instance is in one of them.
struct Layout {
  const char* name;
  const char* proc_cgroup;  // of a process of the instance
  const char* sampled;      // folder whose number its samples tell; empty: they tell none
  const char* counted;      // folder that has its CPU time
};

constexpr std::array<Layout, 8> kLayouts{{
    {"unified", "0::PATH\n", "PATH", "PATH"},
    {"v1", "3:perf_event:PATH\n2:cpu,cpuacct:PATH\n", "perf_event/PATH", "cpuacct/PATH"},
    {"v1 with an empty unified", "3:perf_event:PATH\n2:cpu,cpuacct:PATH\n1:name=systemd:PATH\n0::/\n",
     "perf_event/PATH", "cpuacct/PATH"},
    {"v1 with the runtime's service in the unified",
     "3:perf_event:PATH\n2:cpu,cpuacct:PATH\n0::/system.slice/runtime.service\n", "perf_event/PATH",
     "cpuacct/PATH"},
    {"v1 with perf_event unused", "3:perf_event:/\n2:cpu,cpuacct:PATH\n0::/\n", "perf_event", "cpuacct/PATH"},
    {"hybrid with perf_event unused", "3:perf_event:/\n2:cpu,cpuacct:PATH\n0::PATH\n", "perf_event",
     "cpuacct/PATH"},
    {"hybrid", "2:cpu,cpuacct:PATH\n1:name=systemd:/\n0::PATH\n", "unified/PATH", "cpuacct/PATH"},
    {"hybrid with an empty unified",
     "9:memory:/a/longer/path/than/any/that/counts\n2:cpu,cpuacct:PATH\n0::/\n", "unified", "cpuacct/PATH"},
}};

const std::vector<std::string>& paths() {
  static const std::string pod = "b9a6c1f0-1234-4cde-8f00-0123456789ab";
  static const std::string pod_of_slice = "b9a6c1f0_1234_4cde_8f00_0123456789ab";
  static const std::vector<std::string> paths{
      "/docker/" + kId,
      "/system.slice/docker-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope",
      "/kubepods/pod" + pod + "/" + kId,
      "/kubepods/burstable/pod" + pod + "/" + kId,
      "/kubepods.slice/kubepods-pod" + pod_of_slice + ".slice/crio-" + kId + ".scope",
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + pod_of_slice +
          ".slice/cri-containerd-" + kId + ".scope",
      "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + pod_of_slice + ".slice/docker-" +
          kId + ".scope",
      "/system.slice/web@2.service",
      "/user.slice/user-0.slice/session-3.scope",
      "/batch/job_7"};
  return paths;
}

std::string with_path(std::string text, const std::string& path) {
  for (size_t at = text.find("PATH"); at != std::string::npos; at = text.find("PATH")) {
    text.replace(at, 4, path);
  }
  return text;
}

// Control groups as this layout has them, down to the instance's.
class Mounts {
 public:
  Mounts(const Layout& layout, const std::string& path) {
    const std::string text = layout.proc_cgroup;
    const bool is_unified = text.starts_with("0::");
    if (is_unified || text.find("0::") != std::string::npos) {
      file(is_unified ? "cgroup.controllers" : "unified/cgroup.controllers", "");
    }
    if (text.find("perf_event") != std::string::npos) {
      file("perf_event/cgroup.procs", "");
    }
    sampled_ = folder_ / with_path(layout.sampled, path);
    std::filesystem::create_directories(sampled_);
    count(with_path(layout.counted, path), is_unified);
    file(with_path(layout.counted, path) + "/cgroup.procs", "10\n");
  }

  const std::string& path() const { return folder_.path(); }
  uint64_t sampled_id() const {
    struct stat info{};
    EXPECT_EQ(::stat(sampled_.c_str(), &info), 0) << sampled_;
    return info.st_ino;
  }

 private:
  void file(const std::string& name, const std::string& content) const {
    const std::filesystem::path whole = folder_ / name;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << content;
  }
  // In this group and all above it.
  void count(std::string group, bool is_unified) const {
    for (; !group.empty() && group != "cpuacct";
         group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'))) {
      file(group + (is_unified ? "/cpu.stat" : "/cpuacct.usage"), is_unified ? "usage_usec 5\n" : "5000\n");
    }
    file(is_unified ? "cpu.stat" : "cpuacct/cpuacct.usage", is_unified ? "usage_usec 5\n" : "5000\n");
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string sampled_;
};

std::string names_of(const Workload& workload, const std::string& cgroup) {
  return fmt::format("{} | {} | {} | {}", workload.job, workload.instance, workload.container, cgroup);
}

std::string named_by_samples(const ProcFs& proc_fs, const Mounts& mounts) {
  const NoImages images;
  BinaryTable binaries(images);
  ProcessTable table(proc_fs, binaries, mounts.path());
  table.scan();
  Process& process = table.find(10);
  const std::string cgroup = *table.cgroup_of(process, mounts.sampled_id());
  return names_of(workload_of({cgroup, process.identity->executable, process.identity->comm}), cgroup);
}

std::string named_by_census(const ProcFs& proc_fs, const Mounts& mounts) {
  const auto taken = Census(proc_fs, mounts.path()).take(0);
  EXPECT_TRUE(taken) << taken.error().text();
  const auto found = std::ranges::find(taken->instances, "/usr/bin/job", &InstanceUsage::executable);
  if (found == taken->instances.end()) {
    return "not there";
  }
  return names_of({found->job, found->instance, found->container, {}, {}}, found->cgroup);
}

TEST(GroupNames, AreThoseOfSamplesInTheCensusToo) {
  for (const Layout& layout : kLayouts) {
    for (const std::string& path : paths()) {
      SCOPED_TRACE(std::string(layout.name) + ": " + path);
      const Mounts mounts(layout, path);
      const FakeProc proc;
      proc.process(10, {.comm = "job",
                        .executable = "/usr/bin/job",
                        .cgroup = with_path(layout.proc_cgroup, path),
                        .maps = ""});
      const ProcFs proc_fs(proc.root(), standing_clocks());
      const std::string by_samples = named_by_samples(proc_fs, mounts);
      EXPECT_EQ(named_by_census(proc_fs, mounts), by_samples);
      EXPECT_TRUE(by_samples.ends_with("| " + path)) << by_samples;
    }
  }
}

}  // namespace
}  // namespace plimsoll::identity
