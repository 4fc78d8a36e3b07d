#include "bench/store/raw_profiles.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <random>
#include <unordered_map>

#include "bench/store/generator.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kProcesses = 8;
constexpr uint32_t kThreadsOfProcess = 4;
constexpr uint32_t kLocationsOfBinary = 200;
constexpr uint64_t kFirstAddress = 0x1000;
constexpr uint64_t kBytesOfLocation = 64;
constexpr int64_t kFirstWindowNs = 1'700'000'000'000'000'000;
constexpr int64_t kWindowNs = 600'000'000'000;

class ProfileMaker {
 public:
  ProfileMaker(const StackTree& tree, uint32_t machine, uint32_t window, uint32_t samples)
      : tree_(tree),
        machine_(machine),
        window_(window),
        sample_count_(samples),
        random_(uint64_t{machine} << 32U | window) {}

  wire::RawProfile write() {
    profile_.set_format_version(1);
    profile_.set_profile_id(fmt::format("{:08x}{:08x}", machine_, window_));
    add_machine();
    add_window();
    for (uint32_t process = 0; process < kProcesses; ++process) {
      add_process(process);
    }
    for (uint32_t sample = 0; sample < sample_count_; ++sample) {
      draw_sample();
    }
    add_samples();
    add_event();
    return std::move(profile_);
  }

 private:
  uint32_t draw(uint32_t count) { return std::uniform_int_distribution<uint32_t>(0, count - 1)(random_); }
  uint32_t draw_skewed(double skew, uint32_t count) {
    return static_cast<uint32_t>(std::pow(std::uniform_real_distribution<double>(0, 1)(random_), skew) *
                                 count);
  }

  void add_machine() {
    wire::Machine& machine = *profile_.mutable_machine();
    machine.set_id(fmt::format("machine-{}", machine_));
    machine.set_hostname(fmt::format("host-{}.example", machine_));
    machine.set_datacenter("east");
    machine.set_platform(machine_ % 2 == 0 ? "EPYC 7763" : "Xeon 8375C");
    machine.set_architecture("x86_64");
    machine.set_cores(64);
  }

  void add_window() {
    const int64_t start_ns = window_ * kWindowNs;
    wire::Window& window = *profile_.mutable_window();
    window.mutable_start()->set_monotonic_ns(start_ns + 1);
    window.mutable_start()->set_wall_ns(kFirstWindowNs + start_ns);
    window.mutable_end()->set_monotonic_ns(start_ns + 1 + kWindowNs);
    window.mutable_end()->set_wall_ns(kFirstWindowNs + start_ns + kWindowNs);
  }

  void add_process(uint32_t index) {
    const uint32_t job = skewed_job(index);
    jobs_.push_back(job);
    wire::Process& process = *profile_.add_processes();
    process.set_pid(1000 + index);
    process.set_comm(fmt::format("job-{}", job));
    process.set_executable(fmt::format("/usr/bin/job-{}", job));
    process.set_job(fmt::format("job-{}", job));
    process.set_instance(fmt::format("{:016x}", scrambled(machine_ * kProcesses + index)));
    for (uint32_t thread = 0; thread < kThreadsOfProcess; ++thread) {
      wire::Thread& added = *profile_.add_threads();
      added.set_process(index);
      added.set_tid(1000 + index + thread);
      added.set_name(fmt::format("worker-{}", thread));
    }
  }

  // The same in every window.
  uint32_t skewed_job(uint32_t process) const {
    return static_cast<uint32_t>(std::pow(uniform(machine_ * kProcesses + process), 3) * kJobs);
  }

  uint32_t binary_of(uint32_t location) {
    const uint32_t number = location / kLocationsOfBinary;
    const auto [known, is_new] = binaries_.try_emplace(number, profile_.binaries_size());
    if (is_new) {
      wire::Binary& binary = *profile_.add_binaries();
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity(fmt::format("{:020}", number));
      binary.set_path(fmt::format("/usr/lib/lib{}.so", number));
    }
    return known->second;
  }

  uint32_t location(uint32_t id) {
    wire::Locations& locations = *profile_.mutable_locations();
    const auto [known, is_new] = locations_.try_emplace(id, locations.kind_size());
    if (is_new) {
      locations.add_kind(wire::ELF);
      locations.add_owner(binary_of(id));
      locations.add_address(kFirstAddress + id % kLocationsOfBinary * kBytesOfLocation);
    }
    return known->second;
  }

  uint32_t stack(uint32_t node) {
    if (node == 0) {
      return 0;
    }
    if (const auto known = stacks_.find(node); known != stacks_.end()) {
      return known->second;
    }
    const uint32_t parent = stack(tree_.nodes[node].parent);
    wire::Stacks& stacks = *profile_.mutable_stacks();
    stacks.add_parent(parent);
    stacks.add_location(location(tree_.nodes[node].location));
    stacks_.emplace(node, stacks.parent_size());
    return static_cast<uint32_t>(stacks.parent_size());
  }

  void draw_sample() {
    const uint32_t process = draw(kProcesses);
    const uint32_t thread = process * kThreadsOfProcess + draw_skewed(3, kThreadsOfProcess);
    const uint32_t node = tree_.first_stack + jobs_[process] * kStacksOfJob + draw_skewed(4, kStacksOfJob);
    ++hits_[{thread, stack(node)}];
  }

  void add_samples() {
    wire::SampleTable& table = *profile_.add_samples();
    table.add_event(0);
    for (const auto& [key, hits] : hits_) {
      table.add_thread(key.first);
      table.add_stack(key.second);
      table.add_hits(hits);
    }
  }

  void add_event() {
    wire::Event& event = *profile_.add_events();
    event.set_name("cycles");
    event.set_unit(wire::COUNT);
    event.set_kind(wire::DELTA);
    event.set_hits(sample_count_);
    event.set_counter_total(sample_count_ * 1e6);
    event.set_time_enabled_ns(kWindowNs);
    event.set_time_running_ns(kWindowNs);
  }

  const StackTree& tree_;
  uint32_t machine_;
  uint32_t window_;
  uint32_t sample_count_;
  std::mt19937_64 random_;
  std::vector<uint32_t> jobs_;  // by process
  std::unordered_map<uint32_t, uint32_t> binaries_, locations_, stacks_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> hits_;  // by thread and stack
  wire::RawProfile profile_;
};

}  // namespace

uint32_t RawProfiles::location_of(std::string_view build_id, uint64_t address) {
  uint32_t binary = 0;
  std::from_chars(build_id.data(), build_id.data() + build_id.size(), binary);
  return binary * kLocationsOfBinary + static_cast<uint32_t>((address - kFirstAddress) / kBytesOfLocation);
}

wire::RawProfile RawProfiles::generate(uint32_t machine, uint32_t window, uint32_t samples) const {
  return ProfileMaker(tree_, machine, window, samples).write();
}

}  // namespace plimsoll::bench
