#include "bench/fleet/daemon_simulator.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/time.h"
#include "bench/fleet/http_connection.h"
#include "bench/store/clock.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kSourceAddresses = 64;
constexpr uint32_t kMakerTag = UINT32_MAX;  // in events, where daemons have their number

// After the last heartbeat was due: what is not answered by then never is.
constexpr double kPatienceS = 60;

double seconds_until(int64_t wall_ns) {
  return static_cast<double>(wall_ns - wall_now_ns()) / kNsPerSecond;
}

}  // namespace

struct DaemonSimulator::Daemon {
  std::unique_ptr<HttpConnection> connection;  // null: none is open
  bool is_fresh = false;                       // the connection: it has answered nothing yet
  std::deque<Request> requests;                // the first of them is under way
  std::map<std::string, wire::Assignment> assignments;
};

DaemonSimulator::DaemonSimulator(const SimulatorOptions& options, ProfileMaker& profiles, UniqueFd epoll)
    : options_(options), profiles_(profiles), epoll_(std::move(epoll)) {
  for (uint32_t i = 0; i < options.daemons; ++i) {
    daemons_.push_back(std::make_unique<Daemon>());
  }
}

DaemonSimulator::~DaemonSimulator() = default;

Result<std::unique_ptr<DaemonSimulator>> DaemonSimulator::create(const SimulatorOptions& options,
                                                                 ProfileMaker& profiles) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {.u32 = kMakerTag}};
  if (!epoll.valid() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, profiles.fd(), &event) != 0) {
    return fail_errno(errno, "preparing to wait for simulated daemons");
  }
  return std::unique_ptr<DaemonSimulator>(new DaemonSimulator(options, profiles, std::move(epoll)));
}

Result<Simulated> DaemonSimulator::register_all() {
  return spread(Task::kRegister, 1);
}

Result<Simulated> DaemonSimulator::run(uint32_t intervals) {
  return spread(Task::kHeartbeat, intervals);
}

Result<Simulated> DaemonSimulator::spread(Task task, uint32_t intervals) {
  simulated_ = {};
  const uint64_t count = uint64_t{options_.daemons} * intervals;
  const double between_s = options_.heartbeat_s / options_.daemons;
  const double start_s = now_s();
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
  const double deadline_s = now_s() + kPatienceS;
  while (unanswered_ + expected_ > 0 && now_s() < deadline_s) {
    if (auto waited = wait(now_s() + 0.1); !waited) {
      return propagate(waited);
    }
  }
  if (unanswered_ + expected_ > 0) {
    simulated_.failures["never answered"] += unanswered_ + expected_;
  }
  return std::move(simulated_);
}

// Until something happened, or that time.
Status DaemonSimulator::wait(double until_s) {
  if (auto sent = send_made(); !sent) {
    return sent;
  }
  std::array<epoll_event, 256> events;
  const int timeout_ms = static_cast<int>(std::clamp((until_s - now_s()) * 1e3, 0.0, 100.0));
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  if (count < 0 && errno != EINTR) {
    return fail_errno(errno, "waiting for simulated daemons");
  }
  for (int i = 0; i < count; ++i) {
    const uint32_t tag = events[static_cast<size_t>(i)].data.u32;
    if (tag != kMakerTag) {
      if (auto advanced = advance(tag); !advanced) {
        return advanced;
      }
      continue;
    }
    for (MadeProfile& profile : profiles_.take()) {
      made_.emplace(now_s() + seconds_until(profile.window_end_ns), std::move(profile));
    }
  }
  return {};
}

Status DaemonSimulator::send_made() {
  while (!made_.empty() && made_.begin()->first <= now_s()) {
    auto node = made_.extract(made_.begin());
    --expected_;
    const uint32_t machine = node.mapped().machine;
    if (auto wanted = want(machine, {Task::kUpload, node.key(), std::move(node.mapped())}); !wanted) {
      return wanted;
    }
  }
  return {};
}

Status DaemonSimulator::want(uint32_t number, Request request) {
  Daemon& daemon = *daemons_[number];
  ++unanswered_;
  daemon.requests.push_back(std::move(request));
  return daemon.requests.size() == 1 ? begin_next(number) : Status();
}

Status DaemonSimulator::begin_next(uint32_t number) {
  return daemons_[number]->requests.empty() ? Status() : send(number);
}

Status DaemonSimulator::send(uint32_t number) {
  Daemon& daemon = *daemons_[number];
  if (daemon.connection == nullptr) {
    auto opened = HttpConnection::open(INADDR_LOOPBACK + number % kSourceAddresses, options_.port);
    if (!opened) {
      return propagate(opened);
    }
    daemon.connection = std::make_unique<HttpConnection>(std::move(*opened));
    daemon.is_fresh = true;
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.u32 = number}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, daemon.connection->fd(), &event) != 0) {
      return fail_errno(errno, "waiting for one more simulated daemon");
    }
  }
  const Request& request = daemon.requests.front();
  const std::string method_and_path = request.task == Task::kUpload
                                          ? "PUT /fleet/v1/profiles/" + request.profile.id
                                      : request.task == Task::kRegister ? "POST /fleet/v1/register"
                                                                        : "POST /fleet/v1/heartbeat";
  daemon.connection->request(method_and_path, body_of(number, request));
  return daemon.is_fresh ? Status() : advance(number);
}

std::string DaemonSimulator::body_of(uint32_t number, const Request& request) {
  if (request.task == Task::kUpload) {
    return request.profile.encoded;
  }
  const wire::Machine machine = simulated_machine(number);
  if (request.task == Task::kRegister) {
    wire::RegisterRequest message;
    message.set_format_version(wire::kFormatVersion);
    *message.mutable_machine() = machine;
    return message.SerializeAsString();
  }
  wire::HeartbeatRequest message;
  message.set_format_version(wire::kFormatVersion);
  message.set_machine_id(machine.id());
  message.set_boot_id(machine.boot_id());
  add_census(number, static_cast<int64_t>(options_.heartbeat_s * 1e9), message);
  const int64_t now_ns = wall_now_ns();
  for (const auto& [id, assignment] : daemons_[number]->assignments) {
    wire::AssignmentReport& report = *message.add_assignments();
    report.set_id(id);
    report.set_state(now_ns < assignment.start_ns()                              ? wire::WAITING
                     : now_ns < assignment.start_ns() + assignment.duration_ns() ? wire::RUNNING
                                                                                 : wire::DONE);
  }
  return message.SerializeAsString();
}

Status DaemonSimulator::advance(uint32_t number) {
  Daemon& daemon = *daemons_[number];
  if (daemon.connection == nullptr) {
    return {};
  }
  const auto is_answered = daemon.connection->advance();
  if (daemon.requests.empty()) {
    if (!is_answered || daemon.connection->closes()) {
      daemon.connection.reset();  // the server had enough of waiting
    }
    return {};
  }
  if (!is_answered) {
    return lost_connection(number, is_answered.error());
  }
  if (!*is_answered) {
    return {};
  }
  take_answer(number);
  daemon.is_fresh = false;
  if (daemon.connection->closes() || !options_.keeps_connections) {
    daemon.connection.reset();
  }
  --unanswered_;
  daemon.requests.pop_front();
  return begin_next(number);
}

// As every HTTP client does, a request that met a connection just being closed for its age is sent again, over a new one.
Status DaemonSimulator::lost_connection(uint32_t number, const Error& error) {
  Daemon& daemon = *daemons_[number];
  daemon.connection.reset();
  if (!daemon.is_fresh) {
    return send(number);
  }
  ++simulated_.failures[error.message];
  --unanswered_;
  daemon.requests.pop_front();
  return begin_next(number);
}

void DaemonSimulator::take_answer(uint32_t number) {
  Daemon& daemon = *daemons_[number];
  const Request& request = daemon.requests.front();
  const HttpConnection& answer = *daemon.connection;
  if (answer.status() != 200) {
    ++simulated_.failures[fmt::format("status {}: {:.200}", answer.status(), answer.body())];
    return;
  }
  switch (request.task) {
    case Task::kRegister:
      return;
    case Task::kUpload:
      ++simulated_.delivered;
      return;
    case Task::kHeartbeat:
      simulated_.latencies_ms.push_back((now_s() - request.due_s) * 1e3);
      take_heartbeat_reply(number, answer.body());
  }
}

void DaemonSimulator::take_heartbeat_reply(uint32_t number, std::string_view body) {
  wire::HeartbeatReply reply;
  if (!reply.ParseFromString(std::string(body)) || reply.register_again()) {
    ++simulated_.failures["a heartbeat's reply that does not know the machine"];
    return;
  }
  std::map<std::string, wire::Assignment> assignments;
  for (const wire::Assignment& assignment : reply.assignments()) {
    if (!daemons_[number]->assignments.contains(assignment.id())) {
      ++simulated_.assigned;
      ++expected_;
      profiles_.order(number, assignment);
    }
    assignments.emplace(assignment.id(), assignment);
  }
  daemons_[number]->assignments = std::move(assignments);
}

}  // namespace plimsoll::bench
