// Traces for Perfetto, read back field by field with libprotobuf's reader of unknown fields.
#include "formats/perfetto/perfetto_trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/perfetto/wire_writer.h"
#include "traces/bursts/marks/mark.h"

namespace plimsoll::formats::perfetto_test {
namespace {

using google::protobuf::UnknownField;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;
using traces::BurstEventKind;
using traces::MarkKind;

// It cannot be copied.
struct Message {
  explicit Message(const std::string& bytes) { EXPECT_TRUE(fields.ParseFromString(bytes)); }
  google::protobuf::UnknownFieldSet fields;
};

Message message_in(const std::string& bytes) {
  return Message(bytes);
}

// All values of a field that has a length.
std::vector<std::string> texts(const Message& message, int number) {
  std::vector<std::string> values;
  for (int i = 0; i < message.fields.field_count(); ++i) {
    const UnknownField& field = message.fields.field(i);
    if (field.number() == number && field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      values.emplace_back(field.length_delimited());
    }
  }
  return values;
}

std::string text(const Message& message, int number) {
  const auto values = texts(message, number);
  return values.empty() ? "" : values.front();
}

uint64_t number(const Message& message, int wanted) {
  for (int i = 0; i < message.fields.field_count(); ++i) {
    const UnknownField& field = message.fields.field(i);
    if (field.number() == wanted && field.type() == UnknownField::TYPE_VARINT) {
      return field.varint();
    }
  }
  return 0;
}

struct ReadTrack {
  std::string name;
  uint64_t parent = 0;
  uint64_t pid = 0;
  uint64_t tid = 0;
  std::vector<std::string> slices;  // "DEPTH NAME BEGIN-END", in the order of their ends
};

struct ReadTrace {
  std::map<uint64_t, ReadTrack> tracks;
  std::map<std::string, uint64_t> by_name;
  std::vector<std::string> switches;  // "CPU PREV>NEXT TIME STATE"
  std::vector<std::string> wakes;
  std::vector<std::string> samples;  // "PID TID TIME FUNCTION;FUNCTION", the outermost first
  bool has_clocks = false;
};

// A trace as its readers take it; fails where slices do not nest, names are unknown or time goes back.
class TraceReader {
 public:
  ReadTrace read(const std::string& bytes) {
    for (const std::string& packet : texts(message_in(bytes), 1)) {
      take(message_in(packet));
    }
    for (const auto& [track, open] : open_) {
      EXPECT_TRUE(open.empty()) << "slices of track " << track << " do not end";
    }
    return std::move(trace_);
  }

 private:
  struct Slice {
    std::string name;
    uint64_t begin_ns = 0;
  };

  void take(const Message& packet) {
    trace_.has_clocks = trace_.has_clocks || !text(packet, 6).empty();
    for (const std::string& entry : texts(message_in(text(packet, 12)), 2)) {
      const Message name = message_in(entry);
      EXPECT_TRUE(names_.emplace(number(name, 1), text(name, 2)).second);
    }
    take_stacks(message_in(text(packet, 12)));
    if (const std::string bytes = text(packet, 66); !bytes.empty()) {
      const Message sample = message_in(bytes);
      trace_.samples.push_back(fmt::format("{} {} {} {}", number(sample, 2), number(sample, 3),
                                           number(packet, 8), callstacks_.at(number(sample, 4))));
    }
    if (const std::string bytes = text(packet, 60); !bytes.empty()) {
      take_track(message_in(bytes));
    }
    if (const std::string bytes = text(packet, 11); !bytes.empty()) {
      take_event(number(packet, 8), message_in(bytes));
    }
    if (const std::string bytes = text(packet, 1); !bytes.empty()) {
      take_ftrace(message_in(bytes));
    }
  }

  // "FUNCTION@PATH+PC" of each frame.
  void take_stacks(const Message& interned) {
    for (const int field : {5, 16, 17}) {
      for (const std::string& bytes : texts(interned, field)) {
        const Message entry = message_in(bytes);
        EXPECT_TRUE(texts_.emplace(std::pair(field, number(entry, 1)), text(entry, 2)).second);
      }
    }
    for (const std::string& bytes : texts(interned, 19)) {
      const Message entry = message_in(bytes);
      mappings_[number(entry, 1)] = texts_.at({17, number(entry, 7)});
    }
    for (const std::string& bytes : texts(interned, 6)) {
      const Message entry = message_in(bytes);
      frames_[number(entry, 1)] = fmt::format("{}@{}+{:x}", texts_.at({5, number(entry, 2)}),
                                              mappings_.at(number(entry, 3)), number(entry, 4));
    }
    for (const std::string& bytes : texts(interned, 7)) {
      const Message entry = message_in(bytes);
      std::string& frames = callstacks_[number(entry, 1)];
      for (int i = 0; i < entry.fields.field_count(); ++i) {
        if (const UnknownField& field = entry.fields.field(i); field.number() == 2) {
          frames += (frames.empty() ? "" : ";") + frames_.at(field.varint());
        }
      }
    }
  }

  void take_track(const Message& descriptor) {
    ReadTrack track{.name = text(descriptor, 2), .parent = number(descriptor, 5), .slices = {}};
    if (const std::string thread = text(descriptor, 4); !thread.empty()) {
      const Message ids = message_in(thread);
      track.name = text(ids, 5);
      track.pid = number(ids, 1);
      track.tid = number(ids, 2);
    } else if (const std::string process = text(descriptor, 3); !process.empty()) {
      const Message ids = message_in(process);
      track.name = fmt::format("process {}", text(ids, 6));
      track.pid = number(ids, 1);
    }
    EXPECT_TRUE(track.parent == 0 || trace_.tracks.contains(track.parent));
    trace_.by_name[track.name] = number(descriptor, 1);
    EXPECT_TRUE(trace_.tracks.emplace(number(descriptor, 1), track).second);
  }

  void take_event(uint64_t time_ns, const Message& event) {
    EXPECT_LE(before_ns_, time_ns);
    before_ns_ = time_ns;
    const uint64_t track = number(event, 11);
    EXPECT_THAT(trace_.tracks, Contains(Key(track)));
    std::vector<Slice>& open = open_[track];
    if (number(event, 9) == 1) {
      EXPECT_THAT(names_, Contains(Key(number(event, 10))));
      open.push_back({names_[number(event, 10)], time_ns});
      return;
    }
    if (number(event, 9) == 3) {
      trace_.tracks[track].slices.push_back(fmt::format("at {} {}", time_ns, names_[number(event, 10)]));
      return;
    }
    ASSERT_EQ(number(event, 9), 2U);
    ASSERT_FALSE(open.empty());
    trace_.tracks[track].slices.push_back(
        fmt::format("{} {} {}-{}", open.size(), open.back().name, open.back().begin_ns, time_ns));
    open.pop_back();
  }

  void take_ftrace(const Message& bundle) {
    for (const std::string& bytes : texts(bundle, 2)) {
      const Message event = message_in(bytes);
      if (const std::string details = text(event, 4); !details.empty()) {
        const Message change = message_in(details);
        trace_.switches.push_back(fmt::format("{} {}>{} {} {:#x}", number(bundle, 1), text(change, 1),
                                              text(change, 5), number(event, 1), number(change, 4)));
      } else {
        const Message wake = message_in(text(event, 20));
        trace_.wakes.push_back(fmt::format("{}>{}", number(event, 2), number(wake, 2)));
      }
    }
  }

  ReadTrace trace_;
  std::map<uint64_t, std::string> names_;
  std::map<std::pair<int, uint64_t>, std::string> texts_;  // by field and number
  std::map<uint64_t, std::string> mappings_;
  std::map<uint64_t, std::string> frames_;
  std::map<uint64_t, std::string> callstacks_;
  std::map<uint64_t, std::vector<Slice>> open_;
  uint64_t before_ns_ = 0;
};

ReadTrace written(const std::vector<std::vector<traces::SceneMachine>>& bursts) {
  std::string bytes;
  EXPECT_TRUE(write_perfetto_trace(bursts, [&](std::string_view piece) {
    bytes += piece;
    return Status();
  }));
  return TraceReader().read(bytes);
}

// Thread 1 works for request 7 and waits for thread 2 meanwhile.
traces::BurstRecording sample(const std::string& machine) {
  traces::BurstRecording recording;
  recording.machine = machine;
  recording.config_bits = 0x7F00;
  recording.threads = {{0, 0, "idle"}, {11, 10, "one"}, {12, 10, "two\x01"}};
  traces::Burst burst;
  burst.on_ns = 100;
  burst.off_ns = 1000;
  burst.wall_offset_on_ns = 5000;
  const auto add = [&](int64_t time_ns, BurstEventKind kind, uint32_t thread, uint32_t other, uint64_t first,
                       uint64_t second) {
    traces::BurstEvent event;
    event.time_ns = time_ns;
    event.kind = kind;
    event.thread = thread;
    event.other = other;
    event.first = first;
    event.second = second;
    burst.events.push_back(event);
  };
  const auto mark = [&](int64_t time_ns, MarkKind kind) {
    add(time_ns, BurstEventKind::kMarkCall, 1, 0, traces::kMarkHead, traces::mark_head(kind, 7));
    add(time_ns, BurstEventKind::kMarkCall, 1, 0, traces::kMarkValue, 7);
  };
  mark(200, MarkKind::kStart);
  add(300, BurstEventKind::kSwitch, 1, 2, 1, 0);
  add(500, BurstEventKind::kWake, 2, 1, 0, 0);
  add(550, BurstEventKind::kSwitch, 2, 1, 0x100, 0);
  mark(600, MarkKind::kStop);
  recording.bursts.push_back(burst);
  return recording;
}

TEST(PerfettoTrace, HasThreadsRequestsAndSwitchesOfAMachine) {
  const traces::BurstRecording recording = sample("a");
  const ReadTrace trace =
      written({{{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}});
  EXPECT_TRUE(trace.has_clocks);
  const ReadTrack& one = trace.tracks.at(trace.by_name.at("one"));
  EXPECT_EQ(one.pid, 10U);
  EXPECT_EQ(one.tid, 11U);
  EXPECT_EQ(trace.tracks.at(one.parent).pid, 10U);
  // On the wall clock; states within the request.
  EXPECT_THAT(one.slices, ElementsAre("1 running 5100-5200", "2 running 5200-5300", "2 blocked 5300-5500",
                                      "2 runnable 5500-5550", "2 running 5550-5600",
                                      "1 request 0000000000000007 5200-5600", "1 running 5600-6000"));
  const ReadTrack& request = trace.tracks.at(trace.by_name.at("request 0000000000000007"));
  EXPECT_EQ(request.parent, trace.by_name.at("requests"));
  EXPECT_THAT(request.slices, ElementsAre("1 request 0000000000000007 5200-5600"));
  // The second one is preempted, in the numbers of Linux 4.4.
  EXPECT_THAT(trace.switches, ElementsAre("0 one>two? 5300 0x1", "0 two?>one 5550 0x800"));
  EXPECT_THAT(trace.wakes, ElementsAre("12>11"));
}

TEST(PerfettoTrace, HasSamplesWithStacksOfAMachine) {
  traces::BurstRecording recording = sample("a");
  recording.stacks = {.binaries = {{"/bin/job", "build"}, {"[kernel]", ""}},
                      .frames = {{0x10, 0, traces::BurstAddressKind::kElf, ""},
                                 {0x20, 1, traces::BurstAddressKind::kKernel, "schedule"}},
                      .nodes = {{0, 0}, {1, 1}}};
  int64_t time_ns = 700;
  for (const uint64_t stack : {uint64_t{2}, uint64_t{0}, uint64_t{1}, uint64_t{2}}) {
    traces::BurstEvent event;
    event.time_ns = ++time_ns;
    event.kind = BurstEventKind::kSample;
    event.thread = 1;
    event.first = stack;
    recording.bursts.front().events.push_back(event);
  }
  const traces::SceneMachine machine{
      .recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0};
  EXPECT_THAT(
      written({{machine}}).samples,
      ElementsAre("10 11 5701 job+0x10@/bin/job+10;schedule@[kernel]+20", "10 11 5703 job+0x10@/bin/job+10",
                  "10 11 5704 job+0x10@/bin/job+10;schedule@[kernel]+20"));
  // Other machines may have the same process IDs.
  const traces::BurstRecording other = sample("b");
  const traces::SceneMachine second{.recording = &other, .burst = &other.bursts.front(), .shift_ns = 0};
  EXPECT_TRUE(written({{machine, second}}).samples.empty());
}

TEST(PerfettoTrace, HasWhatApplicationsTellBelowTheirThreads) {
  traces::BurstRecording recording = sample("a");
  recording.texts = {"", "Read", "store", "rows"};
  recording.details = {{.request = 7, .call = 1, .text = 1, .peer = 2},
                       {.request = 7, .call = 1, .text = 0, .peer = 0},
                       {.request = 7, .call = 0, .text = 3, .peer = 0}};
  std::vector<traces::BurstEvent>& events = recording.bursts.front().events;
  events.push_back({.time_ns = 650, .first = 10, .second = 0, .thread = 1, .kind = BurstEventKind::kRpcOut});
  events.push_back(
      {.time_ns = 700, .first = 5, .second = 2, .thread = 1, .kind = BurstEventKind::kAnnotation});
  events.push_back({.time_ns = 800, .first = 20, .second = 1, .thread = 1, .kind = BurstEventKind::kRpcEnd});
  const ReadTrace trace =
      written({{{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}});
  const ReadTrack& rpcs = trace.tracks.at(trace.by_name.at("rpcs"));
  EXPECT_EQ(rpcs.parent, trace.by_name.at("one"));
  EXPECT_THAT(rpcs.slices, ElementsAre("1 rpc out Read to store 5650-5800"));
  EXPECT_THAT(trace.tracks.at(rpcs.parent).slices, Contains("at 5700 rows (5)"));
}

TEST(PerfettoTrace, ProcessesHaveTheNameOfTheirFirstThread) {
  traces::BurstRecording recording = sample("a");
  recording.threads.push_back({10, 10, "server"});
  const ReadTrace trace =
      written({{{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}});
  EXPECT_EQ(trace.by_name.at("process server"), trace.tracks.at(trace.by_name.at("one")).parent);
}

TEST(PerfettoTrace, HasSeveralMachinesWithTheirShifts) {
  const traces::BurstRecording a = sample("a");
  const traces::BurstRecording b = sample("b");
  const ReadTrace trace = written({{{.recording = &a, .burst = &a.bursts.front(), .shift_ns = 0},
                                    {.recording = &b, .burst = &b.bursts.front(), .shift_ns = 40}}});
  EXPECT_TRUE(trace.switches.empty());
  const ReadTrack& request = trace.tracks.at(trace.by_name.at("request 0000000000000007 on b"));
  EXPECT_THAT(request.slices, ElementsAre("1 request 0000000000000007 5240-5640"));
  size_t threads = 0;
  for (const auto& [uuid, track] : trace.tracks) {
    threads += track.name == "one 11" ? 1 : 0;
    EXPECT_EQ(track.tid, 0U);
  }
  EXPECT_EQ(threads, 2U);
}

// Recordings by assignment are cut every five minutes. Each has its own list of threads, in its own order.
TEST(PerfettoTrace, TakesRecordingsOfOneMachineTogether) {
  const traces::BurstRecording first = sample("a");
  traces::BurstRecording later = sample("a");
  later.threads = {{0, 0, "idle"}, {12, 10, "two"}, {11, 10, "one"}, {10, 10, "server"}};
  const ReadTrace trace =
      written({{{.recording = &first, .burst = &first.bursts.front(), .shift_ns = 0}},
               {{.recording = &later, .burst = &later.bursts.front(), .shift_ns = 10'000}}});
  const ReadTrack& one = trace.tracks.at(trace.by_name.at("one"));
  EXPECT_EQ(one.pid, 10U);
  EXPECT_EQ(one.tid, 11U);
  EXPECT_EQ(one.parent, trace.by_name.at("process server")) << "by a name that the later one has";
  // In the later one it is the second thread of the list, which works for no request.
  EXPECT_THAT(
      one.slices,
      ElementsAre("1 running 5100-5200", "2 running 5200-5300", "2 blocked 5300-5500", "2 runnable 5500-5550",
                  "2 running 5550-5600", "1 request 0000000000000007 5200-5600", "1 running 5600-6000",
                  "1 runnable 15100-15300", "1 running 15300-15550", "1 runnable 15550-16000"));
  size_t of_threads = 0;
  for (const auto& [uuid, track] : trace.tracks) {
    of_threads += track.tid != 0 ? 1 : 0;
  }
  EXPECT_EQ(of_threads, 2U);
  EXPECT_THAT(trace.switches, ElementsAre("0 one>two? 5300 0x1", "0 two?>one 5550 0x800",
                                          "0 two>one 15300 0x1", "0 one>two 15550 0x800"));
  EXPECT_THAT(trace.wakes, ElementsAre("12>11", "11>12"));
}

TEST(PerfettoTrace, HasATrackForEachOfSeveralMachinesWhateverTheirRecordings) {
  const traces::BurstRecording a = sample("a");
  const traces::BurstRecording later_a = sample("a");
  const traces::BurstRecording b = sample("b");
  const ReadTrace trace =
      written({{{.recording = &a, .burst = &a.bursts.front(), .shift_ns = 0}},
               {{.recording = &later_a, .burst = &later_a.bursts.front(), .shift_ns = 10'000},
                {.recording = &b, .burst = &b.bursts.front(), .shift_ns = 10'000}}});
  EXPECT_TRUE(trace.switches.empty());
  std::vector<std::string> names;
  for (const auto& [uuid, track] : trace.tracks) {
    names.push_back(track.name);
  }
  EXPECT_EQ(std::ranges::count(names, "a"), 1);
  EXPECT_EQ(std::ranges::count(names, "b"), 1);
  EXPECT_EQ(std::ranges::count(names, "one 11"), 2) << "one of each machine";
}

TEST(PerfettoTrace, WithoutBurstsIsATrace) {
  EXPECT_TRUE(written({}).has_clocks);
}

TEST(PerfettoTrace, EndsWithTheFirstFailure) {
  const traces::BurstRecording recording = sample("a");
  const auto status =
      write_perfetto_trace({{{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}},
                           [](std::string_view) { return Status(fail(ErrorCode::kIo, "the disk is full")); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the disk is full");
}

TEST(WireMessage, WritesWhatProtobufReads) {
  WireMessage inner;
  inner.text(3, "text");
  WireMessage message;
  message.number(1, std::numeric_limits<uint64_t>::max());
  message.fixed64(47, 0x0123456789ABCDEF);
  message.message(200, inner);
  EXPECT_TRUE(WireMessage().is_empty());
  const Message read = message_in(message.bytes());
  ASSERT_EQ(read.fields.field_count(), 3);
  EXPECT_EQ(read.fields.field(0).varint(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(read.fields.field(1).fixed64(), 0x0123456789ABCDEFU);
  EXPECT_EQ(text(message_in(text(read, 200)), 3), "text");
}

}  // namespace
}  // namespace plimsoll::formats::perfetto_test
