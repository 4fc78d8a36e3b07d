#include "bench/fleet/profile_maker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hex.h"
#include "base/time.h"
#include "bench/store/generator.h"
#include "proto/profile_codec.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kInstances = 20;
constexpr uint32_t kMachinesOfCluster = 500;
constexpr uint32_t kSampleSets = 500;

MadeProfile encoded(uint32_t machine, const wire::RawProfile& profile) {
  return {.machine = machine,
          .id = to_hex(profile.profile_id()),
          .draw = profile.assignment().draw().id(),
          .encoded = wire::encode(profile),
          .window_end_ns = profile.window().end().wall_ns()};
}

// Sixteen bytes that no other has.
std::string numbered_id(uint64_t number) {
  std::string id;
  for (const uint64_t half : {number, scrambled(number)}) {
    for (uint32_t shift = 0; shift < 64; shift += 8) {
      id += static_cast<char>(half >> shift & 0xffU);
    }
  }
  return id;
}

}  // namespace

wire::Machine simulated_machine(uint32_t machine) {
  wire::Machine made;
  made.set_id(fmt::format("machine-{:06}", machine));
  made.set_boot_id(fmt::format("00000000-0000-4000-8000-{:012}", machine));
  made.set_hostname(fmt::format("host-{:06}.example", machine));
  made.set_datacenter("east");
  made.set_cluster(fmt::format("cluster-{}", machine / kMachinesOfCluster));
  made.set_platform(machine % 2 == 0 ? "AMD Zen 3" : "Intel Ice Lake");
  made.set_architecture("x86_64");
  made.set_kernel_release("6.1.0-28-amd64");
  made.set_cores(64);
  made.set_memory_bytes(uint64_t{256} << 30U);
  made.set_daemon_version("0.1.0");
  made.set_os("Debian GNU/Linux 12 (bookworm)");
  return made;
}

std::string simulated_registration(uint32_t machine) {
  wire::RegisterRequest message;
  message.set_format_version(wire::kFormatVersion);
  *message.mutable_machine() = simulated_machine(machine);
  return message.SerializeAsString();
}

void add_census(uint32_t machine, int64_t interval_ns, wire::HeartbeatRequest& heartbeat) {
  heartbeat.set_census_ns(interval_ns);
  for (uint32_t i = 0; i < kInstances; ++i) {
    wire::InstanceUsage& usage = *heartbeat.add_instances();
    const double chance = uniform(machine * kInstances + i);
    usage.set_job(fmt::format("job-{}", static_cast<uint32_t>(chance * chance * chance * kJobs)));
    usage.set_instance(fmt::format("{:016x}", uint64_t{machine} << 16U | i));
    usage.set_quota_cpus(4);
    usage.set_weight(100);
    usage.set_cpu_time_ns(static_cast<int64_t>(chance * static_cast<double>(interval_ns)));
  }
}

ProfileMaker::ProfileMaker()
    : tree_(generate_stacks(kJobs, kStacksOfJob)), profiles_(tree_), thread_([this] { make_ordered(); }) {}

ProfileMaker::~ProfileMaker() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

MadeProfile ProfileMaker::make(uint32_t machine, const wire::Assignment& assignment) {
  return encoded(machine, generate(machine, assignment));
}

std::deque<MadeProfile> ProfileMaker::make_many(uint32_t count, uint32_t first) {
  wire::Assignment assignment;
  assignment.set_id("many");
  assignment.set_duration_ns(10 * kNsPerSecond);
  assignment.set_start_ns(wall_now_ns() - 2 * assignment.duration_ns());
  std::vector<wire::RawProfile> profiles;
  for (uint32_t i = 0; i < std::min(count, kSampleSets); ++i) {
    profiles.push_back(generate(i, assignment));
  }
  std::deque<MadeProfile> made;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t machine = first + i;
    wire::RawProfile& profile = profiles[i % kSampleSets];
    profile.set_profile_id(numbered_id(machine));
    *profile.mutable_machine() = simulated_machine(machine);
    made.push_back(encoded(machine, profile));
  }
  return made;
}

wire::RawProfile ProfileMaker::generate(uint32_t machine, const wire::Assignment& assignment) {
  uint32_t window = 0;
  {
    const std::lock_guard lock(mutex_);
    window = next_window_++;
  }
  wire::RawProfile profile = profiles_.generate(machine, window);
  *profile.mutable_machine() = simulated_machine(machine);
  *profile.mutable_assignment() = assignment;
  wire::ClockPair& start = *profile.mutable_window()->mutable_start();
  wire::ClockPair& end = *profile.mutable_window()->mutable_end();
  end.set_monotonic_ns(start.monotonic_ns() + assignment.duration_ns());
  start.set_wall_ns(assignment.start_ns());
  end.set_wall_ns(assignment.start_ns() + assignment.duration_ns());
  return profile;
}

void ProfileMaker::order(uint32_t machine, const wire::Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  orders_.push_back({machine, assignment});
  changed_.notify_one();
}

std::vector<MadeProfile> ProfileMaker::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, {});
}

void ProfileMaker::make_ordered() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !orders_.empty(); });
    if (is_ending_) {
      return;
    }
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    MadeProfile made = make(order.machine, order.assignment);
    lock.lock();
    made_.push_back(std::move(made));
  }
}

}  // namespace plimsoll::bench
