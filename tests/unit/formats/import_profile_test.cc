#include "formats/import_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/event_meaning.h"
#include "formats/to_raw_profile.h"
#include "proto/profile_codec.h"
#include "tests/unit/formats/pprof_message.h"

namespace plimsoll::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kContention =
    "--- contention:\n"
    "cycles/second=1000000000\nms since reset=2000\n"
    "80 2 @ 0x401001 0x402001\n"
    "20 1 @ 0x401001 0x402001\n"
    "5 1 @ 0x9\n"
    "MAPPED_LIBRARIES:\n"
    "00400000-00403000 r-xp 00001000 fd:01 1234    /srv/server\n";

// Lines "EVENT VALUE STACK", stacks leaf first; then the events.
std::string brief(const wire::RawProfile& raw) {
  std::string text;
  const auto location_text = [&](uint32_t index) {
    const int i = static_cast<int>(index);
    const uint64_t address = raw.locations().address(i);
    switch (raw.locations().kind(i)) {
      case wire::NAMED:
        return raw.frames(static_cast<int>(address)).function();
      case wire::ELF_FILE_OFFSET:
        return fmt::format("{}+{:#x}", raw.binaries(static_cast<int>(raw.locations().owner(i))).path(),
                           address);
      default:
        return fmt::format("{}:{:#x}", wire::LocationKind_Name(raw.locations().kind(i)), address);
    }
  };
  for (const wire::SampleTable& table : raw.samples()) {
    for (int i = 0; i < table.hits_size(); ++i) {
      const int row = i / table.event_size();
      const wire::Event& event = raw.events(static_cast<int>(table.event(i % table.event_size())));
      const double value = static_cast<double>(table.hits(i)) * wire::scale_of(event);
      text += fmt::format(
          "{} {}", event.name(),
          event.kind() == wire::SQUARES ? std::llround(value) : static_cast<int64_t>(table.hits(i)));
      for (uint32_t node = table.stack(row); node != 0;
           node = raw.stacks().parent(static_cast<int>(node) - 1)) {
        text += " " + location_text(raw.stacks().location(static_cast<int>(node) - 1));
      }
      text += "\n";
    }
  }
  for (const wire::Event& event : raw.events()) {
    if (event.kind() != wire::SQUARES) {
      text += fmt::format("{} {} {} x{}\n", event.name(), wire::Unit_Name(event.unit()),
                          wire::Kind_Name(event.kind()), wire::scale_of(event));
    }
  }
  return text;
}

wire::RawProfile imported(const std::string& content, const ImportLabels& labels = {}) {
  const auto raw = import_profile(as_bytes(content), labels);
  EXPECT_TRUE(raw) << raw.error().text();
  if (!raw) {
    return {};
  }
  const auto decoded = wire::decode(as_bytes(wire::encode(*raw)));
  EXPECT_TRUE(decoded) << decoded.error().text();
  return *raw;
}

TEST(ImportProfile, LockWaitsBecomeRowsOfOneProcess) {
  const wire::RawProfile raw = imported(kContention, {.modified_ns = 1'700'000'000'000'000'000});
  EXPECT_EQ(brief(raw),
            "lock-contentions 3 /srv/server+0x2000 /srv/server+0x3000\n"
            "lock-wait-ns 100 /srv/server+0x2000 /srv/server+0x3000\n"
            "lock-contentions 1 JIT:0x8\n"
            "lock-wait-ns 5 JIT:0x8\n"
            "lock-wait-ns^2 3600 /srv/server+0x2000 /srv/server+0x3000\n"  // 2 x 40^2 + 20^2
            "lock-wait-ns^2 25 JIT:0x8\n"
            "lock-contentions COUNT DELTA x1\n"
            "lock-wait-ns NANOSECONDS DELTA x1\n");
  EXPECT_EQ(raw.machine().id(), "import");
  EXPECT_EQ(raw.processes(0).job(), "server");
  EXPECT_EQ(raw.processes(0).executable(), "/srv/server");
  EXPECT_EQ(raw.window().start().wall_ns(), 1'699'999'998'000'000'000);
  EXPECT_EQ(raw.window().end().wall_ns(), 1'700'000'000'000'000'000);
}

TEST(ImportProfile, LocationsWithFunctionsKeepTheirNames) {
  const wire::RawProfile raw = imported(pprof_heap().SerializeAsString());
  EXPECT_EQ(brief(raw),
            "heap-inuse-objects 3 /srv/server+0x2234 main\n"
            "heap-inuse-bytes 300 /srv/server+0x2234 main\n"
            "heap-inuse-objects 1 parse\n"
            "heap-inuse-bytes 50 parse\n"
            "heap-inuse-objects^2 15730 /srv/server+0x2234 main\n"
            "heap-inuse-objects^2 10486 parse\n"
            "heap-inuse-bytes^2 157301400 /srv/server+0x2234 main\n"
            "heap-inuse-bytes^2 26215650 parse\n"
            "heap-inuse-objects COUNT SNAPSHOT x1\n"
            "heap-inuse-bytes BYTES SNAPSHOT x1\n");
  EXPECT_EQ(raw.binaries(0).identity_kind(), wire::GNU_BUILD_ID);
  EXPECT_EQ(raw.window().start().wall_ns(), 1'700'000'000'000'000'000);
  EXPECT_EQ(raw.events(1).mean_period(), 524288);
}

// Of objects as small as these one in thousands is sampled: 3 of 100 bytes are 3 (1 - e^(-100/524288)) samples.
TEST(ImportProfile, OfAHeapTheSampledObjectsAreTheSamples) {
  const wire::RawProfile raw = imported(pprof_heap().SerializeAsString());
  EXPECT_EQ(raw.events(0).samples(), 1);
  EXPECT_EQ(raw.events(1).samples(), 1);
  pprof::Profile large = pprof_heap();
  large.set_period(100);
  EXPECT_EQ(imported(large.SerializeAsString()).events(1).samples(), 2) << "3 x 0.632 + 1 x 0.393";
}

TEST(ImportProfile, InliningIsKept) {
  const wire::RawProfile raw = imported(pprof_heap().SerializeAsString());
  ASSERT_EQ(raw.frames_size(), 3);
  EXPECT_EQ(raw.frames(1).function(), "parse");
  EXPECT_EQ(raw.frames(1).file(), "parse.cc");
  EXPECT_EQ(raw.frames(1).line(), 7);
  EXPECT_TRUE(raw.frames(1).inlined_into_next());
  EXPECT_EQ(raw.frames(2).function(), "main");
  EXPECT_FALSE(raw.frames(2).inlined_into_next());
}

TEST(ImportProfile, TheSameContentHasTheSameId) {
  const auto id = [](const std::string& content, const ImportLabels& labels) {
    return imported(content, labels).profile_id();
  };
  EXPECT_EQ(id(kContention, {}), id(kContention, {.file_name = "copy", .modified_ns = 9'000'000'000}));
  EXPECT_NE(id(kContention, {}), id(kContention + "\n", {}));
  EXPECT_NE(id(kContention, {}), id(kContention, {.machine = "m1"}));
  EXPECT_NE(id(kContention, {}), id(kContention, {.job = "j"}));
}

TEST(ImportProfile, LabelsNameMachineAndJob) {
  const wire::RawProfile raw = imported(kContention, {.machine = "m7", .job = "search"});
  EXPECT_EQ(raw.machine().id(), "m7");
  EXPECT_EQ(raw.processes(0).job(), "search");
  EXPECT_EQ(import_profile(as_bytes(kContention), {.machine = ""}).error().field, "--machine");
  EXPECT_EQ(import_profile(as_bytes(kContention), {.job = "a\nb"}).error().field, "--job");
}

TEST(ImportProfile, WithoutAMainBinaryTheFileNamesTheJob) {
  const wire::RawProfile raw = imported("--- mutex:\n80 2 @ 0x11\n", {.file_name = "/tmp/mutex.txt"});
  EXPECT_EQ(raw.processes(0).job(), "mutex.txt");
}

TEST(ImportProfile, DifferencesOfProfilesAreRefused) {
  pprof::Profile profile = pprof_heap();
  profile.mutable_sample(0)->set_value(0, -3);
  const auto raw = import_profile(as_bytes(profile.SerializeAsString()), {});
  ASSERT_FALSE(raw);
  EXPECT_EQ(raw.error().code, ErrorCode::kUnsupported);
}

TEST(ImportProfile, TimesThatNoClockShowsAreRefused) {
  for (const auto& [time_ns, duration_ns] :
       {std::pair<int64_t, int64_t>(1'700'000'000'000'000'000, 2'415'919'104'168'161'792),
        {INT64_MAX, 0},
        {0, INT64_MAX},
        {INT64_MAX, INT64_MAX}}) {
    pprof::Profile profile = pprof_heap();
    profile.set_time_nanos(time_ns);
    profile.set_duration_nanos(duration_ns);
    const auto raw = import_profile(as_bytes(profile.SerializeAsString()), {});
    ASSERT_FALSE(raw);
    EXPECT_EQ(raw.error().code, ErrorCode::kCorrupt);
  }
}

TEST(ImportProfile, SumsThatHaveNoRoomAreRefused) {
  pprof::Profile profile = pprof_heap();
  profile.mutable_sample(0)->set_value(1, (int64_t{1} << 56) - 49);
  EXPECT_EQ(import_profile(as_bytes(profile.SerializeAsString()), {}).error().code, ErrorCode::kTooLarge);
}

std::string meaning(const char* type, const char* unit) {
  const EventMeaning event = meaning_of({type, unit});
  return fmt::format("{} {} {}{} x{}", event.name, wire::Unit_Name(event.unit), wire::Kind_Name(event.kind),
                     event.is_since_start ? " since start" : "", event.factor);
}

TEST(EventMeaning, KnownTypesHaveOurNames) {
  EXPECT_EQ(meaning("inuse_space", "bytes"), "heap-inuse-bytes BYTES SNAPSHOT x1");
  EXPECT_EQ(meaning("objects", "count"), "heap-inuse-objects COUNT SNAPSHOT x1");
  EXPECT_EQ(meaning("alloc_space", "bytes"), "alloc-bytes BYTES DELTA since start x1");
  EXPECT_EQ(meaning("delay", "nanoseconds"), "lock-wait-ns NANOSECONDS DELTA since start x1");
  EXPECT_EQ(meaning("contentions", "count"), "lock-contentions COUNT DELTA since start x1");
  EXPECT_EQ(meaning("cpu", "nanoseconds"), "app-cpu-ns NANOSECONDS DELTA x1");
  EXPECT_EQ(meaning("wall", "milliseconds"), "wall-ns NANOSECONDS DELTA x1000000");
}

TEST(EventMeaning, OurExportsMeanTheSame) {
  EXPECT_EQ(meaning("heap-inuse-bytes", "bytes"), "heap-inuse-bytes BYTES SNAPSHOT x1");
  EXPECT_EQ(meaning("alloc-objects", "count"), "alloc-objects COUNT DELTA x1");
}

TEST(EventMeaning, OtherTypesKeepTheirOwn) {
  EXPECT_EQ(meaning("cpu", "seconds of all"), "cpu COUNT DELTA x1");
  EXPECT_EQ(meaning("samples", "count"), "samples COUNT DELTA x1");
  EXPECT_EQ(meaning("space", "count"), "space COUNT DELTA x1");
  EXPECT_EQ(meaning("widgets", "furlongs"), "widgets COUNT DELTA x1");
}

}  // namespace
}  // namespace plimsoll::formats
