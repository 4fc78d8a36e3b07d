#include "bench/fleet/daemon_simulator.h"

#include <fmt/format.h>

#include "base/time.h"
#include "bench/store/clock.h"
#include "proto/profile_codec.h"

namespace plimsoll::bench {
namespace {

// After the last heartbeat was due: what is not answered by then never is.
constexpr double kLastAnswersWithinS = 60;

double seconds_until(int64_t wall_ns) {
  return static_cast<double>(wall_ns - wall_now_ns()) / kNsPerSecond;
}

wire::AssignmentState state_of(const wire::Assignment& assignment, int64_t now_ns) {
  const bool is_over = now_ns >= assignment.start_ns() + assignment.duration_ns();
  return is_over ? wire::DONE : now_ns < assignment.start_ns() ? wire::WAITING : wire::RUNNING;
}

}  // namespace

Result<std::unique_ptr<DaemonSimulator>> DaemonSimulator::create(const SimulatorOptions& options,
                                                                 ProfileMaker& profiles) {
  std::unique_ptr<DaemonSimulator> simulator(new DaemonSimulator(options, profiles));
  DaemonSimulator& self = *simulator;
  auto connections = Connections::create(
      {options.ports, options.daemons, options.keeps_connections, options.secured},
      {.answered = [&self](uint32_t number,
                           const Answer& answer) { return self.take_answer(number, answer); },
       .failed =
           [&self](uint32_t number, const Error& error) {
             ++self.simulated_.failures[error.message];
             return self.end(number);
           }});
  if (!connections) {
    return propagate(connections);
  }
  simulator->connections_ = std::move(*connections);
  return simulator;
}

Result<Simulated> DaemonSimulator::spread(Task task, uint32_t intervals) {
  simulated_ = {};
  const uint64_t count = uint64_t{options_.daemons} * intervals;
  const double between_s = options_.heartbeat_s / options_.daemons;
  const double start_s = now_s();
  last_window_end_s_ = start_s + intervals * options_.heartbeat_s + kLastAnswersWithinS / 2;
  for (uint64_t i = 0; i < count; ++i) {
    const double due_s = start_s + static_cast<double>(i) * between_s;
    while (now_s() < due_s) {
      if (auto waited = wait(due_s); !waited) {
        return propagate(waited);
      }
    }
    if (auto wanted = want(static_cast<uint32_t>(i % options_.daemons), {task, due_s, {}}); !wanted) {
      return propagate(wanted);
    }
  }
  for (const double deadline_s = now_s() + kLastAnswersWithinS; is_busy() && now_s() < deadline_s;) {
    if (auto waited = wait(deadline_s); !waited) {
      return propagate(waited);
    }
  }
  if (is_busy()) {
    simulated_.failures["never answered, or never asked"] += connections_->asking() + ordered_;
  }
  return std::move(simulated_);
}

// Until something happened, or that time.
Status DaemonSimulator::wait(double until_s) {
  for (MadeProfile& profile : profiles_.take()) {
    made_.emplace(now_s() + seconds_until(profile.window_end_ns), std::move(profile));
  }
  while (!made_.empty() && made_.begin()->first <= now_s()) {
    auto due = made_.extract(made_.begin());
    --ordered_;
    const uint32_t machine = due.mapped().machine;
    if (auto wanted = want(machine, {Task::kUpload, due.key(), std::move(due.mapped())}); !wanted) {
      return wanted;
    }
  }
  return connections_->wait(until_s);
}

Status DaemonSimulator::want(uint32_t number, Request request) {
  std::deque<Request>& requests = daemons_[number].requests;
  requests.push_back(std::move(request));
  return requests.size() == 1 ? begin(number) : Status();
}

Status DaemonSimulator::begin(uint32_t number) {
  Daemon& daemon = daemons_[number];
  const Request& request = daemon.requests.front();
  switch (request.task) {
    case Task::kRegister:
      daemon.message = simulated_registration(number);
      return connections_->ask(number, "POST /fleet/v1/register", daemon.message);
    case Task::kHeartbeat:
      daemon.message = heartbeat_of(number);
      return connections_->ask(number, "POST /fleet/v1/heartbeat", daemon.message);
    case Task::kUpload:
      break;
  }
  return connections_->ask(number, "PUT /fleet/v1/profiles/" + request.profile.id, request.profile.encoded);
}

Status DaemonSimulator::end(uint32_t number) {
  std::deque<Request>& requests = daemons_[number].requests;
  requests.pop_front();
  return requests.empty() ? Status() : begin(number);
}

std::string DaemonSimulator::heartbeat_of(uint32_t number) const {
  const wire::Machine machine = simulated_machine(number);
  wire::HeartbeatRequest message;
  message.set_format_version(wire::kFormatVersion);
  message.set_machine_id(machine.id());
  message.set_boot_id(machine.boot_id());
  add_census(number, static_cast<int64_t>(options_.heartbeat_s * 1e9), message);
  for (const auto& [id, assignment] : daemons_[number].assignments) {
    wire::AssignmentReport& report = *message.add_assignments();
    report.set_id(id);
    report.set_state(state_of(assignment, wall_now_ns()));
  }
  return message.SerializeAsString();
}

Status DaemonSimulator::take_answer(uint32_t number, const Answer& answer) {
  Request& request = daemons_[number].requests.front();
  if (request.task == Task::kUpload && answer.status == 429 && answer.retry_after_s > 0) {
    ++simulated_.turned_away;
    ++ordered_;
    made_.emplace(now_s() + static_cast<double>(answer.retry_after_s), std::move(request.profile));
  } else if (answer.status != 200) {
    ++simulated_.failures[fmt::format("status {}: {:.200}", answer.status, answer.body)];
  } else if (request.task == Task::kUpload) {
    simulated_.delivered.push_back(
        {number, std::move(request.profile.id), std::move(request.profile.draw), now_s()});
  } else if (request.task == Task::kHeartbeat) {
    simulated_.latencies_ms.push_back((now_s() - request.due_s) * 1e3);
    take_heartbeat_reply(number, answer.body);
  }
  return end(number);
}

void DaemonSimulator::take_heartbeat_reply(uint32_t number, const std::string& body) {
  wire::HeartbeatReply reply;
  if (!reply.ParseFromString(body) || reply.register_again()) {
    ++simulated_.failures["a heartbeat's reply that does not know the machine"];
    return;
  }
  std::map<std::string, wire::Assignment> assignments;
  for (const wire::Assignment& assignment : reply.assignments()) {
    const double window_end_s = now_s() + seconds_until(assignment.start_ns() + assignment.duration_ns());
    if (!daemons_[number].assignments.contains(assignment.id()) && window_end_s <= last_window_end_s_) {
      ++simulated_.assigned;
      ++ordered_;
      profiles_.order(number, assignment);
    }
    assignments.emplace(assignment.id(), assignment);
  }
  daemons_[number].assignments = std::move(assignments);
}

}  // namespace plimsoll::bench
