// page_hardware profiles FOLDER | register ADDRESS: a made-up fleet whose hardware differs, for the tests and pictures of the web page.
//
// 48 machines of three platforms with cycles, instructions and energy over two hours. Jobs gain differently by a newer platform, one runs on one
// platform alone; since an hour ago half of the machines have huge pages (the label "pages"), by which two jobs are faster.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
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

constexpr int kMachines = 48;
constexpr int64_t kMinuteNs = 60 * kNsPerSecond;
constexpr int64_t kStepNs = 10 * kMinuteNs;
constexpr int kSteps = 12;
constexpr int kEnabledStep = 6;  // when half of the machines got huge pages
constexpr double kHitCycles = 1e9;
constexpr double kInstanceNoise = 0.03;
constexpr double kTimeNoise = 0.02;

constexpr std::array kPlatforms{"Intel Skylake", "AMD Zen 2", "AMD Zen 3"};
// Watts of a machine.
constexpr std::array kWatts{410.0, 330.0, 290.0};

struct Job {
  std::string_view name;
  double cycles;                              // G in ten minutes, of an instance
  std::array<double, kPlatforms.size()> ipc;  // 0: it does not run there
  double gain;                                // by huge pages
  int every;                                  // a machine of so many runs it
  int quota_cpus;
  std::string_view stack;
};

constexpr Job kJobs[] = {
    {"search",
     900,
     {0.82, 1.04, 1.41},
     1.05,
     1,
     24,
     "main;rpc::Server::Serve;search::Handler::Query;search::Ranker::Score"},
    {"ads",
     520,
     {1.22, 1.31, 1.36},
     1.02,
     1,
     12,
     "main;rpc::Server::Serve;ads::Auction::Run;ads::Model::Predict"},
    {"storage", 410, {0.64, 0.63, 0.65}, 1.0, 1, 10, "main;storage::Compactor::Run;storage::Table::Merge"},
    {"mail", 240, {0.91, 0.97, 1.18}, 1.0, 1, 6, "main;rpc::Server::Serve;mail::Index::Lookup"},
    {"video", 380, {1.60, 1.92, 2.05}, 1.0, 1, 8, "main;video::Encoder::Run;video::Dct::Transform"},
    {"gateway", 90, {1.05, 0.94, 1.12}, 1.0, 1, 4, "main;gateway::Loop::Run;http::Parser::Feed"},
    {"batch", 160, {0.77, 0.0, 0.0}, 1.0, 2, 4, "main;batch::Worker::Run;batch::Map::Reduce"},
};

size_t platform_of(int machine) {
  return static_cast<size_t>(machine) % kPlatforms.size();
}

bool runs(int machine, const Job& job) {
  const int of_platform = machine / static_cast<int>(kPlatforms.size());
  return job.ipc.at(platform_of(machine)) > 0 && of_platform % job.every == 0;
}

bool has_huge_pages(int machine, int step) {
  return step >= kEnabledStep && (machine / static_cast<int>(kPlatforms.size())) % 4 >= 2;
}

void describe(wire::Machine& machine, int number) {
  machine.set_id(fmt::format("h{:02}", number));
  machine.set_boot_id("boot");
  machine.set_hostname(fmt::format("hw-{:02}.example", number));
  machine.set_platform(kPlatforms.at(platform_of(number)));
  machine.set_cluster(number % 2 == 0 ? "eu-1" : "us-1");
  machine.set_datacenter(number % 2 == 0 ? "eu" : "us");
  machine.set_architecture("x86_64");
  machine.set_kernel_release("6.1.0-17-amd64");
  machine.set_cores(64);
  machine.set_memory_bytes(uint64_t{256} << 30);
  machine.set_daemon_version("0.1.0");
}

// Two instances of a job on a machine, each with a speed of its own.
std::string stacks_of(int machine, int step, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  std::string stacks;
  for (const Job& job : kJobs) {
    for (const int instance : {1, 2}) {
      std::mt19937_64 own(static_cast<uint64_t>(machine * 1000 + instance * 100 + (&job - kJobs)));
      const double speed = std::exp(kInstanceNoise * normal(own)) * std::exp(kTimeNoise * normal(random));
      if (!runs(machine, job)) {
        continue;
      }
      const double cycles = job.cycles * std::exp(kTimeNoise * normal(random));
      const double gain = has_huge_pages(machine, step) ? job.gain : 1;
      const std::string process = fmt::format("{}-{}", job.name, instance);
      stacks += fmt::format("process={} thread={} {} {:.0f}\n", process, process, job.stack, cycles);
      stacks += fmt::format("process={} thread={} event=instructions {} {:.0f}\n", process, process,
                            job.stack, cycles * job.ipc.at(platform_of(machine)) * speed * gain);
    }
  }
  return stacks + fmt::format("process=machine thread=machine event=energy-pkg [machine] {:.0f}\n",
                              kWatts.at(platform_of(machine)) * 600 * std::exp(kTimeNoise * normal(random)));
}

void write_fleet(const std::string& folder) {
  const int64_t now_ns = wall_now_ns();
  uint64_t seed = 1;
  for (int machine = 0; machine < kMachines; ++machine) {
    std::mt19937_64 random(static_cast<uint64_t>(machine) + 7);
    for (int step = 0; step < kSteps; ++step) {
      wire::RawProfile profile =
          make_profile({.seed = seed++,
                        .machine = fmt::format("h{:02}", machine),
                        .from_ns = now_ns - (kSteps - step) * kStepNs,
                        .length_ns = kStepNs - kNsPerSecond,
                        .events = {{"cycles", kHitCycles},
                                   {"instructions", kHitCycles},
                                   {"energy-pkg", 1e6, wire::MICROJOULES}},
                        .labels = has_huge_pages(machine, step) ? "pages:huge" : "pages:small",
                        .stacks = stacks_of(machine, step, random)});
      describe(*profile.mutable_machine(), machine);
      for (wire::Process& process : *profile.mutable_processes()) {
        const std::string name = process.comm();
        process.set_job(name == "machine" ? "[machine]" : name.substr(0, name.find('-')));
        process.set_instance("/" + name + ".service");
      }
      const std::string encoded = wire::encode(profile);
      std::ofstream(fmt::format("{}/{:02}-{:02}.profile", folder, machine, step), std::ios::binary)
          << encoded;
    }
  }
}

bool register_fleet(const std::string& address) {
  http::Client client({.base_url = address});
  const auto send = [&](const char* path, const std::string& body) {
    const auto response = client.send("POST", path, body, "application/x-protobuf");
    return response && response->ok();
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
    for (const Job& job : kJobs) {
      for (const int instance : {1, 2}) {
        if (runs(number, job)) {
          wire::InstanceUsage& usage = *heartbeat.add_instances();
          usage.set_job(std::string(job.name));
          usage.set_instance(fmt::format("/{}-{}.service", job.name, instance));
          usage.set_quota_cpus(job.quota_cpus);
          usage.set_weight(100);
          usage.set_cpu_time_ns(static_cast<int64_t>(job.quota_cpus) * 40 * kNsPerSecond);
        }
      }
    }
    all = all && send("/fleet/v1/register", registration.SerializeAsString()) &&
          send("/fleet/v1/heartbeat", heartbeat.SerializeAsString());
  }
  return all;
}

int run_page_hardware(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "register") {
    return register_fleet(arguments[1]) ? 0 : 1;
  }
  if (arguments.size() != 2 || arguments[0] != "profiles") {
    fmt::print(stderr, "usage: page_hardware profiles FOLDER | register ADDRESS\n");
    return 2;
  }
  std::filesystem::create_directories(arguments[1]);
  write_fleet(arguments[1]);
  return 0;
}

}  // namespace
}  // namespace plimsoll::testing

int main(int argc, char** argv) {
  return plimsoll::testing::run_page_hardware({argv + 1, argv + argc});
}
