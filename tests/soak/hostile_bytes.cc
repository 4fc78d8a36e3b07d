#include "tests/soak/hostile_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "formats/import_profile.h"
#include "formats/perf_data/import_recording.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/framed.h"
#include "tests/fuzz/damaged_elf.h"
#include "tests/fuzz/legacy_texts.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/odd_statements.h"
#include "tests/fuzz/sound_recording.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"
#include "tests/sample_profile.h"
#include "tests/soak/random_choice.h"
#include "tests/unit/formats/pprof_message.h"

namespace plimsoll::soak {
namespace {

constexpr size_t kProfileIdBytes = 16;

// A tag of a field that no version has, with a varint, an empty text or an empty group.
std::string unknown_fields(size_t count, Random& random) {
  static const std::array<std::string, 3> kForms{
      std::string("\x98\x4b\x01", 3), std::string("\x9a\x4b\x00", 3), std::string("\x9b\x4b\x9c\x4b", 4)};
  const std::string form = one_of(kForms, random);
  std::string fields;
  fields.reserve(count * form.size());
  for (size_t i = 0; i < count; ++i) {
    fields += form;
  }
  return fields;
}

// A recording of perf, as a profile; nothing where it is too damaged for that.
Result<wire::RawProfile> profile_of_recording(std::string_view content) {
  perf_data::BlockReader file(elf::read_at_of(as_bytes(content)), content.size());
  perf_data::RecordingOptions options;
  options.modified_ns = wall_now_ns();
  auto imported = perf_data::import_recording(
      file, options, {.max_waiting_bytes = 1 << 20, .max_decompressed_bytes = 1 << 20});
  return imported ? Result<wire::RawProfile>(std::move(imported->profile)) : propagate(imported);
}

Result<wire::RawProfile> profile_of_text(std::string_view content) {
  return content.starts_with("PERFILE2")
             ? profile_of_recording(content)
             : formats::import_profile(as_bytes(content),
                                       {.file_name = "hostile", .modified_ns = wall_now_ns()},
                                       {.max_encoded_bytes = 4 << 20, .max_decoded_bytes = 4 << 20});
}

void set_window(wire::RawProfile& profile, int64_t end_ns) {
  wire::Window& window = *profile.mutable_window();
  const int64_t length_ns = window.end().monotonic_ns() - window.start().monotonic_ns();
  window.mutable_start()->set_wall_ns(end_ns - length_ns);
  window.mutable_end()->set_wall_ns(end_ns);
}

}  // namespace

HostileProfiles::HostileProfiles(Random& random) : random_(random) {
  for (const auto& texts : {fuzz::heap_texts(), fuzz::contention_texts(), fuzz::other_texts()}) {
    foreign_texts_.insert(foreign_texts_.end(), texts.begin(), texts.end());
  }
  namespace sound_recording = fuzz::sound_recording;
  const auto recording = sound_recording::recording(sound_recording::records() + sound_recording::trace());
  foreign_texts_.push_back(recording.file());
  foreign_texts_.push_back(recording.pipe());
  const std::string pprof = formats::pprof_heap().SerializeAsString();
  foreign_texts_.push_back(pprof);
  foreign_texts_.push_back(formats::gzipped(pprof));
  zeros_ = wire::compressed(std::string((size_t{256} << 20) - 1, '\0'));
}

std::string HostileProfiles::random_id() {
  return random_bytes(kProfileIdBytes, random_);
}

wire::RawProfile HostileProfiles::sound() {
  wire::RawProfile profile =
      random_() % 2 == 0
          ? wire::sample_profile()
          : plimsoll::testing::make_profile({.machine = fmt::format("hostile-{}", random_() % 50),
                                             .length_ns = kNsPerSecond << below(random_, 16),
                                             .events = {{.name = "cycles"}, {.name = "cpu-clock"}},
                                             .job = fmt::format("job-{}", random_() % 20),
                                             .stacks = "main;work 12\nprocess=db thread=io main;read 2\n",
                                             .branches = "main;work 5 2\n"});
  profile.mutable_assignment()->clear_draw();  // of a draw that nobody made: refused before all else
  profile.set_profile_id(random_id());
  set_window(profile, wall_now_ns() - static_cast<int64_t>(random_() % (100 * kNsPerHour)));
  return profile;
}

HostileProfile HostileProfiles::next() {
  switch (random_() % 200) {
    case 0:
      return zeros_bomb();
    case 1:
    case 2:
      return unknown_fields_bomb();
    case 3:
      return empty_messages_bomb();
    case 4:
      return large_and_sound();
    default:
      return random_() % 5 == 0 ? of_foreign_text() : damaged();
  }
}

HostileProfile HostileProfiles::damaged() {
  wire::RawProfile profile = sound();
  const std::string id = to_hex(profile.profile_id());
  const std::string message = profile.SerializeAsString();
  switch (random_() % 6) {
    case 0:
      return {"damaged file", id, fuzz::mutated(wire::encode(profile), random_)};
    case 1:
      return {"damaged frame", id, wire::framed(fuzz::mutated(wire::compressed(message), random_))};
    case 2:
      return {"damaged ID", one_of(std::array{fuzz::mutated(id, random_), id + "/..", id.substr(1)}, random_),
              wire::encode(profile)};
    default:
      return {"damaged message", id, wire::framed(wire::compressed(fuzz::mutated(message, random_)))};
  }
}

// As a daemon sends what an application handed out; or as it is.
HostileProfile HostileProfiles::of_foreign_text() {
  const std::string text = one_of(foreign_texts_, random_);
  const std::string damaged = fuzz::mutated(text, random_);
  auto profile = profile_of_text(damaged);
  if (!profile || random_() % 8 == 0) {
    return {"foreign file", to_hex(random_id()), damaged};
  }
  profile->set_profile_id(random_id());
  return {"foreign profile", to_hex(profile->profile_id()), wire::encode(*profile)};
}

HostileProfile HostileProfiles::unknown_fields_bomb() {
  const wire::RawProfile profile = sound();
  return {"unknown fields", to_hex(profile.profile_id()),
          wire::framed(wire::compressed(profile.SerializeAsString() +
                                        unknown_fields(skewed(size_t{60} << 20, random_), random_)))};
}

// Two bytes each, and a hundred once they are parsed.
HostileProfile HostileProfiles::empty_messages_bomb() {
  const wire::RawProfile profile = sound();
  const std::array<std::string, 4> kLists{"\x42", "\x4a", "\x52",
                                          "\x62"};  // processes, threads, mappings, frames
  const std::string tag = one_of(kLists, random_);
  std::string message = profile.SerializeAsString();
  for (size_t count = skewed(size_t{4} << 20, random_); count > 0; --count) {
    message += tag + '\0';
  }
  return {"empty messages", to_hex(profile.profile_id()), wire::framed(wire::compressed(message))};
}

HostileProfile HostileProfiles::zeros_bomb() {
  return {"zeros", to_hex(random_id()), wire::framed(zeros_)};
}

// Within every bound, and as large as the bounds are, or a fraction of that: millions of stacks, and a row for each.
HostileProfile HostileProfiles::large_and_sound() {
  wire::RawProfile profile = plimsoll::testing::make_profile(
      {.machine = fmt::format("hostile-{}", random_() % 50), .stacks = "main;work 1\n"});
  profile.set_profile_id(random_id());
  set_window(profile, wall_now_ns());
  const size_t rows = skewed(size_t{24} << 20, random_);
  wire::SampleTable& table = *profile.mutable_samples(0);
  wire::Stacks& stacks = *profile.mutable_stacks();
  const bool is_deep = random_() % 4 == 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto newest = static_cast<uint32_t>(stacks.parent_size());
    stacks.add_parent(is_deep && i % 1000 != 0 ? newest : static_cast<uint32_t>(random_() % 3));
    stacks.add_location(static_cast<uint32_t>(random_() % 2));
    table.add_thread(0);
    table.add_stack(newest + 1);
    table.add_hits(1);
    if (table.label_set_size() != 0) {
      table.add_label_set(0);
    }
  }
  wire::Event& event = *profile.mutable_events(0);
  event.set_hits(event.hits() + rows);
  event.set_counter_total(static_cast<double>(event.hits()));
  return {"large and sound", to_hex(profile.profile_id()), wire::encode(profile)};
}

HostileProfile HostileProfiles::of_binary(const std::string& path, const std::string& build_id) {
  wire::RawProfile profile = plimsoll::testing::make_profile(
      {.machine = fmt::format("hostile-{}", random_() % 50), .stacks = "main 1\n"});
  profile.set_profile_id(random_id());
  set_window(profile, wall_now_ns());
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(build_id);
  binary.set_path(path);
  for (int i = 0; i < 20; ++i) {
    plimsoll::testing::add_sample(profile, binary, random_() % 4 == 0 ? wire::ELF_FILE_OFFSET : wire::ELF,
                                  skewed(SIZE_MAX >> 1U, random_), 1);
  }
  return {"binary", to_hex(profile.profile_id()), wire::encode(profile)};
}

namespace {

// A number that a machine may claim, or any.
uint64_t claimed(uint64_t largest, bool is_wild, Random& random) {
  return is_wild ? random() >> (random() % 64) : random() % (largest + 1);
}

wire::RegisterRequest registration(const std::string& machine, bool is_wild, Random& random) {
  wire::RegisterRequest request;
  request.set_format_version(1);
  *request.mutable_machine() = wire::sample_profile().machine();
  request.mutable_machine()->set_id(machine);
  request.mutable_machine()->set_boot_id(fmt::format("boot {}", random() % 20 == 0 ? 1 : 0));
  for (size_t i = skewed(is_wild ? 2000 : 1000, random); i > 0; --i) {
    request.add_missing_events(fmt::format("event-{}", i));
  }
  return request;
}

wire::HeartbeatRequest heartbeat(const std::string& machine, bool is_wild, Random& random) {
  wire::HeartbeatRequest request;
  request.set_format_version(1);
  request.set_machine_id(machine);
  request.set_boot_id("boot 0");
  request.set_census_ns(static_cast<int64_t>(claimed(kNsPerMinute, is_wild, random) >> 1U));
  for (size_t i = skewed(is_wild ? 12'000 : 8'000, random); i > 0; --i) {
    wire::InstanceUsage& instance = *request.add_instances();
    instance.set_job(fmt::format("job-{}", random() % 1000));
    instance.set_instance(fmt::format("i{}", i));
    instance.set_quota_cpus(static_cast<double>(claimed(100, is_wild, random)));
    instance.set_cpu_time_ns(
        static_cast<int64_t>(claimed(static_cast<uint64_t>(request.census_ns()), is_wild, random) >> 1U));
  }
  wire::DaemonStatus& status = *request.mutable_status();
  status.set_cpu_time_ns(static_cast<int64_t>(random() >> (random() % 64)));
  status.set_problem(std::string(skewed(10'000, random), 'p'));
  for (size_t i = skewed(is_wild ? 2000 : 100, random); i > 0; --i) {
    wire::AssignmentReport& report = *request.add_assignments();
    report.set_id(fmt::format("{:x}", random()));
    report.set_state(static_cast<wire::AssignmentState>(is_wild ? random() % 7 : 1 + random() % 5));
    report.set_detail(std::string(skewed(1000, random), 'd'));
  }
  return request;
}

}  // namespace

HostileMessage hostile_message(Random& random) {
  const std::string machine = fmt::format("hostile-{}", random() % (random() % 10 == 0 ? 1'000'000 : 50));
  const bool registers = random() % 4 == 0;
  const bool is_wild = random() % 4 == 0;
  std::string body = registers ? registration(machine, is_wild, random).SerializeAsString()
                               : heartbeat(machine, is_wild, random).SerializeAsString();
  if (random() % 4 == 0) {
    body = fuzz::mutated(body, random);
  }
  if (random() % 10 == 0) {
    body += unknown_fields(skewed(size_t{1} << 18, random), random);
  }
  return {registers ? "register" : "heartbeat", std::move(body)};
}

namespace {

constexpr std::array kViews{"top",
                            "callers",
                            "callees",
                            "diff",
                            "series",
                            "shared",
                            "stability",
                            "flame",
                            "export/pprof",
                            "export/gperftools",
                            "compare",
                            "coverage",
                            "machines",
                            "observations",
                            "measured-pairs",
                            "jobs",
                            "draws",
                            "collection",
                            "audit",
                            "binaries",
                            "binaries/missing",
                            "fdo-counts",
                            "placement",
                            "experiment/plan",
                            "experiment/curve",
                            "experiment/progress",
                            "experiment/result",
                            "experiments",
                            "leaks",
                            "status",
                            "store",
                            "values",
                            "annotate",
                            "diagnosis",
                            "regressions",
                            "trace",
                            "findings",
                            "bursts"};
constexpr std::array kOrders{"collection/stop", "collection/resume", "collection/measure", "machines/revoke",
                             "machines/readmit"};
constexpr std::array kParameters{"event",
                                 "where",
                                 "focus",
                                 "ignore",
                                 "hide",
                                 "since",
                                 "until",
                                 "by",
                                 "limit",
                                 "margins",
                                 "ratio",
                                 "beside",
                                 "function",
                                 "of",
                                 "base_where",
                                 "base_since",
                                 "base_until",
                                 "new_where",
                                 "new_since",
                                 "new_until",
                                 "earlier",
                                 "measure",
                                 "among",
                                 "bucket",
                                 "across",
                                 "part",
                                 "below",
                                 "min_share",
                                 "top",
                                 "tolerance",
                                 "permutations",
                                 "margin",
                                 "at",
                                 "id",
                                 "verify",
                                 "job",
                                 "machine",
                                 "for",
                                 "most",
                                 "events",
                                 "rate_hz",
                                 "reason",
                                 "q",
                                 "build_id",
                                 "calls",
                                 "",
                                 "by[]",
                                 "control",
                                 "test",
                                 "detect",
                                 "power",
                                 "history",
                                 "headroom",
                                 "room",
                                 "min_instances",
                                 "max_unknown_cost",
                                 "only",
                                 "form",
                                 "candidates",
                                 "period",
                                 "rate",
                                 "max_machines",
                                 "bursts",
                                 "bursts_for",
                                 "bursts_events",
                                 "match",
                                 "all",
                                 "draw",
                                 "compare_event",
                                 "max_share",
                                 "binary",
                                 "order",
                                 "format",
                                 "name"};
constexpr std::array kValues{"cycles",
                             "source",
                             "text",
                             "cycles,cpu-clock",
                             "main",
                             "cpu-clock",
                             "page-faults",
                             "branch-records",
                             "inuse_space",
                             "machine",
                             "job",
                             "function",
                             "line",
                             "app,thread",
                             "stack",
                             "file",
                             "binary",
                             "address",
                             "build_id",
                             "platform,function",
                             "1",
                             "0",
                             "-1",
                             "20",
                             "100000",
                             "18446744073709551616",
                             "1e308",
                             "nan",
                             "50%",
                             "0.5",
                             "yes",
                             "no",
                             "1h",
                             "5m",
                             "100000h",
                             "1ns",
                             "now",
                             "2026-01-01T00:00:00Z",
                             "9999-12-31T23:59:59Z",
                             "1677-09-21T00:12:43Z",
                             "ipc",
                             "cpi",
                             "share",
                             "rate",
                             "value",
                             "main",
                             "work",
                             "machine=hostile-1",
                             "job=~^job",
                             "function=~(((a*)*)*)*b",
                             "function=~[",
                             "function=~(.{1,1000}){1,1000}",
                             "function!=main",
                             "=~",
                             "job=",
                             "instance",
                             "stratum",
                             "..%2f..",
                             "'",
                             "",
                             "honest-0",
                             "hostile-7",
                             "\x1b[2J",
                             "\xff\xfe",
                             "a,b,c,d,e,f,g,h,i,j"};

std::string hostile_value(Random& random) {
  switch (random() % 12) {
    case 0:
      return fuzz::mutated(one_of(kValues, random), random);
    case 1:
      return random_bytes(skewed(4000, random), random);
    case 2:  // an expression that grows as it is compiled
      return fmt::format("function=~{}", std::string(skewed(8000, random), '('));
    default:
      return one_of(kValues, random);
  }
}

}  // namespace

HostileQuestion hostile_question(Random& random) {
  if (random() % 100 == 0) {
    return {random() % 2 == 0 ? "PUT" : "DELETE",
            "/api/v1/experiments/" + http::url_encode(hostile_value(random))};
  }
  const bool orders = random() % 20 == 0;
  std::string target = "/api/v1/" + (orders ? one_of(kOrders, random) : one_of(kViews, random));
  char separator = '?';
  for (size_t count = below(random, random() % 50 == 0 ? 200 : 5); count > 0; --count) {
    target += fmt::format("{}{}={}", separator, http::url_encode(one_of(kParameters, random)),
                          http::url_encode(hostile_value(random)));
    separator = '&';
  }
  return {orders ? "POST" : "GET", target};
}

std::string hostile_statement(Random& random) {
  static const std::array<std::string, 14> kCostly{
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' FROM n",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT max(i) FROM n",
      "SELECT printf('%.*c', 1000000000, 'x')",
      "SELECT hex(zeroblob(1000000000))",
      "SELECT length(randomblob(999999999))",
      "SELECT group_concat(a.stack) FROM samples a, samples b, samples c",
      "SELECT count(*) FROM samples a, samples b, samples c, samples d ORDER BY 1",
      "SELECT a.*, b.* FROM samples a CROSS JOIN samples b ORDER BY a.value, b.value",
      "SELECT replace(replace(hex(zeroblob(100000)), '0', '0123456789'), '1', '0123456789')",
      "SELECT DISTINCT a.stack || b.stack FROM samples a, samples b",
      "SELECT json_group_array(stack) FROM samples",
      "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%b'",
      "WITH t AS (SELECT stack s FROM samples) SELECT * FROM t a, t b, t c LIMIT 10000000"};
  switch (random() % 8) {
    case 0:
      return one_of(kCostly, random);
    case 1:
      return fmt::format("SELECT {}1{}", std::string(skewed(20'000, random), '('),
                         std::string(skewed(20'000, random), ')'));
    default:
      break;
  }
  fuzz::OddStatements statements(random);
  const std::string statement = random() % 10 == 0 ? statements.order() : statements.question();
  return random() % 4 == 0 ? fuzz::mutated(statement, random) : statement;
}

std::pair<std::string, std::string> hostile_elf(Random& random) {
  static const std::vector<std::string> kSound = [] {
    std::vector<std::string> images;
    for (const char* name : {"inline_gcc5.so", "inline_gcc4_gz.so", "inline_gcc2_strict.so",
                             "inline_clang5.so", "split.so", "siblings.so"}) {
      if (auto image = read_file(built_file(name), 4 << 20)) {
        images.push_back(std::move(*image));
      }
    }
    return images;
  }();
  std::string image = one_of(kSound, random);
  const std::string old_id(elf::ElfFile::parse(as_bytes(image))->build_id());
  const std::string build_id = random_bytes(std::max<size_t>(old_id.size(), 1), random);
  if (const size_t at = old_id.empty() ? std::string::npos : image.find(old_id); at != std::string::npos) {
    image.replace(at, build_id.size(), build_id);
  }
  return {random() % 2 == 0 ? fuzz::with_damaged_section(image, random) : fuzz::mutated(image, random),
          build_id};
}

}  // namespace plimsoll::soak
