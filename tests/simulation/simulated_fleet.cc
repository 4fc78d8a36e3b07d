#include "tests/simulation/simulated_fleet.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hex.h"
#include "proto/profile_codec.h"
#include "tests/profile_fixture.h"

namespace plimsoll::simulation {

SimulatedFleet::SimulatedFleet(std::vector<SimulatedMachine> machines, FleetBehaviour behaviour,
                               SimulatedServer& server, int64_t heartbeat_ns,
                               const scheduler::SafetyLimits& limits)
    : behaviour_(std::move(behaviour)), server_(server), heartbeat_ns_(heartbeat_ns) {
  std::vector<store::InventoryMachine> inventory;
  for (SimulatedMachine& machine : machines) {
    Daemon& daemon = daemons_.emplace_back();
    for (const auto& [job, instances] : machine.instances) {
      if (std::ranges::find(jobs_, job) == jobs_.end()) {
        jobs_.push_back(job);
      }
      daemon.members[job] = {instances, limits.share_of_job};
    }
    daemon.members["platform " + machine.attributes.platform()] = {1, limits.share_of_platform};
    if (!machine.rack.empty()) {
      daemon.members["rack " + machine.attributes.datacenter() + " " + machine.rack] = {1,
                                                                                        limits.share_of_rack};
      inventory.push_back({.id = machine.attributes.id(), .rack = machine.rack});
    }
    daemon.machine = std::move(machine);
  }
  server_.keep_inventory(inventory);
  for (const Daemon& daemon : daemons_) {
    watch_.add_to_fleet(daemon.members);
  }
}

void SimulatedFleet::run(int64_t from_ns, int64_t to_ns) {
  const int64_t step_ns = heartbeat_ns_ / static_cast<int64_t>(daemons_.size());
  for (int64_t round_ns = from_ns; round_ns < to_ns; round_ns += heartbeat_ns_) {
    int64_t now_ns = round_ns;
    order_measurements(now_ns);
    for (Daemon& daemon : daemons_) {
      server_.advance_to(now_ns);
      visit(daemon, now_ns);
      now_ns += step_ns;
    }
  }
}

// Refused are orders while everything is stopped, where nobody is live, and where others measure for an hour.
void SimulatedFleet::order_measurements(int64_t now_ns) {
  if (behaviour_.orders_every_ns == 0 || now_ns < next_order_ns_ || !server_.is_up()) {
    return;
  }
  next_order_ns_ = now_ns + behaviour_.orders_every_ns;
  server_.advance_to(now_ns);
  scheduler::MeasuringOrder order{.by = "somebody",
                                  .jobs = {jobs_[asked_++ % jobs_.size()]},
                                  .max_machines = daemons_.size(),
                                  .collects = {}};
  order.collects.add_events()->set_name("cycles");
  const auto taken = server_.order(order);
  EXPECT_TRUE(taken || taken.error().code == ErrorCode::kUnavailable ||
              taken.error().code == ErrorCode::kNotFound)
      << taken.error().text();
  orders_ += taken.has_value();
}

void SimulatedFleet::visit(Daemon& daemon, int64_t now_ns) {
  if (now_ns < daemon.silent_until_ns || !server_.is_up() || !finish_tasks(daemon, now_ns)) {
    return;
  }
  if (!daemon.is_registered) {
    register_machine(daemon);
  }
  send_heartbeat(daemon, now_ns);
}

bool SimulatedFleet::finish_tasks(Daemon& daemon, int64_t now_ns) {
  for (auto& [id, task] : daemon.tasks) {
    const int64_t end_ns = task.assignment.start_ns() + task.assignment.duration_ns();
    if (task.state != wire::WAITING || end_ns > now_ns) {
      continue;
    }
    if (!task.has_hung) {
      watch_.measured(task.from_ns, end_ns, daemon.members);
    }
    switch (task.has_hung ? Fate::kAnswers : behaviour_.fate(daemon.machine, task.assignment)) {
      case Fate::kAnswers:
        send_profile(daemon, task);
        task.state = wire::DONE;
        break;
      case Fate::kFails:
        task.state = wire::FAILED;
        break;
      case Fate::kLoses:
        task.state = wire::DONE;
        break;
      case Fate::kLies:
        send_lies(daemon, task);
        task.state = wire::DONE;
        break;
      case Fate::kMisdates:
        send_misdated(daemon, task);
        task.state = wire::DONE;
        break;
      case Fate::kHangs:
        task.has_hung = true;
        daemon.silent_until_ns = now_ns + behaviour_.vanishes_for_ns;
        return false;
      case Fate::kCrashes:
        daemon.tasks.clear();
        daemon.is_registered = false;
        return true;
      case Fate::kVanishes:
        daemon.silent_until_ns = now_ns + behaviour_.vanishes_for_ns;
        daemon.is_registered = false;
        daemon.tasks.clear();
        return false;
    }
  }
  return true;
}

wire::RawProfile SimulatedFleet::profile_of(const Daemon& daemon, const Task& task) {
  const int64_t end_ns = task.assignment.start_ns() + task.assignment.duration_ns();
  wire::RawProfile profile = testing::make_profile({
      .seed = ++seed_,
      .machine = daemon.machine.attributes.id(),
      .from_ns = task.from_ns,
      .length_ns = end_ns - task.from_ns,
      .stacks = behaviour_.stacks(daemon.machine, task.from_ns, end_ns),
  });
  *profile.mutable_machine() = daemon.machine.attributes;
  *profile.mutable_assignment() = task.assignment;
  for (wire::Process& process : *profile.mutable_processes()) {
    process.set_job(process.comm());
  }
  return profile;
}

void SimulatedFleet::send_profile(const Daemon& daemon, const Task& task) {
  const wire::RawProfile profile = profile_of(daemon, task);
  const auto sent =
      server_.service().upload(to_hex(profile.profile_id()), as_bytes(wire::encode(profile)), http::Caller());
  EXPECT_TRUE(sent) << sent.error().text();
  profiles_ += sent.has_value();
}

void SimulatedFleet::send_lies(const Daemon& daemon, const Task& task) {
  wire::RawProfile profile = profile_of(daemon, task);
  profile.mutable_assignment()->mutable_draw()->set_inclusion_probability(1e-6);
  const std::string id = to_hex(profile.profile_id());
  EXPECT_FALSE(server_.service().upload(id, as_bytes(wire::encode(profile)), http::Caller()));
  profile.mutable_machine()->set_id("somebody else");
  *profile.mutable_assignment() = task.assignment;
  EXPECT_FALSE(server_.service().upload(id, as_bytes(wire::encode(profile)), http::Caller()));
  EXPECT_FALSE(server_.service().upload(id, as_bytes("no profile at all"), http::Caller()));
  wire::HeartbeatRequest heartbeat;
  heartbeat.set_machine_id(daemon.machine.attributes.id());
  heartbeat.set_boot_id("boot");
  heartbeat.add_assignments()->set_id(std::string(5000, 'x'));
  EXPECT_FALSE(server_.service().heartbeat(heartbeat, http::Caller()));
}

void SimulatedFleet::send_misdated(const Daemon& daemon, const Task& task) {
  constexpr int64_t kOffNs = int64_t{3} * 3600 * 1'000'000'000;
  for (const int64_t off_ns : {-kOffNs, kOffNs}) {
    wire::RawProfile profile = profile_of(daemon, task);
    wire::Window& window = *profile.mutable_window();
    for (wire::ClockPair* const pair : {window.mutable_start(), window.mutable_end()}) {
      pair->set_wall_ns(pair->wall_ns() + off_ns);
    }
    EXPECT_FALSE(server_.service().upload(to_hex(profile.profile_id()), as_bytes(wire::encode(profile)),
                                          http::Caller()));
  }
}

void SimulatedFleet::register_machine(Daemon& daemon) {
  wire::RegisterRequest request;
  *request.mutable_machine() = daemon.machine.attributes;
  const auto registered = server_.service().register_machine(request, http::Caller());
  EXPECT_TRUE(registered) << registered.error().text();
  daemon.is_registered = registered.has_value();
}

void SimulatedFleet::send_heartbeat(Daemon& daemon, int64_t now_ns) {
  wire::HeartbeatRequest request;
  request.set_machine_id(daemon.machine.attributes.id());
  request.set_boot_id(daemon.machine.attributes.boot_id());
  for (const auto& [job, instances] : daemon.machine.instances) {
    for (int i = 0; i < instances; ++i) {
      wire::InstanceUsage& usage = *request.add_instances();
      usage.set_job(job);
      usage.set_instance(fmt::format("{}/{}", job, i));
    }
  }
  for (const auto& [id, task] : daemon.tasks) {
    wire::AssignmentReport& report = *request.add_assignments();
    report.set_id(id);
    report.set_state(task.state);
  }
  const auto reply = server_.service().heartbeat(request, http::Caller());
  ASSERT_TRUE(reply) << reply.error().text();
  daemon.is_registered = !reply->register_again();
  std::map<std::string, Task> tasks;
  for (const wire::Assignment& assignment : reply->assignments()) {
    const auto known = daemon.tasks.find(assignment.id());
    const bool is_over = assignment.start_ns() + assignment.duration_ns() <= now_ns;
    tasks[assignment.id()] = known != daemon.tasks.end()
                                 ? known->second
                                 : Task{.assignment = assignment,
                                        .from_ns = std::max(now_ns, assignment.start_ns()),
                                        .state = is_over ? wire::FAILED : wire::WAITING};
  }
  daemon.tasks = std::move(tasks);
}

}  // namespace plimsoll::simulation
