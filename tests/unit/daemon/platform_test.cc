#include <gtest/gtest.h>

#include "capture/platform/generation.h"
#include "daemon/machine/machine.h"
#include "tests/unit/daemon/fake_machines.h"

namespace plimsoll::platform {
namespace {

using plimsoll::testing::FakeMachine;

std::string platform_of(const FakeMachine& machine) {
  wire::Machine message;
  identity::set_platform(machine.cpuinfo(), machine.sysfs(), message);
  return fmt::format("{} [{}]", message.platform(), message.cpu_model());
}

TEST(Platform, IsTheGenerationOfTheProcessor) {
  EXPECT_EQ(platform_of(testing::intel_hybrid()),
            "Intel Alder Lake hybrid [12th Gen Intel(R) Core(TM) i7-12700 (GenuineIntel 6/151)]");
  EXPECT_EQ(platform_of(testing::amd_zen3()),
            "AMD Zen 3 [AMD EPYC 7763 64-Core Processor (AuthenticAMD 25/1)]");
  EXPECT_EQ(platform_of(testing::arm_two_clusters()),
            "Arm Cortex-A55 + Arm Cortex-A76 [implementer 0x41 part 0xd05, implementer 0x41 part 0xd0b]");
  EXPECT_EQ(platform_of(testing::vm_without_pmu()),
            "Intel Ice Lake server [Intel(R) Xeon(R) Processor @ 2.70GHz (GenuineIntel 6/106)]")
      << "the family and model tell, though the name does not";
}

TEST(Platform, OfArmIsReadFromRegistersWhereCpuinfoTellsNothing) {
  const FakeMachine machine = testing::arm_two_clusters();
  EXPECT_EQ(generation_of(read_cpu_id("", machine.sysfs())), "Arm Cortex-A55 + Arm Cortex-A76");
}

TEST(Platform, IsTheProcessorsOwnTextWhereItsGenerationIsUnknown) {
  const auto name = [](const char* cpuinfo) { return platform_name(cpu_id_from(cpuinfo), false); };
  EXPECT_EQ(name("vendor_id: GenuineIntel\ncpu family: 6\nmodel: 254\nmodel name: New One\n"),
            "New One (GenuineIntel 6/254)");
  EXPECT_EQ(name("CPU implementer: 0x41\nCPU part: 0xd0c\n\nCPU implementer: 0x99\nCPU part: 0x1\n"),
            "implementer 0x41 part 0xd0c, implementer 0x99 part 0x1");
  EXPECT_EQ(name(""), "");
}

struct Model {
  uint32_t family, model, stepping;
  const char* generation;
};

CpuId x86_of(const char* vendor, const Model& model) {
  CpuId id;
  id.x86 = X86Model{vendor, model.family, model.model, model.stepping};
  return id;
}

TEST(Platform, TellsGenerationsOfOneModelByTheirStepping) {
  for (const Model& m : {
           Model{6, 0x55, 4, "Intel Skylake server"},
           Model{6, 0x55, 7, "Intel Cascade Lake server"},
           Model{6, 0x55, 11, "Intel Cooper Lake server"},
           Model{6, 0x8e, 9, "Intel Kaby Lake"},
           Model{6, 0x8e, 10, "Intel Coffee Lake"},
           Model{6, 0x8e, 12, "Intel Whiskey Lake"},
           Model{6, 0x9e, 9, "Intel Kaby Lake"},
           Model{6, 0x9e, 13, "Intel Coffee Lake"},
           Model{6, 0x8f, 8, "Intel Sapphire Rapids"},
           Model{6, 0xff, 0, ""},
           Model{5, 0x8f, 0, ""},
       }) {
    EXPECT_EQ(generation_of(x86_of("GenuineIntel", m)), m.generation);
  }
  for (const Model& m : {
           Model{0x17, 0x01, 2, "AMD Zen"},
           Model{0x17, 0x31, 0, "AMD Zen 2"},
           Model{0x19, 0x01, 1, "AMD Zen 3"},
           Model{0x19, 0x11, 1, "AMD Zen 4"},
           Model{0x1a, 0x02, 1, "AMD Zen 5"},
           Model{0x1a, 0x50, 0, ""},
       }) {
    EXPECT_EQ(generation_of(x86_of("AuthenticAMD", m)), m.generation);
  }
}

TEST(Platform, OfARecordingIsReadFromItsCpuId) {
  EXPECT_EQ(generation_of(cpu_id_from_recording("GenuineIntel,6,85,4", "")), "Intel Skylake server");
  EXPECT_EQ(generation_of(cpu_id_from_recording("0x00000000413fd0c1", "")), "Arm Neoverse N1");
  EXPECT_EQ(generation_of(cpu_id_from_recording("nonsense,6", "")), "");
}

}  // namespace
}  // namespace plimsoll::platform
