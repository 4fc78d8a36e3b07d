#include "daemon/events/event_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/events/pmu_terms.h"
#include "tests/unit/daemon/fake_machines.h"

namespace plimsoll::perf {
namespace {

using plimsoll::testing::amd_zen3;
using plimsoll::testing::arm_two_clusters;
using plimsoll::testing::FakeMachine;
using plimsoll::testing::intel_hybrid;
using plimsoll::testing::vm_without_pmu;
using ::testing::HasSubstr;

EventCatalogue catalogue_of(const FakeMachine& machine) {
  return EventCatalogue({.sysfs = machine.sysfs(), .cpuinfo = machine.cpuinfo()});
}

// "type/config[/config1] on CPUs" of each code, as perf_event_open(2) is asked, or the error.
std::string codes_of(const Result<EventType>& event) {
  if (!event) {
    return fmt::format("{}: {}", name_of(event.error().code), event.error().text());
  }
  std::vector<std::string> codes;
  for (const EventCode& code : event->codes) {
    codes.push_back(
        fmt::format("{}/{:#x}{} on {}", code.type, code.config,
                    code.config1 == 0 ? "" : fmt::format("/{:#x}", code.config1),
                    code.cpus.empty() ? std::string("all") : fmt::format("{}", fmt::join(code.cpus, ","))));
  }
  return fmt::format("{}", fmt::join(codes, "; "));
}

struct LookUp {
  std::string_view name;
  std::string_view codes;
};

void expect_look_ups(const FakeMachine& machine, std::initializer_list<LookUp> look_ups) {
  const EventCatalogue catalogue = catalogue_of(machine);
  for (const LookUp& look_up : look_ups) {
    EXPECT_EQ(codes_of(catalogue.find(look_up.name)), look_up.codes) << look_up.name;
  }
}

TEST(EventsOfAHybridMachine, HaveACodeForEachKindOfCore) {
  expect_look_ups(intel_hybrid(),
                  {
                      {"cycles", "0/0xa00000000 on 8,9,10,11; 0/0x400000000 on 0,1,2,3,4,5,6,7"},
                      {"LLC-LOAD-MISSES", "3/0xa00010002 on 8,9,10,11; 3/0x400010002 on 0,1,2,3,4,5,6,7"},
                      {"page-faults", "1/0x2 on all"},
                      {"cpu_core/event=0x3c,umask=0x1,edge,cmask=16/", "4/0x1004013c on 0,1,2,3,4,5,6,7"},
                      {"cpu_atom/event=0x3c/", "10/0x3c on 8,9,10,11"},
                      {"cpu_core/mem-loads/", "4/0x1cd/0x3 on 0,1,2,3,4,5,6,7"},
                      {"cpu_core/mem-loads,ldlat=30/", "4/0x1cd/0x1e on 0,1,2,3,4,5,6,7"},
                      {"cpu_core/config=0x1b7,config1=77/", "4/0x1b7/0x4d on 0,1,2,3,4,5,6,7"},
                      {"dtlb-walks", "10/0xe08 on 8,9,10,11; 4/0xe12 on 0,1,2,3,4,5,6,7"},
                      {"sched:sched_switch", "2/0x13c on all"},
                  });
}

TEST(EventsOfAHybridMachine, AreOnEachCpuByItsKind) {
  const FakeMachine machine = intel_hybrid();
  const auto cycles = catalogue_of(machine).find("cycles");
  ASSERT_TRUE(cycles.has_value());
  EXPECT_EQ(code_on(*cycles, 7)->pmu, "cpu_core");
  EXPECT_EQ(code_on(*cycles, 8)->pmu, "cpu_atom");
  EXPECT_EQ(code_on(*cycles, 12), nullptr);
}

TEST(EventsOfAnAmdMachine, HaveBitsOfTheirCodeInTwoPlaces) {
  expect_look_ups(amd_zen3(), {
                                  {"cycles", "0/0x0 on all"},
                                  {"stalled-cycles-frontend", "0/0x7 on all"},
                                  {"cpu/event=0x1c2,umask=0xff/", "4/0x10000ffc2 on all"},
                                  {"cpu/event=0x76,inv/", "4/0x800076 on all"},
                                  {"r1c2", "4/0x1c2 on all"},
                                  {"uops-retired", "4/0xc1 on all"},
                                  {"l2-misses", "4/0x964 on all"},
                                  {"dtlb-walks", "4/0xf045 on all"},
                                  {"irq:irq_handler_entry", "2/0x58 on all"},
                              });
}

TEST(EventsOfAnArmMachine, AreThoseOfEachCluster) {
  expect_look_ups(arm_two_clusters(), {
                                          {"cycles", "0/0x0 on 0,1,2,3; 0/0x0 on 4,5"},
                                          {"l2-misses", "8/0x17 on 0,1,2,3; 9/0x17 on 4,5"},
                                          {"armv8_cortex_a76/event=0x11/", "9/0x11 on 4,5"},
                                      });
}

TEST(EventsOfAMachineWithoutPmu, AreSoftwareEvents) {
  const FakeMachine machine = vm_without_pmu();
  expect_look_ups(machine, {{"cpu-clock", "1/0x0 on all"}, {"msr/tsc/", "9/0x0 on all"}});
  for (const char* name : {"cycles", "LLC-loads", "r1c2", "uops-retired", "cpu/event=0x3c/"}) {
    const auto event = catalogue_of(machine).find(name);
    ASSERT_FALSE(event.has_value()) << name;
    EXPECT_EQ(event.error().code, ErrorCode::kUnsupported) << name;
    EXPECT_THAT(event.error().message, HasSubstr(machine.sysfs() + "/bus/event_source/devices")) << name;
    EXPECT_THAT(event.error().hint, HasSubstr("msr, software, tracepoint")) << name;
  }
}

TEST(EventCatalogue, LetsTheKernelDecideWhereSysfsIsOutOfReach) {
  expect_look_ups({"", ""}, {{"cycles", "0/0x0 on all"}});
}

TEST(EventCatalogue, CountsForPackagesWithScaleAndUnit) {
  const FakeMachine machine = intel_hybrid();
  const EventCatalogue catalogue = catalogue_of(machine);
  const auto energy = catalogue.find("power/energy-pkg/");
  ASSERT_TRUE(energy.has_value()) << energy.error().text();
  EXPECT_TRUE(energy->is_for_packages);
  EXPECT_EQ(energy->unit, EventUnit::kMicrojoules);
  EXPECT_DOUBLE_EQ(energy->scale, 2.3283064365386962890625e-4);
  const auto reads = catalogue.find("uncore_imc_0/cas_count_read/");
  EXPECT_EQ(reads->unit, EventUnit::kBytes);
  EXPECT_DOUBLE_EQ(reads->scale, 64) << "a cache line";
  EXPECT_FALSE(catalogue.find("cpu_core/cache-misses/")->is_for_packages);
}

TEST(EventCatalogue, TakesAnEventsOwnName) {
  const FakeMachine machine = amd_zen3();
  const EventCatalogue catalogue = catalogue_of(machine);
  EXPECT_EQ(catalogue.find("cpu/event=0x76,name=busy/")->name, "busy");
  EXPECT_EQ(catalogue.find("cpu/event=0x76/")->name, "cpu/event=0x76/");
  EXPECT_THAT(catalogue.find("cpu/event=0x76,name=cycles/").error().message,
              HasSubstr("cycles is another event"));
  EXPECT_EQ(catalogue.find("cpu/event=0x76,name=a\x01/").error().code, ErrorCode::kInvalid);
  for (const char* measured : {"cpu-time", "energy-pkg", "branch-records", "exact-cycles"}) {
    const auto event = catalogue.find(fmt::format("cpu/event=0x76,name={}/", measured));
    EXPECT_THAT(event.error().message, HasSubstr("is another event")) << measured;
  }
}

TEST(EventCatalogue, TellsWhatAnAliasIsHere) {
  const FakeMachine machine = amd_zen3();
  EXPECT_EQ(catalogue_of(machine).find("dtlb-walks")->definition,
            "on AMD Zen 3 it is ls_l1_d_tlb_miss.*_l2_miss: for loads and stores");
  EXPECT_EQ(catalogue_of(machine).find("cycles")->definition, "");
}

struct Mistake {
  const char* name;
  ErrorCode code;
  const char* says;
};

TEST(EventCatalogue, SaysWhatIsWrongWithAName) {
  const FakeMachine machine = intel_hybrid();
  const EventCatalogue catalogue = catalogue_of(machine);
  for (const Mistake& mistake : {
           Mistake{"cycls", ErrorCode::kInvalid, "did you mean cycles?"},
           Mistake{"uops-retird", ErrorCode::kInvalid, "did you mean uops-retired?"},
           Mistake{"uops-retired", ErrorCode::kUnsupported,
                   "no code for uops-retired is known on Intel Alder Lake"},
           Mistake{"cpu/event=1/", ErrorCode::kUnsupported, "there are cpu_atom, cpu_core"},
           Mistake{"cpu_core/evnt=1/", ErrorCode::kInvalid, "did you mean event?"},
           Mistake{"cpu_core/mem-lods/", ErrorCode::kInvalid, "did you mean mem-loads?"},
           Mistake{"cpu_core/event=0x100/", ErrorCode::kInvalid, "too large for its field"},
           Mistake{"cpu_core/event=x/", ErrorCode::kInvalid, "is not a 64-bit number"},
           Mistake{"cpu_core/event=/", ErrorCode::kInvalid, "is not a term"},
           Mistake{"cpu_core/../", ErrorCode::kInvalid, "has no term or event \"..\""},
           Mistake{"cpu_core/..=1/", ErrorCode::kInvalid, "has no term or event \"..\""},
           Mistake{"cpu_core/acr_mask=1/", ErrorCode::kUnsupported, "config3"},
           Mistake{"cpu_core/event=1/u", ErrorCode::kInvalid, "modifiers"},
           Mistake{"/event=1/", ErrorCode::kInvalid, "is not PMU/TERMS/"},
           Mistake{"r1c2", ErrorCode::kInvalid, "cpu_atom/config=0x1c2/"},
           Mistake{"sched:sched_swich", ErrorCode::kInvalid, "did you mean sched:sched_switch?"},
           Mistake{"shed:sched_switch", ErrorCode::kInvalid, "did you mean sched:...?"},
           Mistake{"cycles:u", ErrorCode::kInvalid, "modifiers are not supported"},
       }) {
    const auto event = catalogue.find(mistake.name);
    ASSERT_FALSE(event.has_value()) << mistake.name;
    EXPECT_EQ(event.error().code, mistake.code) << mistake.name << ": " << event.error().text();
    EXPECT_THAT(event.error().text(), HasSubstr(mistake.says)) << mistake.name;
  }
}

TEST(EventCatalogue, SaysWhenTracepointsAreNotMounted) {
  const auto event = catalogue_of(vm_without_pmu()).find("sched:sched_switch");
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(event.error().hint, HasSubstr("mount -t tracefs"));
}

TEST(EventCatalogue, RefusesEventsThatLeaveATermOpen) {
  const auto event = catalogue_of(amd_zen3()).find("cpu/open/");
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(event.error().text(), HasSubstr("requires a value for its term cmask"));
}

TEST(EventCatalogue, LeavesOutPmusThatAreNotAsTheKernelWritesThem) {
  const FakeMachine machine(R"(
    bus/event_source/devices/cpu/type: four
    bus/event_source/devices/cpu_core/type: 4
    bus/event_source/devices/cpu_core/cpus: some
    bus/event_source/devices/software/type: 1
  )",
                            "");
  ASSERT_EQ(catalogue_of(machine).pmus().size(), 1);
  EXPECT_EQ(catalogue_of(machine).pmus()[0].name, "software");
}

TEST(Terms, FillTheBitsOfTheirFormat) {
  EventCode code{.config = 0xffff};
  ASSERT_TRUE(fill_field(*parse_format("config:0-3,8-11\n"), 0x5a, code).has_value());
  EXPECT_EQ(code.config, 0xf5fa) << "the lowest bits go to the first range, and others stay";
  ASSERT_TRUE(fill_field(*parse_format("config2:0-63"), UINT64_MAX, code).has_value());
  EXPECT_EQ(code.config2, UINT64_MAX);
  EXPECT_FALSE(fill_field(*parse_format("config:18"), 2, code).has_value());
}

TEST(Terms, OfOtherTextAreRefused) {
  for (const char* text : {"", "config", "config:", "config:64", "config:5-3", "config:1-", "config:a",
                           "config3:0-7", "events:0-7", "config:-1", "config:0,0"}) {
    EXPECT_FALSE(parse_format(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_terms(std::string(5000, 'a')).has_value());
  EXPECT_FALSE(parse_terms("a,,b").has_value());
  EXPECT_FALSE(parse_terms("=1").has_value());
}

}  // namespace
}  // namespace plimsoll::perf
