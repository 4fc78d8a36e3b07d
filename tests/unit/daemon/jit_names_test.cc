#include "daemon/jit/jit_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two processes, 40 and 50, with JIT locations; and an ELF one.
class JitNames : public ::testing::Test {
 protected:
  JitNames() {
    for (const uint32_t pid : {40U, 50U}) {
      proc_.process(pid, {.comm = "jit", .executable = "/usr/bin/node", .cgroup = "", .maps = ""});
      proc_.file(fmt::format("{}/status", pid), fmt::format("Uid:\t{0}\nNSpid:\t{1}\n", ::getuid(), pid));
      wire::Process& process = *profile_.add_processes();
      process.set_pid(pid);
      process.set_comm("jit");
      process.set_executable("/usr/bin/node");
      auto& identity = processes_.emplace_back(std::make_shared<identity::ProcessIdentity>());
      identity->pid = pid;
      identity->started_ns = kNsPerSecond;  // as FakeProc has it
      identity->comm = "jit";
      identity->executable = "/usr/bin/node";
    }
    profile_.add_frames()->set_function("already there");
    add(wire::JIT, 0, 0x2000);
    add(wire::ELF, 0, 0x1000);
    add(wire::JIT, 0, 0x1000);
    add(wire::JIT, 1, 0x1000);
    add(wire::JIT, 0, 0x1008);
  }

  void add(wire::LocationKind kind, uint32_t owner, uint64_t address) {
    profile_.mutable_locations()->add_kind(kind);
    profile_.mutable_locations()->add_owner(owner);
    profile_.mutable_locations()->add_address(address);
  }

  std::vector<std::string> named(uint64_t budget_bytes = 1 << 20) {
    name_jit_locations(identity::ProcFs(proc_.root()), processes_, profile_, budget_bytes);
    std::vector<std::string> names;
    const wire::Locations& locations = profile_.locations();
    for (int i = 0; i < locations.kind_size(); ++i) {
      names.push_back(locations.kind(i) == wire::NAMED
                          ? profile_.frames(static_cast<int>(locations.address(i))).function()
                          : wire::LocationKind_Name(locations.kind(i)));
    }
    return names;
  }

  identity::FakeProc proc_;
  std::vector<std::shared_ptr<identity::ProcessIdentity>> processes_;
  wire::RawProfile profile_;
};

TEST_F(JitNames, AreThoseOfEachProcessesMap) {
  proc_.file("40/root/tmp/perf-40.map", "1000 10 hot loop\n2000 10 other\n");
  proc_.file("50/root/tmp/perf-50.map", "1000 10 of_50\n");
  EXPECT_THAT(named(), ElementsAre("other", "ELF", "hot loop", "of_50", "hot loop"));
  EXPECT_EQ(profile_.frames_size(), 4) << "one frame for each function";
  EXPECT_EQ(profile_.locations().owner(3), 0);
}

TEST_F(JitNames, WithoutAMapLocationsStayAsTheyAre) {
  proc_.file("40/root/tmp/perf-40.map", "1000 4 hot\n");
  EXPECT_THAT(named(), ElementsAre("JIT", "ELF", "hot", "JIT", "JIT"));
  EXPECT_THAT(profile_.notes(), IsEmpty());
}

TEST_F(JitNames, OfAnotherProgramUnderThePidAreNotTaken) {
  proc_.file("40/root/tmp/perf-40.map", "1000 10 hot\n");
  processes_[0]->executable = "/usr/bin/java";
  EXPECT_THAT(named(), ElementsAre("JIT", "ELF", "JIT", "JIT", "JIT"));
}

TEST_F(JitNames, OfALaterProcessOfThatProgramUnderThePidAreNotTaken) {
  proc_.file("40/root/tmp/perf-40.map", "1000 10 hot\n");
  processes_[0]->started_ns -= 30'000'000;
  EXPECT_THAT(named(), ElementsAre("JIT", "ELF", "JIT", "JIT", "JIT"));
  EXPECT_THAT(profile_.notes(), IsEmpty());
}

TEST_F(JitNames, OfAProcessThatStartedNobodyKnowsWhenAreNotTaken) {
  proc_.file("40/root/tmp/perf-40.map", "1000 10 hot\n");
  processes_[0]->started_ns = 0;
  EXPECT_THAT(named(), ElementsAre("JIT", "ELF", "JIT", "JIT", "JIT"));
}

TEST_F(JitNames, ARefusedMapIsNoted) {
  proc_.file("40/root/tmp/elsewhere", "1000 10 hot\n");
  std::filesystem::create_symlink("elsewhere", proc_.root() + "/40/root/tmp/perf-40.map");
  EXPECT_THAT(named(), ElementsAre("JIT", "ELF", "JIT", "JIT", "JIT"));
  EXPECT_THAT(profile_.notes(), ElementsAre(HasSubstr("JIT code of jit has no names")));
}

TEST_F(JitNames, OverTheBudgetNoFurtherMapIsRead) {
  proc_.file("40/root/tmp/perf-40.map", "1000 10 hot\n");
  proc_.file("50/root/tmp/perf-50.map", "1000 10 of_50\n");
  EXPECT_THAT(named(10), ElementsAre("JIT", "ELF", "hot", "JIT", "hot"));
  EXPECT_THAT(profile_.notes(), ElementsAre(HasSubstr("over 10 bytes of perf maps")));
}

TEST_F(JitNames, CannotBreakTheProfile) {
  proc_.file("40/root/tmp/perf-40.map", "1000 10 \x1b\xff" + std::string(5000, 'x') + "\n");
  const std::string name = named()[2];
  EXPECT_EQ(name.substr(0, 3), "??x");
  EXPECT_EQ(name.size(), 1024);
}

}  // namespace
}  // namespace plimsoll
