// page_fleet profiles FOLDER | two-days FOLDER | large FOLDER | register ADDRESS: a made-up fleet for the tests and pictures of the web
// page.
//
// profiles: of 16 machines of three platforms over the last two hours, in which two functions of the job search have changed an hour ago;
// and names that are hostile to a page. two-days: and of an hour a day before, when they had not. large: one profile of a tree of over 100,000 nodes, and of a stack of 3,000 frames. register: the
// machines report to a server, with what runs on them; some refuse or fail what they are told to collect.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

constexpr int kMachines = 16;
constexpr int64_t kMinuteNs = 60 * kNsPerSecond;
constexpr int64_t kStepNs = 10 * kMinuteNs;
constexpr int kSteps = 12;
constexpr int kChangedStep = 6;
constexpr int64_t kDayNs = 24 * 60 * kMinuteNs;
constexpr double kHitNs = 10'000'000;

struct PathCost {
  std::string_view job;
  std::string_view stack;
  double hits;
};

// "[k]" marks code of the kernel, "[u]" code of a library without symbols; braces stand for the brackets of templates, which mean inlining in the fixture.
constexpr PathCost kPaths[] = {
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;search::Handler::Query@search/handler.cc:77;search::Ranker::Score@search/"
     "ranker.cc:142;search::Postings::Intersect@search/postings.cc:88>search::Block::Decode@search/"
     "block.h:41>decode_varint@base/varint.h:19",
     900},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;search::Handler::Query@search/handler.cc:77;search::Ranker::Score@search/"
     "ranker.cc:142;search::Postings::Intersect@search/postings.cc:91",
     420},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;search::Handler::Query@search/handler.cc:77;search::Ranker::Score@search/"
     "ranker.cc:155;search::Features::Dot@search/features.cc:60",
     610},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;search::Handler::Query@search/handler.cc:80;std::sort{search::Hit*, "
     "search::ByScore}@bits/stl_algo.h:4820;std::__introsort_loop{search::Hit*, long, "
     "search::ByScore}@bits/stl_algo.h:1912;std::__introsort_loop{search::Hit*, long, "
     "search::ByScore}@bits/stl_algo.h:1912;std::__introsort_loop{search::Hit*, long, "
     "search::ByScore}@bits/stl_algo.h:1908",
     260},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;search::Handler::Query@search/handler.cc:92;proto::Message::SerializeToString@proto/"
     "message.cc:410;operator new@tcmalloc.cc:1700;tcmalloc::ThreadCache::Allocate@thread_cache.h:370",
     230},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:131;crc32c::Extend@util/crc32c.cc:300", 330},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:126;rpc::Socket::Write@rpc/"
     "socket.cc:64;__libc_write@write.c:26;[k]entry_SYSCALL_64_after_hwframe;[k]do_syscall_64;[k]ksys_write;["
     "k]tcp_sendmsg;[k]tcp_write_xmit;[k]ip_queue_xmit;[k]dev_queue_xmit",
     310},
    {"search",
     "main@server/main.cc:31;rpc::Server::Serve@rpc/server.cc:121;rpc::Socket::Read@rpc/"
     "socket.cc:40;__libc_read@read.c:26;[k]entry_SYSCALL_64_after_hwframe;[k]do_syscall_64;[k]ksys_read;[k]"
     "tcp_recvmsg;[k]copy_user_enhanced_fast_string",
     190},
    {"ads",
     "main@ads/main.cc:12;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;ads::Auction::Run@ads/auction.cc:55;ads::Bidder::Bid@ads/"
     "bidder.cc:71;ads::Model::Predict@ads/model.cc:23>ads::dot_product@ads/simd.h:14",
     800},
    {"ads",
     "main@ads/main.cc:12;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;ads::Auction::Run@ads/auction.cc:61;absl::flat_hash_map{std::string, "
     "ads::Budget}::find@absl/raw_hash_set.h:1500;__memcmp_avx2_movbe@memcmp.S:60",
     340},
    {"ads",
     "main@ads/main.cc:12;rpc::Server::Serve@rpc/server.cc:118;rpc::Server::Dispatch@rpc/"
     "server.cc:204;ads::Auction::Log@ads/auction.cc:98;proto::Message::SerializeToString@proto/"
     "message.cc:410;__memcpy_avx_unaligned_erms@memmove.S:260",
     290},
    {"ads",
     "main@ads/main.cc:12;rpc::Server::Serve@rpc/server.cc:126;rpc::Socket::Write@rpc/"
     "socket.cc:64;__libc_write@write.c:26;[k]entry_SYSCALL_64_after_hwframe;[k]do_syscall_64;[k]ksys_write;["
     "k]tcp_sendmsg",
     160},
    {"storage",
     "main@storage/main.cc:20;storage::Compactor::Run@storage/compactor.cc:44;storage::Table::Merge@storage/"
     "table.cc:130;storage::Block::Read@storage/"
     "block.cc:33;ZSTD_decompressBlock_internal@zstd_decompress_block.c:2000;ZSTD_decodeSequence@zstd_"
     "decompress_block.c:1200",
     560},
    {"storage",
     "main@storage/main.cc:20;storage::Compactor::Run@storage/compactor.cc:44;storage::Table::Merge@storage/"
     "table.cc:141;storage::Block::Write@storage/block.cc:90;ZSTD_compressBlock_lazy@zstd_lazy.c:1540",
     450},
    {"storage",
     "main@storage/main.cc:20;storage::Compactor::Run@storage/compactor.cc:52;crc32c::Extend@util/"
     "crc32c.cc:300",
     210},
    {"storage",
     "main@storage/main.cc:20;storage::Server::Get@storage/server.cc:70;storage::Cache::Lookup@storage/"
     "cache.cc:28;__memcpy_avx_unaligned_erms@memmove.S:260",
     180},
    {"storage",
     "main@storage/main.cc:20;storage::Log::Sync@storage/"
     "log.cc:19;__libc_fdatasync@fdatasync.c:25;[k]entry_SYSCALL_64_after_hwframe;[k]do_syscall_64;[k]ext4_"
     "sync_file;[k]jbd2_complete_transaction;[k]submit_bio",
     220},
    {"gateway",
     "main@gateway/main.cc:9;gateway::Loop::Run@gateway/loop.cc:30;tls::Session::Read@tls/"
     "session.cc:88;aes_gcm_dec@aesni.S:400",
     240},
    {"gateway", "main@gateway/main.cc:9;gateway::Loop::Run@gateway/loop.cc:30;[u]0;[u]1", 70},
    {"gateway", "main@gateway/main.cc:9;gateway::Loop::Run@gateway/loop.cc:30;[u]2", 30},
    {"gateway",
     "main@gateway/main.cc:9;gateway::Loop::Run@gateway/loop.cc:34;http::Parser::Feed@http/parser.cc:52",
     130},
    {"gateway",
     "main@gateway/main.cc:9;gateway::Loop::Run@gateway/"
     "loop.cc:22;__libc_epoll_wait@epoll_wait.c:30;[k]entry_SYSCALL_64_after_hwframe;[k]do_syscall_64;[k]ep_"
     "poll",
     60},
    {"hostile", "main;NAME0;NAME1;NAME2;NAME3", 20},
};

// In place of NAME0 and so on: as a page's element, a formula, text that turns around, and as much as a profile may have.
const std::array<std::string, 4>& hostile_names() {
  static const std::array<std::string, 4> names{
      "<img src=x onerror=\"window.hostile=1\"><script>window.hostile=1</script>",
      "=HYPERLINK(\"javascript:1\");'--", "name\u202egnp.exe\u200b", std::string(4'096, 'x')};
  return names;
}

constexpr std::array kPlatforms{"Intel Skylake", "AMD Zen 2", "AMD Zen 3"};

void describe(wire::Machine& machine, int number) {
  machine.set_id(fmt::format("m{:02}", number));
  machine.set_boot_id("boot");
  machine.set_hostname(fmt::format("host-{:02}.example", number));
  machine.set_platform(kPlatforms[static_cast<size_t>(number) % kPlatforms.size()]);
  machine.set_cluster(number % 2 == 0 ? "eu-1" : "us-1");
  machine.set_datacenter(number % 2 == 0 ? "eu" : "us");
  machine.set_architecture("x86_64");
  machine.set_kernel_release("6.1.0-17-amd64");
  machine.set_cores(64);
  machine.set_memory_bytes(uint64_t{256} << 30);
  // Two were not updated.
  machine.set_daemon_version(number % 8 == 5 ? "0.0.9" : "0.1.0");
}

// Not all machines run everything.
bool runs(int machine, std::string_view job) {
  return job == "search" || (job == "ads" && machine % 4 != 3) || (job == "storage" && machine % 2 == 0) ||
         (job == "gateway" && machine % 8 == 1) || (job == "hostile" && machine == 1);
}

void write_profile(const std::string& path, const wire::RawProfile& profile) {
  const auto encoded = wire::encode(profile);
  std::ofstream(path, std::ios::binary).write(encoded.data(), static_cast<std::streamsize>(encoded.size()));
}

// What the fixture calls "[u]N" becomes code of a library that has no symbols here.
void move_into_stripped_library(wire::RawProfile& profile) {
  int library = -1;
  wire::Locations& locations = *profile.mutable_locations();
  for (int at = 0; at < locations.kind_size(); ++at) {
    if (locations.kind(at) != wire::NAMED) {
      continue;
    }
    const std::string& name = profile.frames(static_cast<int>(locations.address(at))).function();
    if (!name.starts_with("[u]")) {
      continue;
    }
    if (library < 0) {
      library = profile.binaries_size();
      wire::Binary& binary = *profile.add_binaries();
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity(std::string(20, '\x5a'));
      binary.set_path("/srv/gateway/libcompress.so.4");
    }
    locations.set_kind(at, wire::ELF);
    locations.set_owner(at, static_cast<uint32_t>(library));
    locations.set_address(at, 0x1000 * static_cast<uint64_t>(name[3] - '0' + 1) + 0x20);
  }
}

// What the fixture calls "[k]NAME" becomes code of the kernel, with its symbols.
void move_into_kernel(wire::RawProfile& profile) {
  std::map<std::string, uint64_t> offsets;
  int kernel = -1;
  wire::Locations& locations = *profile.mutable_locations();
  for (int at = 0; at < locations.kind_size(); ++at) {
    if (locations.kind(at) != wire::NAMED) {
      continue;
    }
    const std::string& name = profile.frames(static_cast<int>(locations.address(at))).function();
    if (!name.starts_with("[k]")) {
      continue;
    }
    if (kernel < 0) {
      kernel = profile.binaries_size();
      wire::Binary& binary = *profile.add_binaries();
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity(std::string(20, 'k'));
      binary.set_path("[kernel]");
    }
    const uint64_t offset = offsets.try_emplace(name.substr(3), 0x1000 * (offsets.size() + 1)).first->second;
    locations.set_kind(at, wire::KERNEL);
    locations.set_owner(at, static_cast<uint32_t>(kernel));
    locations.set_address(at, offset + 0x10);
  }
  if (kernel < 0) {
    return;
  }
  std::map<uint64_t, std::string> by_offset;
  for (const auto& [name, offset] : offsets) {
    by_offset.emplace(offset, name);
  }
  wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
  image.set_binary(static_cast<uint32_t>(kernel));
  uint64_t before = 0;
  for (const auto& [offset, name] : by_offset) {
    image.add_offset_delta(offset - before);
    image.mutable_names()->append(name + '\0');
    before = offset;
  }
}

// When a step's profile begins. Those of a day before are of negative steps: of the hour that is a day before the last one.
int64_t begin_of(int step, int64_t now_ns) {
  const int64_t days_ns = step < 0 ? kDayNs : 0;
  const int step_of_day = step < 0 ? step + kSteps : step;
  return now_ns - days_ns - (kSteps - step_of_day) * kStepNs + kMinuteNs;
}

void write_fleet(const std::string& folder, int first_step) {
  const int64_t now_ns = wall_now_ns();
  uint64_t seed = 1;
  for (int machine = 0; machine < kMachines; ++machine) {
    std::mt19937_64 random(static_cast<uint64_t>(machine) + 7);
    std::normal_distribution<double> noise(0, 0.08);
    std::map<std::string_view, double> own;  // how much of each path this machine has
    for (int step = first_step; step < kSteps; ++step) {
      std::string stacks;
      for (const PathCost& path : kPaths) {
        if (!runs(machine, path.job)) {
          continue;
        }
        const double factor = own.try_emplace(path.stack, std::exp(noise(random))).first->second;
        const bool is_varint = path.stack.ends_with("decode_varint@base/varint.h:19");
        const bool is_crc = path.job == "search" && path.stack.ends_with("crc32c::Extend@util/crc32c.cc:300");
        const double change = step < kChangedStep ? 1 : is_varint ? 1.7 : is_crc ? 0.35 : 1;
        const double wave = 1 + 0.25 * std::sin(step * 0.7 + (path.job == "search" ? 0 : 2));
        const auto hits =
            static_cast<uint64_t>(path.hits * factor * change * wave * std::exp(noise(random) / 3));
        stacks += fmt::format("process={} thread={} {} {}\n", path.job, path.job, path.stack, hits + 1);
      }
      stacks += fmt::format("process=search event=page-faults main;search::Index::Load {}\n", 50 + machine);
      // A job for each process: the fixture has one for all.
      wire::RawProfile profile = make_profile({.seed = seed++,
                                               .machine = fmt::format("m{:02}", machine),
                                               .from_ns = begin_of(step, now_ns),
                                               .length_ns = kMinuteNs,
                                               .events = {{"cpu-clock", kHitNs, wire::NANOSECONDS}},
                                               .labels = machine % 2 == 0 ? "tier:gold" : "tier:silver",
                                               .stacks = stacks});
      describe(*profile.mutable_machine(), machine);
      for (wire::Process& process : *profile.mutable_processes()) {
        process.set_job(process.comm());
        process.set_instance("/" + process.comm() + ".service");
      }
      for (wire::NamedFrame& frame : *profile.mutable_frames()) {
        std::ranges::replace(*frame.mutable_function(), '{', '<');
        std::ranges::replace(*frame.mutable_function(), '}', '>');
        if (frame.function().starts_with("NAME")) {
          frame.set_function(hostile_names()[static_cast<size_t>(frame.function()[4] - '0')]);
        }
      }
      move_into_stripped_library(profile);
      move_into_kernel(profile);
      write_profile(fmt::format("{}/{:02}-{:02}.profile", folder, machine, step - first_step), profile);
    }
  }
}

void write_large(const std::string& folder) {
  std::mt19937_64 random(1);
  std::string stacks;
  for (int stack = 0; stack < 14'000; ++stack) {
    std::string path = "main";
    for (int depth = 0; depth < 14; ++depth) {
      // Few near the root, many further out.
      path += fmt::format(";layer{}::function_{}", depth, random() % (depth < 3 ? 4 : 40));
    }
    stacks += fmt::format("{} {}\n", path, 1 + random() % 20 * (stack % 50 == 0 ? 40 : 1));
  }
  std::string deep = "deep";
  for (int depth = 1; depth < 3000; ++depth) {
    deep += fmt::format(";recurse_{}", depth % 5);
  }
  stacks += deep + " 9000\n";
  wire::RawProfile profile = make_profile({.from_ns = wall_now_ns() - kStepNs,
                                           .length_ns = kMinuteNs,
                                           .events = {{"cpu-clock", kHitNs, wire::NANOSECONDS}},
                                           .job = "large",
                                           .stacks = stacks});
  describe(*profile.mutable_machine(), 1);
  write_profile(folder + "/large.profile", profile);
}

// What some machines say of what they were told to collect.
void answer_assignments(int number, const wire::HeartbeatReply& reply, wire::HeartbeatRequest& heartbeat) {
  heartbeat.clear_assignments();
  for (const wire::Assignment& assignment : reply.assignments()) {
    wire::AssignmentReport& report = *heartbeat.add_assignments();
    report.set_id(assignment.id());
    const bool refuses = number % 8 == 3;
    const bool fails = number % 8 == 5;
    report.set_state(refuses ? wire::REFUSED : fails ? wire::FAILED : wire::WAITING);
    report.set_detail(refuses ? "the machine's own limits: limits.max_cpu_percent"
                      : fails ? "opening cpu-clock: too many open files"
                              : "");
  }
}

bool register_fleet(const std::string& address) {
  http::Client client({.base_url = address});
  std::string body;  // of the newest answer
  const auto send = [&](const char* path, const std::string& content) {
    auto response = client.send("POST", path, content, "application/x-protobuf");
    const bool is_ok = response && response->ok();
    body = is_ok ? std::move(response->body) : std::string();
    return is_ok;
  };
  bool all = true;
  for (int number = 0; number < kMachines; ++number) {
    wire::RegisterRequest registration;
    registration.set_format_version(wire::kFormatVersion);
    describe(*registration.mutable_machine(), number);
    wire::HeartbeatRequest heartbeat;
    heartbeat.set_format_version(wire::kFormatVersion);
    heartbeat.set_machine_id(registration.machine().id());
    heartbeat.set_boot_id("boot");
    heartbeat.set_census_ns(60 * kNsPerSecond);
    wire::DaemonStatus& status = *heartbeat.mutable_status();
    status.set_cpu_share(0.002 + 0.0002 * number);
    status.set_cpu_share_limit(0.01);
    if (number == 6) {
      status.set_problem("no hardware counters: a virtual machine without a PMU; cpu-clock is used");
    }
    for (const std::string_view job : {"search", "ads", "storage", "gateway"}) {
      if (runs(number, job)) {
        wire::InstanceUsage& usage = *heartbeat.add_instances();
        usage.set_job(std::string(job));
        usage.set_instance(fmt::format("/{}.service", job));
        usage.set_quota_cpus(job == "search" ? 24 : 8);
        usage.set_weight(100);
        usage.set_cpu_time_ns((job == "search" ? 16 : 5) * 60 * kNsPerSecond);
      }
    }
    all = all && send("/fleet/v1/register", registration.SerializeAsString()) &&
          send("/fleet/v1/heartbeat", heartbeat.SerializeAsString());
    wire::HeartbeatReply reply;
    if (reply.ParseFromString(body) && reply.assignments_size() > 0) {
      answer_assignments(number, reply, heartbeat);
      all = all && send("/fleet/v1/heartbeat", heartbeat.SerializeAsString());
    }
  }
  return all;
}

int run_page_fleet(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "register") {
    return register_fleet(arguments[1]) ? 0 : 1;
  }
  if (arguments.size() != 2 ||
      (arguments[0] != "profiles" && arguments[0] != "two-days" && arguments[0] != "large")) {
    fmt::print(stderr,
               "usage: page_fleet profiles FOLDER | two-days FOLDER | large FOLDER | register ADDRESS\n");
    return 2;
  }
  std::filesystem::create_directories(arguments[1]);
  if (arguments[0] == "large") {
    write_large(arguments[1]);
  } else {
    write_fleet(arguments[1], arguments[0] == "two-days" ? kChangedStep - kSteps : 0);
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll::testing

int main(int argc, char** argv) {
  return plimsoll::testing::run_page_fleet({argv + 1, argv + argc});
}
