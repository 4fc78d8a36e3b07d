// Who a process is: /proc, control groups, workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>

#include "capture/identity/cgroup.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/workload.h"
#include "tests/unit/capture/identity/container_ids.h"
#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::identity {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(ParseMaps, ReadsALine) {
  const auto entries = parse_maps("55d0a000-55d0c000 r-xp 00001000 fe:01 1234    /usr/bin/job\n");
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].start, 0x55d0a000);
  EXPECT_EQ(entries[0].end, 0x55d0c000);
  EXPECT_TRUE(entries[0].executable);
  EXPECT_EQ(entries[0].file_offset, 0x1000);
  EXPECT_EQ(entries[0].file, (FileId{0xfe, 1, 1234}));
  EXPECT_EQ(entries[0].path, "/usr/bin/job");
  EXPECT_FALSE(entries[0].deleted);
}

TEST(ParseMaps, KeepsSpacesAndTakesDeletedOff) {
  const auto entries = parse_maps(
      "1000-2000 r-xp 00000000 fe:01 5 /srv/my job/a.so (deleted)\n"
      "2000-3000 rw-p 00000000 00:00 0 \n"
      "3000-4000 r-xp 00000000 00:00 0                          [vdso]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]");
  ASSERT_THAT(entries, SizeIs(4));
  EXPECT_EQ(entries[0].path, "/srv/my job/a.so");
  EXPECT_TRUE(entries[0].deleted);
  EXPECT_EQ(entries[1].path, "");
  EXPECT_FALSE(entries[1].executable);
  EXPECT_EQ(entries[2].path, "[vdso]");
  EXPECT_EQ(entries[3].start, 0xffffffffff600000);
}

TEST(ParseMaps, LeavesOutWhatTheKernelDoesNotWrite) {
  for (const char* line :
       {"", "\n\n", "text", "1000", "1000-", "1000-2000", "1000-2000 ", "1000-2000 r-x", "1000-2000 r-xp ",
        "1000-2000 r-xp 0", "1000-2000 r-xp 0 fe:01", "1000-2000 r-xp 0 fe:01 x /a",
        "2000-1000 r-xp 0 fe:01 1 /a", "1000-1000 r-xp 0 fe:01 1 /a",
        "1000-20000000000000000 r-xp 0 fe:01 1 /a", "-1-2 r-xp 0 fe:01 1 /a"}) {
    EXPECT_THAT(parse_maps(line), IsEmpty()) << line;
  }
  EXPECT_THAT(parse_maps("garbage\n1000-2000 r-xp 0 fe:01 1 /a\ngarbage"), SizeIs(1));
}

TEST(Printable, KeepsTextAndReplacesTheRest) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("schön 世界 🚢"), "schön 世界 🚢");
  EXPECT_EQ(printable(std::string_view("a\0b\n\x7f\x1b", 6)), "a?b???");
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("cut \xe4\xb8"), "cut ??");
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "an overlong slash";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
  EXPECT_EQ(printable("\xc3(\xc3\xb6"), "?(ö");
}

TEST(ProcFs, ReadsAProcess) {
  const FakeProc proc;
  proc.process(7, {.comm = "jo\nb",
                   .executable = "/bin/job (deleted)",
                   .cgroup = "0::/a\n",
                   .maps = "1000-2000 r-xp 0 fe:01 1 /bin/job\n"});
  proc.file("7/task/7/comm", "jo\n");
  proc.file("7/task/9/comm", "worker\n");
  proc.file("cpuinfo", "");
  proc.file("12x/comm", "no process\n");
  const ProcFs files(proc.root());
  EXPECT_THAT(files.pids(), UnorderedElementsAre(7));
  EXPECT_EQ(files.comm(7), "jo?b") << "a name may have a line break";
  const auto threads = files.threads(7);
  ASSERT_THAT(threads, SizeIs(1)) << "besides the first, which has the name of the process";
  EXPECT_EQ(threads[0].tid, 9);
  EXPECT_EQ(threads[0].name, "worker");
  EXPECT_EQ(files.executable(7), "/bin/job");
  EXPECT_EQ(files.cgroup(7), "0::/a\n");
  EXPECT_THAT(*files.maps(7), SizeIs(1));
  EXPECT_EQ(files.path_in_root(7, "/bin/job"), proc.root() + "/7/root/bin/job");
}

TEST(ProcFs, TellsWhetherPathsOfAProcessMeanTheSame) {
  const FakeProc proc;
  const std::string other = proc.root() + "/other";
  for (const auto& [process, root] : std::initializer_list<std::pair<std::string, std::string>>{
           {"self", "/"}, {"7", "/"}, {"8", other}, {"other", ""}}) {
    std::filesystem::create_directories(proc.root() + "/" + process);
    if (!root.empty()) {
      std::filesystem::create_directory_symlink(root, proc.root() + "/" + process + "/root");
    }
  }
  const ProcFs files(proc.root());
  EXPECT_TRUE(files.shares_root(7));
  EXPECT_FALSE(files.shares_root(8));
}

TEST(ProcFs, SaysNothingOfAProcessThatIsGone) {
  const FakeProc proc;
  const ProcFs files(proc.root());
  EXPECT_EQ(files.comm(7), "");
  EXPECT_THAT(files.threads(7), IsEmpty());
  EXPECT_EQ(files.executable(7), "");
  EXPECT_EQ(files.cgroup(7), "");
  EXPECT_EQ(files.maps(7).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(ProcFs("/nowhere").pids(), IsEmpty());
}

TEST(ProcFs, IsOfNoUseInAnotherPidNamespace) {
  const FakeProc proc;
  const ProcFs files(proc.root());
  EXPECT_TRUE(files.check_namespace()) << "nothing is known of any namespace";
  proc.file("self/status", "Name:\tjob\nNSpid:\t7\nNSpgid:\t7\t8\n");
  EXPECT_TRUE(files.check_namespace());
  proc.file("self/status", "Name:\tjob\nNSpid:\t4711\t7\nNSpgid:\t7\n");
  const auto checked = files.check_namespace();
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().text(), HasSubstr("--mount-proc"));
}

TEST(CgroupPath, IsTheUnifiedOneOrThatOfCpuTimeOrTheLongest) {
  struct Case {
    std::string text;
    std::string path;
  };
  const std::vector<Case> cases{
      {"0::/system.slice/job.service\n", "/system.slice/job.service"},
      {"12:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker\n0::/\n", "/docker/abc"},
      {"3:memory:/longer/than/it\n0::/a\n", "/a"},
      {"3:cpu:/a\n2:memory:/a/b\n", "/a"},
      {"3:cpu,cpuacct:/a\n2:memory:/a/b\n0::/\n", "/a"},
      {"3:cpuset:/a\n2:memory:/a/b\n1:cpu:/\n", "/a/b"},
      {"3:perf_event:/docker/abc\n2:cpu:/other\n0::/system.slice/containerd.service\n", "/docker/abc"},
      {"3:net_cls,perf_event:/docker/abc\n0::/a\n", "/docker/abc"},
      {"3:perf_event:/\n2:cpu:/other\n0::/a\n", "/a"},
      {"0::/with:colon", "/with:colon"},
      {"0::/bad\xff\n", "/bad?"},
      {"0::/\n", "/"},
      {"", "/"},
      {"\n", "/"},
      {"garbage\n0:\n", "/"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(cgroup_path(c.text), c.path) << c.text;
  }
}

TEST(ContainerId, IsFoundInEveryLayout) {
  const std::string pod_of_slice = "b9a6c1f0_1234_4cde_8f00_0123456789ab";
  const std::vector<std::string> layouts{
      "/docker/" + kId,
      "/system.slice/docker-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope/container",
      "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope",
      "/kubepods/pod" + kPod + "/" + kId,
      "/kubepods/burstable/pod" + kPod + "/" + kId,
      "/kubepods/besteffort/pod" + kPod + "/" + kId + "/nested",
      "/kubepods.slice/kubepods-pod" + pod_of_slice + ".slice/cri-containerd-" + kId + ".scope",
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + pod_of_slice + ".slice/crio-" +
          kId + ".scope",
      "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + pod_of_slice + ".slice/docker-" +
          kId + ".scope",
  };
  for (const std::string& path : layouts) {
    EXPECT_EQ(container_id(path), kId) << path;
    // The same layouts on a machine with the unified hierarchy, and on a hybrid one.
    EXPECT_EQ(container_id(cgroup_path("0::" + path + "\n")), kId) << path;
    EXPECT_EQ(container_id(cgroup_path("5:cpu:" + path + "\n1:name=systemd:" + path + "\n0::/\n")), kId)
        << path;
  }
}

TEST(ContainerId, IsEmptyOutsideContainers) {
  for (const std::string& path : std::vector<std::string>{
           "", "/", "/system.slice/docker.service", "/system.slice/" + kId, "/user.slice/session-3.scope",
           "/docker/buildx", "/machine.slice/libpod-conmon-" + kId + ".scope", "/docker/" + kId + "0",
           "/docker/abc", "/kubepods/pod" + kPod, "/system.slice/docker-UPPER0123456789.scope"}) {
    EXPECT_EQ(container_id(path), "") << path;
  }
}

TEST(PodUid, IsFoundInEveryLayout) {
  const std::string with_underscores = "b9a6c1f0_1234_4cde_8f00_0123456789ab";
  for (const std::string& path : std::vector<std::string>{
           "/kubepods/pod" + kPod + "/" + kId,
           "/kubepods/burstable/pod" + kPod + "/" + kId,
           "/kubepods/besteffort/pod" + kPod + "/crio-" + kId,
           "/kubepods.slice/kubepods-pod" + with_underscores + ".slice/cri-containerd-" + kId + ".scope",
           "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + with_underscores +
               ".slice/crio-" + kId + ".scope",
           "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
           "kubelet-kubepods-besteffort-pod" +
               with_underscores + ".slice/docker-" + kId + ".scope",
           "/docker/" + kId + "/kubelet/kubepods/burstable/pod" + kPod + "/" + kId,
       }) {
    EXPECT_EQ(pod_uid(path), kPod) << path;
    EXPECT_EQ(container_id(path), kId) << path;
    EXPECT_EQ(pod_uid(cgroup_path("5:cpu:" + path + "\n1:name=systemd:" + path + "\n0::/\n")), kPod) << path;
  }
  EXPECT_EQ(pod_uid("/kubepods/burstable/podd41d8cd98f00b204e9800998ecf8427e/" + kId),
            "d41d8cd98f00b204e9800998ecf8427e")
      << "a static pod";
  for (const char* path :
       {"/", "", "/docker/abc", "/podman/b9a6c1f0", "/podb9a6c1f0-1234", "/kubepods/podium",
        "/kubepods.slice/kubepods-pod.slice", "/machine.slice/machine-pod12345678.slice"}) {
    EXPECT_EQ(pod_uid(path), "") << path;
  }
}

TEST(PathToUnit, LeadsToTheInnermostServiceOrScope) {
  EXPECT_EQ(path_to_unit("/system.slice/nginx.service"), "/system.slice/nginx.service");
  EXPECT_EQ(path_to_unit("/user.slice/user@1000.service/app.slice/editor.service/x/y"),
            "/user.slice/user@1000.service/app.slice/editor.service");
  EXPECT_EQ(path_to_unit("/user.slice/user-1000.slice/session-3.scope"),
            "/user.slice/user-1000.slice/session-3.scope");
  EXPECT_EQ(path_to_unit("/system.slice"), "");
  EXPECT_EQ(path_to_unit("/"), "");
  EXPECT_EQ(path_to_unit(""), "");
  EXPECT_EQ(path_to_unit("x.service"), "x.service");
}

TEST(Workload, IsNamedByContainerThenServiceThenProgram) {
  struct Case {
    std::string cgroup, executable, comm;
    std::string job, instance, container;
  };
  const std::string slice = "/system.slice/";
  const std::string user = "/user.slice/user-1000.slice/";
  const std::vector<Case> cases{
      {"/docker/" + kId, "/usr/bin/search", "search:7", "search", kId, kId},
      {slice + "docker-" + kId + ".scope", "/usr/bin/search", "s", "search", kId, kId},
      {slice + "nginx.service", "/usr/sbin/nginx", "nginx", "nginx", slice + "nginx.service", ""},
      {slice + "nginx.service/worker", "/usr/sbin/nginx", "nginx", "nginx", slice + "nginx.service", ""},
      // Instances of a template are instances of one job.
      {slice + "system-web.slice/web@1.service", "/usr/bin/python3", "p", "web",
       slice + "system-web.slice/web@1.service", ""},
      // Serial numbers of this boot make no jobs.
      {slice + "run-u12.service", "/usr/bin/backup", "b", "backup", slice + "run-u12.service", ""},
      {slice + "run-p34-i5.service", "/usr/bin/backup", "b", "backup", slice + "run-p34-i5.service", ""},
      {slice + "run-r0123456789abcdef0123456789abcdef.service", "/usr/bin/backup", "b", "backup",
       slice + "run-r0123456789abcdef0123456789abcdef.service", ""},
      {slice + "dbus-:1.2-org.example.Helper@0.service", "/usr/libexec/helper", "h", "helper",
       slice + "dbus-:1.2-org.example.Helper@0.service", ""},
      {slice + "run-backup.service", "/bin/sh", "sh", "run-backup", slice + "run-backup.service", ""},
      // A session is no job, and a user's manager only holds other units.
      {user + "session-3.scope", "/usr/bin/vim", "vim", "vim", user + "session-3.scope", ""},
      {user + "user@1000.service/init.scope", "/usr/lib/systemd/systemd", "systemd", "systemd",
       user + "user@1000.service/init.scope", ""},
      {user + "user@1000.service/app.slice/app-editor@77.service", "/usr/bin/ed", "ed", "app-editor",
       user + "user@1000.service/app.slice/app-editor@77.service", ""},
      {user + "user@1000.service/app.slice/app-mail-4711.scope", "/usr/bin/mail", "mail", "mail",
       user + "user@1000.service/app.slice/app-mail-4711.scope", ""},
      {"/slurm/uid_1000/job_7/step_0", "/home/x/solve", "solve", "solve", "/slurm/uid_1000/job_7/step_0", ""},
      {"/", "", "kworker/0:1", "kworker/0:1", "/", ""},
  };
  for (const Case& c : cases) {
    const Workload workload = workload_of({c.cgroup, c.executable, c.comm});
    EXPECT_EQ(workload.job, c.job) << c.cgroup;
    EXPECT_EQ(workload.instance, c.instance);
    EXPECT_EQ(workload.container, c.container);
  }
}

TEST(BaseName, IsTheLastPartOfAPath) {
  EXPECT_EQ(base_name("/usr/bin/job"), "job");
  EXPECT_EQ(base_name("job"), "job");
  EXPECT_EQ(base_name("/usr/"), "");
}

}  // namespace
}  // namespace plimsoll::identity
