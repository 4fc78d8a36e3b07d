#include "daemon/bursts/recording_thread.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/printable.h"
#include "base/time.h"

namespace plimsoll::bursts {
namespace {

// Before its start, an assignment's events are opened.
constexpr int64_t kOpenAheadNs = kNsPerSecond;
// A wall clock may be set while a thread waits for a time of that clock.
constexpr int64_t kMaxWaitNs = 5 * kNsPerSecond;
constexpr size_t kMaxBurstDetailBytes = 1000;

std::string why_not(const BurstLimits& limits, const std::function<Status()>& check) {
  if (!limits.is_permitted) {
    return "not permitted: bursts.permit of this daemon is false";
  }
  const Status able = check();
  return able ? std::string() : able.error().text();
}

bool is_over(wire::AssignmentState state) {
  return state == wire::DONE || state == wire::REFUSED || state == wire::FAILED;
}

// It may name paths, which hold any byte; the server takes a bounded text.
std::string bounded_detail(const std::string& note, const std::string& detail) {
  const std::string joined = note.empty() || detail.empty() ? note + detail : note + "; " + detail;
  return printable(std::string_view(joined).substr(0, kMaxBurstDetailBytes));
}

}  // namespace

RecordingThread::RecordingThread(BurstLimits limits, RecordingContext context,
                                 const std::function<Status()>& check)
    : limits_(std::move(limits)),
      context_(std::move(context)),
      why_not_(why_not(limits_, check)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (why_not_.empty()) {
    thread_ = std::thread([this] { run(); });
  } else if (limits_.is_permitted) {
    log_warning("bursts are permitted, and this machine cannot record any: {}", why_not_);
  }
}

RecordingThread::~RecordingThread() {
  stop();
}

void RecordingThread::wake() {
  ::eventfd_write(wake_fd_.get(), 1);
  changed_.notify_all();
}

void RecordingThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void RecordingThread::assign(const std::vector<wire::Assignment>& assignments) {
  const std::lock_guard lock(mutex_);
  std::vector<WantedAssignment> wanted;
  std::map<std::string, wire::BurstReport> reports;
  std::map<std::string, std::string> notes;
  for (const wire::Assignment& assignment : assignments) {
    // An ID that comes twice would be run again and again: its state is that of the first.
    if (!assignment.has_bursts() || reports.contains(assignment.id())) {
      continue;
    }
    AcceptedBursts accepted = accept_bursts(assignment, limits_);
    std::string& refusal = accepted.wanted.refusal;
    refusal = refusal.empty() ? why_not_ : refusal;
    const auto known = reports_.find(assignment.id());
    wire::BurstReport& report = reports[assignment.id()];
    if (known != reports_.end()) {
      report = known->second;
    } else {
      report.set_detail(bounded_detail(accepted.note, refusal));
    }
    notes[assignment.id()] = std::move(accepted.note);
    wanted.push_back(std::move(accepted.wanted));
  }
  const std::optional<wire::Assignment> before = running_;
  queue_.replace(std::move(wanted));
  reports_ = std::move(reports);
  notes_ = std::move(notes);
  if (!before || !queue_.is_wanted(*before)) {
    wake();
  }
}

void RecordingThread::give_up(const std::string& why) {
  const std::lock_guard lock(mutex_);
  const std::string ended = "ended early: " + why;
  for (auto& [id, bursts] : reports_) {
    if (queue_.is_open(id)) {
      // The running recording reports once more, when it is handed over.
      notes_[id] = bounded_detail(notes_[id], ended);
      bursts.set_detail(bounded_detail(bursts.detail(), ended));
    }
  }
  queue_.fail_open(why);
  wake();
}

void RecordingThread::complete(wire::AssignmentReport& report) const {
  const std::lock_guard lock(mutex_);
  const auto found = reports_.find(report.id());
  if (found == reports_.end()) {
    return;
  }
  wire::BurstReport& bursts = *report.mutable_bursts();
  bursts = found->second;
  if (queue_.is_open(report.id())) {
    report.set_state(is_over(report.state()) ? wire::RUNNING : report.state());
  } else if (bursts.recorded() + bursts.missed() == 0 && bursts.detail().empty()) {
    bursts.set_detail("no burst was within its time, or its time was over before recording could begin");
  }
}

wire::BurstAbility RecordingThread::ability() const {
  wire::BurstAbility ability;
  ability.set_can_record(why_not_.empty());
  ability.set_why_not(bounded_detail({}, why_not_));
  return ability;
}

std::string RecordingThread::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

bool RecordingThread::is_current(const wire::Assignment& assignment) const {
  const std::lock_guard lock(mutex_);
  const bool is_wanted = !stopping_ && queue_.is_wanted(assignment);
  if (is_wanted) {
    // It may have been withdrawn and given again meanwhile: that must not end its next burst.
    eventfd_t count = 0;
    ::eventfd_read(wake_fd_.get(), &count);
  }
  return is_wanted;
}

void RecordingThread::set_report(const std::string& id, const wire::BurstReport& report) {
  const std::lock_guard lock(mutex_);
  const auto found = reports_.find(id);
  if (found != reports_.end()) {
    found->second = report;
    found->second.set_detail(bounded_detail(notes_[id], report.detail()));
  }
}

std::optional<wire::Assignment> RecordingThread::wait_for_assignment() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const int64_t now_ns = context_.server_now_ns();
    AssignmentQueue::Next next = queue_.next(now_ns, kOpenAheadNs);
    if (next.assignment) {
      eventfd_t count = 0;
      ::eventfd_read(wake_fd_.get(), &count);
      queue_.set_state(next.assignment->id(), wire::RUNNING);
      running_ = next.assignment;
      return std::move(next.assignment);
    }
    if (next.due_ns == INT64_MAX) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(std::min(next.due_ns - now_ns, kMaxWaitNs)));
    }
  }
  return std::nullopt;
}

void RecordingThread::run() {
  while (const auto assignment = wait_for_assignment()) {
    settle(*assignment, record(*assignment));
  }
}

Status RecordingThread::record(const wire::Assignment& assignment) {
  const auto config = traces::BurstConfig::of_bits(assignment.bursts().config_bits());
  if (!config) {
    return propagate(config);
  }
  return AssignedRecording(
             assignment, *config, context_, wake_fd_.get(), [&] { return is_current(assignment); },
             [&](const wire::BurstReport& report) { set_report(assignment.id(), report); })
      .run();
}

void RecordingThread::settle(const wire::Assignment& assignment, const Status& done) {
  const std::lock_guard lock(mutex_);
  running_.reset();
  const std::string failure = done ? std::string() : done.error().text();
  if (!failure.empty()) {
    log_warning("bursts of assignment {}: {}", assignment.id(), failure);
  }
  problem_ = failure.empty() ? std::string() : "bursts: " + failure;
  if (!queue_.is_wanted(assignment)) {
    return;
  }
  queue_.set_state(assignment.id(), done ? wire::DONE : wire::FAILED);
  const auto found = reports_.find(assignment.id());
  if (!done && found != reports_.end()) {
    found->second.set_detail(bounded_detail(found->second.detail(), failure));
  }
}

}  // namespace plimsoll::bursts
