// Every example that --help shows is run as it stands, on data for it. What stands for something of the reader's own is put in:
// DIR, ADDR, the server's usual address, the ID of a draw.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/slow_shop.h"
#include "tests/profile_fixture.h"
#include "tests/traces/versioned_disks.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::testing {
namespace {

constexpr std::string_view kProtobuf = "application/x-protobuf";

// Of these the help shows examples that cannot run here.
const std::map<std::string, std::string> kNotRun = {
    {"plimsoll binaries show", "names a build that the reader has; binaries_test runs it"},
    {"plimsoll calibrate", "samples the whole machine for minutes; calibrate_test runs it"},
    {"plimsoll config check --role", "names a file that the reader has; config_check_test has such files"},
    {"plimsoll demo", "samples the whole machine"},
    {"plimsoll server", "goes on until it is stopped; server_test runs it"},
    {"plimsoll experiment report", "compares what came in after the definition"},
    {"plimsoll experiment watch", "goes on until all was observed"},
    {"plimsoll top --watch", "goes on until it is stopped; views_test runs it"},
    {"plimsoll regressions --server", "asks about the last day; regressions_test runs it"},
    {"plimsoll store copy", "needs a ClickHouse; clickhouse_copy_test runs it"},
    {"plimsoll store repair", "needs a database that is lost; store_care_e2e_test runs it"},
    {"plimsoll symbolize --build-id", "names a build that the reader has; symbolize_test runs it"},
};

std::string help_of(const std::string& command) {
  std::vector<std::string> argv{"plimsoll"};
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    argv.push_back(word);
  }
  argv.emplace_back("--help");
  const Finished help = run(argv);
  EXPECT_EQ(help.status, 0) << command;
  return help.out;
}

// Names in the part "Subcommands:" of a help text.
std::vector<std::string> subcommands_in(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  bool is_there = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) {
      is_there = line == "Subcommands:";
    } else if (is_there && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return names;
}

// Commands and their subcommands, at most two words.
std::vector<std::string> all_commands() {
  std::vector<std::string> commands;
  for (const std::string& command : subcommands_in(help_of(""))) {
    commands.push_back(command);
    for (const std::string& subcommand : subcommands_in(help_of(command))) {
      commands.push_back(command + " " + subcommand);
    }
  }
  return commands;
}

bool has_open_quote(const std::string& line) {
  char quote = 0;
  for (const char character : line) {
    if ((character == '"' || character == '\'') && (quote == 0 || quote == character)) {
      quote = quote == 0 ? character : 0;
    }
  }
  return quote != 0;
}

// Without the words about it that may stand behind it, three spaces away.
std::string without_remark(const std::string& line) {
  for (size_t at = line.find("   "); at != std::string::npos; at = line.find("   ", at + 1)) {
    if (!has_open_quote(line.substr(0, at))) {
      return line.substr(0, at);
    }
  }
  return line;
}

std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool is_command = line.starts_with("  ") && line.find_first_not_of(' ') == 2 && line[2] != '-' &&
                            line[2] != '#' && line[2] != '"';
    const bool is_ours = line.starts_with("  plimsoll ") || line.find("| plimsoll ") != std::string::npos ||
                         line.find("$(plimsoll ") != std::string::npos;
    if (!is_command || !is_ours) {
      continue;
    }
    for (std::string more; has_open_quote(line) && std::getline(lines, more);) {
      line += "\n" + more;
    }
    examples.push_back(without_remark(line.substr(2)));
  }
  return examples;
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A program of the reader's own that the profiles have samples of.
struct SearchProgram {
  std::string build_id = {};
  std::vector<uint64_t> addresses = {};
};

// A profile of one job on one machine, with what the examples ask for.
struct Ran {
  uint64_t seed;
  std::string machine;
  std::string job;
  std::string platform;
  std::string revision;
  int64_t from_ns;
  const SearchProgram& search;
};

wire::RawProfile profile_of(const Ran& ran) {
  std::string stacks;
  for (const auto& [event, per_share] : std::map<std::string, int>{{"cycles", 100},
                                                                   {"instructions", 150},
                                                                   {"cpu-clock", 50},
                                                                   {"cache-misses", 20},
                                                                   {"branch-misses", 10},
                                                                   {"LLC-load-misses", 5}}) {
    const auto hits = [&, factor = per_share](int share) {
      return std::to_string(factor * share + static_cast<int>(ran.seed % 7));
    };
    stacks += "process=gzip event=" + event + " main;parse;lex " + hits(3) + "\n";
    stacks += "process=gzip event=" + event + " main;__memcpy_avx_unaligned_erms " + hits(2) + "\n";
    stacks += "process=gzip event=" + event + " main;sqlite3VdbeExec " + hits(1) + "\n";
  }
  stacks += "process=gzip event=heap-inuse-bytes main;parse 4096\n";
  wire::RawProfile profile =
      make_profile({.seed = ran.seed,
                    .machine = ran.machine,
                    .from_ns = ran.from_ns,
                    .length_ns = 60 * kNsPerSecond,
                    .events = {{.name = "cycles"},
                               {.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
                    .job = ran.job,
                    .stacks = stacks});
  profile.mutable_machine()->set_platform(ran.platform);
  profile.mutable_machine()->set_cluster("eu-1");
  const auto binary = [](const std::string& path, const std::string& id) {
    wire::Binary made;
    made.set_identity_kind(wire::GNU_BUILD_ID);
    made.set_identity(id);
    made.set_path(path);
    return made;
  };
  add_sample(profile, binary("/lib/libz.so.1", "libz's build ID"), wire::ELF, 0x10, 50);
  add_sample(profile, binary("/lib/libprotobuf.so.32", "protobuf's build"), wire::ELF, 0x20, 40);
  for (const uint64_t address : ran.search.addresses) {
    add_sample(profile, binary("/srv/search", ran.search.build_id), wire::ELF, address, 100);
  }
  wire::Binary main = binary("/usr/bin/gzip", "gzip of revision" + ran.revision);
  main.set_revision(ran.revision);
  *profile.add_binaries() = main;
  for (wire::Process& process : *profile.mutable_processes()) {
    process.set_binary_plus_1(static_cast<uint32_t>(profile.binaries_size()));
    process.set_instance("/" + ran.job + ".service");
  }
  return profile;
}

class HelpExamples : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.becomes_ready());
    add_search_program();
    add_profiles();
    add_files();
    add_series();
    send_traces();
    register_machine();
  }

  // The same program twice, of which one takes longer.
  void add_search_program() {
    write("search.c", R"(#include <stdlib.h>
volatile unsigned long rounds = ROUNDS;
unsigned long find(unsigned long value) {
  return value % 7 == 3 ? value * 5 : value + 1;
}
int main(void) {
  unsigned long sum = 0;
  for (unsigned long i = 0; i < rounds; ++i) {
    sum += find(sum ^ i);
  }
  return sum == 1;
}
)");
    const Finished built = shell(
        "gcc -O1 -g -Wl,--build-id=sha1 -DROUNDS=2000000 search.c -o search && "
        "gcc -O1 -g -Wl,--build-id=sha1 -DROUNDS=60000000 search.c -o search.before && "
        "objcopy --only-keep-debug search search.debug && mkdir src && cp search.c src");
    ASSERT_EQ(built.status, 0) << built.err;
    const auto content = read_file(folder_ / "search", 16 << 20);
    ASSERT_TRUE(content);
    const auto elf = elf::ElfFile::parse(as_bytes(*content));
    ASSERT_TRUE(elf);
    search_.build_id = elf->build_id();
    elf->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
      if (symbol.name == "find" || symbol.name == "main") {
        search_.addresses.push_back(symbol.address);
      }
    });
    ASSERT_EQ(search_.addresses.size(), 2);
  }

  // Jobs on machines of two platforms and two revisions, at the times that the examples name.
  void add_profiles() {
    const int64_t now_ns = wall_now_ns();
    std::vector<int64_t> times;
    for (const int64_t age_ns :
         {20 * kNsPerMinute, 24 * kNsPerHour + 20 * kNsPerMinute, 7 * 24 * kNsPerHour + 20 * kNsPerMinute}) {
      times.push_back(now_ns - age_ns);
    }
    for (const char* time : {"2026-11-21T07:00:00Z", "2026-11-21T13:00:00Z"}) {
      times.push_back(parse_time_ns(time, now_ns).value_or(0));
    }
    http::Client client({.base_url = server_.fleet_address()});
    std::vector<std::string> import{"plimsoll", "import", "--data", dir_};
    uint64_t seed = 1;
    for (const int64_t time_ns : times) {
      for (const char* job : {"search", "web"}) {
        for (int machine = 0; machine < 12; ++machine) {
          const wire::RawProfile profile =
              profile_of({.seed = seed++,
                          .machine = machine == 0 ? "m17" : fmt::format("n{}", machine),
                          .job = job,
                          .platform = machine % 2 == 0 ? "skylake" : "rome",
                          .revision = machine % 4 < 2 ? "41" : "42",
                          .from_ns = time_ns,
                          .search = search_});
          const std::string path = folder_ / fmt::format("{}.profile", seed);
          std::ofstream(path, std::ios::binary) << wire::encode(profile);
          import.push_back(path);
        }
      }
    }
    const Finished imported = run(import);
    ASSERT_EQ(imported.status, 0) << imported.err;
    for (size_t i = 4; i < 4 + 24; ++i) {  // the newest
      std::ifstream file(import[i], std::ios::binary);
      const std::string encoded{std::istreambuf_iterator<char>(file), {}};
      const auto profile = wire::decode(as_bytes(encoded));
      ASSERT_TRUE(profile);
      if (profile->machine().platform() != "skylake") {
        continue;  // of one platform, as the examples of wsmeter want it that name none
      }
      const auto sent = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile->profile_id()), encoded,
                                    "application/octet-stream");
      ASSERT_TRUE(sent && sent->ok()) << (sent ? sent->body : sent.error().text());
    }
    ASSERT_TRUE(eventually([&] {
      return run({"plimsoll", "top", "--server", server_.address(), "--csv"}).out.find("parse") !=
             std::string::npos;
    }));
  }

  void send_traces() {
    http::Client client({.base_url = server_.fleet_address()});
    const auto sent = client.send("POST", "/api/v2/spans", slow_shop_zipkin(), "application/json");
    ASSERT_TRUE(sent && sent->ok()) << (sent ? sent->body : sent.error().text());
  }

  void register_machine() {
    http::Client client({.base_url = server_.fleet_address()});
    wire::RegisterRequest registration;
    registration.set_format_version(wire::kFormatVersion);
    registration.mutable_machine()->set_id("m17");
    registration.mutable_machine()->set_boot_id("boot");
    registration.mutable_machine()->set_hostname("m17");
    registration.mutable_machine()->set_platform("skylake");
    registration.mutable_machine()->set_cores(4);
    ASSERT_TRUE(client.send("POST", "/fleet/v1/register", registration.SerializeAsString(), kProtobuf)->ok());
    send_heartbeat();
  }

  // A machine is live for a minute after one, and all examples take longer.
  void send_heartbeat() {
    http::Client client({.base_url = server_.fleet_address()});
    wire::HeartbeatRequest heartbeat;
    heartbeat.set_format_version(wire::kFormatVersion);
    heartbeat.set_machine_id("m17");
    heartbeat.set_boot_id("boot");
    heartbeat.set_census_ns(2'000'000'000);
    for (const char* job : {"web", "search"}) {
      wire::InstanceUsage& usage = *heartbeat.add_instances();
      usage.set_job(job);
      usage.set_instance(fmt::format("/{}.service", job));
      usage.set_quota_cpus(1.5);
      usage.set_weight(100);
      usage.set_cpu_time_ns(500'000'000);
    }
    ASSERT_TRUE(client.send("POST", "/fleet/v1/heartbeat", heartbeat.SerializeAsString(), kProtobuf)->ok());
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  // Latencies of arms, and CPU use of services.
  void add_series() const {
    std::string latencies = "time,arm,user,value\n";
    for (const char* arm : {"control", "test", "r41", "r42"}) {
      latencies += fmt::format("2026-11-21T07:00:00Z,{},ann,12\n2026-11-21T08:00:00Z,{},bob,15\n", arm, arm);
    }
    write("latencies.csv", latencies);
    write("latencies.json",
          R"([{"time": "2026-11-21T07:00:00Z", "arm": "control", "user": "ann", "value": 12},
                                {"time": "2026-11-21T07:00:00Z", "arm": "test", "user": "bob", "value": 15}])");
    write("use.csv", "time,service,cpus\n0,web,1\n0.01,web,3\n0,db,2\n0.01,db,1\n");
  }

  // What the examples read, in the folder that they run in.
  void add_files() const {
    write("jobs.csv",
          "job,load,quota,mean,stddev,instances\nweb,1e11,100,1.5,0.2,50\ndb,1e11,60,0.9,0.1,40\n");
    write("costs.csv",
          "job,platform,cpi,margin\nweb,old,2.0,0.1\nweb,new,1.0,0.05\ndb,old,1.1,0.05\ndb,new,1.0,0.05\n");
    write("platforms.csv", "platform,capacity\nold,1e12\nnew,1.2e11\nskylake,1e15\nrome,1e15\n");
    write("today.csv", "job,platform,load\nweb,old,1e11\ndb,old,1e11\n");
    std::string fleet = "platform,job,instance,performance,machine\n";
    for (const char* platform : {"old", "new", "A", "B"}) {
      for (const char* job : {"web", "db"}) {
        for (int instance = 0; instance < 40; ++instance) {
          fleet += fmt::format("{},{},{},{},{}-{}\n", platform, job, instance, 100 + instance * 7 % 11,
                               platform, instance);
        }
      }
    }
    write("fleet.csv", fleet);
    write("test.csv", fleet);
    write("p.csv", fleet);
    write("addresses", "0x1136\n");
    write("heap.pb.gz", "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x11\n");
    write("perf.data", wire::encode(make_profile({.seed = 9'001, .stacks = "main;parse 1\n"})));
    write("traces.csv", slow_shop_table());
    write("versions.csv", diagnosis::versioned_disks_table());
    std::filesystem::create_directories(folder_ / "traces");
    write("traces/shop.csv", slow_shop_table());
    traces::BurstRecording recording;
    recording.config_bits = 0x7F00;
    traces::Burst burst;
    burst.planned = {.begin_ms = 0x7F00, .end_ms = 0x8000};
    burst.off_ns = 256'000'000;
    recording.bursts = {burst};
    recording.machine = "machine";
    write("machine.bursts", traces::encode_bursts(recording));
    recording.machine = "other";
    write("other.bursts", traces::encode_bursts(recording));
    write("server.toml", "[server]\ndata = \"data-of-server\"\n");
    write("daemon.toml", "[daemon]\nstate_dir = \"state\"\n");
    write("a.c", "int main(void) { return 0; }\n");
    std::filesystem::create_directories(folder_ / "home/.local/share/bash-completion/completions");
    std::filesystem::create_directories(folder_ / "home/.config/fish/completions");
    const Finished made = shell(
        "gzip -k p.csv && tar -czf heaps.tar.gz heap.pb.gz && gcc -g -o a.out a.c && cp a.out stripped && "
        "objcopy --only-keep-debug stripped "
        "stripped.debug && "
        "strip stripped && gcc -gdwarf-4 -gsplit-dwarf -o split a.c && dwp -e split -o split.dwp && "
        "plimsoll symtab build ./a.out -o a.symtab");
    ASSERT_EQ(made.status, 0) << made.err;
  }

  Finished shell(const std::string& command) const {
    const std::string programs = std::filesystem::path(program("plimsoll")).parent_path().string();
    return run({"/bin/bash", "-c",
                fmt::format("set -o pipefail; export PATH={}:$PATH HOME={}; cd {} && {}", programs,
                            folder_ / "home", folder_.path(), command)});
  }

  std::string filled_in(std::string example) {
    // What the reader's other tools do with the output.
    const size_t other = example.find(" && ");
    if (other != std::string::npos) {
      example.resize(other);
    }
    if (example.starts_with("eval \"$(")) {
      example = example.substr(8, example.find(')') - 8);
    }
    // Only the server knows of draws, and what quotas daemons told.
    const bool is_served =
        example.starts_with("plimsoll draws") || example.starts_with("plimsoll wsmeter baseline");
    replace_all(example, "BACKUP", folder_ / "backup");
    replace_all(example, "NEW_DIR", folder_ / "restored");
    replace_all(example, "BUILD_ID", to_hex(search_.build_id));
    replace_all(example, "DIR", is_served ? folder_ / "served" : dir_);
    replace_all(example, "127.0.0.1:7070", server_.address());
    replace_all(example, "ADDR", server_.address());
    replace_all(example, "/etc/plimsoll", folder_.path());
    replace_all(example, "fleet-2026-11-23T06:00:00Z", draw_);
    return example;
  }

  TemporaryFolder folder_;
  std::string dir_ = folder_ / "data";
  TestServer server_{folder_ / "served", "[draw]\ninterval = \"24h\"\n"};
  SearchProgram search_;
  std::string draw_ = "unknown";
};

TEST_F(HelpExamples, AllRun) {
  const Finished measured =
      run({"plimsoll", "measure", "--server", server_.address(), "--machine", "m17", "--for", "1s"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  const auto draws = rows_of(view("draws", {"--server", server_.address()}));
  ASSERT_FALSE(draws.empty());
  draw_ = text(draws.front().at("draw"));

  size_t ran = 0;
  for (const std::string& command : all_commands()) {
    for (const std::string& example : examples_in(help_of(command))) {
      const bool is_run = std::ranges::none_of(
          kNotRun, [&](const auto& not_run) { return example.starts_with(not_run.first); });
      if (!is_run) {
        continue;
      }
      ++ran;
      if (example.starts_with("plimsoll experiment define ")) {
        std::filesystem::remove(folder_ / "pages.toml");  // of another example
      }
      ASSERT_NO_FATAL_FAILURE(send_heartbeat());
      const Finished finished = shell(filled_in(example));
      EXPECT_EQ(finished.status, 0) << "plimsoll " << command << " --help: " << example << "\n"
                                    << finished.err;
    }
  }
  EXPECT_GE(ran, 50) << "examples are found in the help texts";
}

}  // namespace
}  // namespace plimsoll::testing
