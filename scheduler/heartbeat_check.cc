#include "scheduler/heartbeat_check.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::scheduler {
namespace {

constexpr int kMaxInstances = 10'000;
constexpr int kMaxReports = 100;
constexpr int kMaxKinds = 32;
constexpr uint32_t kMaxEndpoints = 100'000;
constexpr size_t kMaxNameBytes = 4096;
constexpr double kMaxCpus = 100'000;
constexpr double kMaxWeight = 1'000'000;
constexpr int64_t kMaxIntervalNs = int64_t{7} * 24 * 3600 * 1'000'000'000;

// Protobuf's parser has checked that it is UTF-8; a terminal must be able to show it.
bool is_name(const std::string& text) {
  return text.size() <= kMaxNameBytes && std::ranges::none_of(text, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < 0x20 || byte == 0x7F;
         });
}

bool is_between(double value, double most) {
  return std::isfinite(value) && value >= 0 && value <= most;
}

Status check_instance(const wire::InstanceUsage& usage, int64_t interval_ns) {
  const auto refuse = [](std::string_view field, const auto& value) {
    return with_field(fail(ErrorCode::kInvalid, "{} is out of bounds: {}", field, value), std::string(field));
  };
  if (usage.job().empty() || !is_name(usage.job())) {
    return refuse("job", usage.job().size());
  }
  if (usage.instance().empty() || !is_name(usage.instance())) {
    return refuse("instance", usage.instance().size());
  }
  if (!is_name(usage.container())) {
    return refuse("container", usage.container().size());
  }
  if (!is_between(usage.quota_cpus(), kMaxCpus)) {
    return refuse("quota_cpus", usage.quota_cpus());
  }
  if (!is_between(usage.weight(), kMaxWeight)) {
    return refuse("weight", usage.weight());
  }
  const double max_ns = static_cast<double>(interval_ns) * kMaxCpus;
  return is_between(static_cast<double>(usage.cpu_time_ns()), max_ns)
             ? Status()
             : refuse("cpu_time_ns", usage.cpu_time_ns());
}

}  // namespace

Status check_missing_events(const wire::RegisterRequest& request) {
  constexpr int kMaxEvents = 1000;
  constexpr size_t kMaxEventBytes = 128;
  const bool are_names = std::ranges::all_of(request.missing_events(), [](const std::string& name) {
    return !name.empty() && name.size() <= kMaxEventBytes && is_name(name);
  });
  return are_names && request.missing_events_size() <= kMaxEvents
             ? Status()
             : with_field(
                   fail(ErrorCode::kInvalid, "missing events are up to {} printable names of up to {} bytes",
                        kMaxEvents, kMaxEventBytes),
                   "missing_events");
}

namespace {

bool is_kind(const wire::ApplicationKindReport& kind) {
  return !kind.kind().empty() && is_name(kind.kind()) && is_name(kind.cause()) &&
         kind.endpoints() <= kMaxEndpoints && kind.answered() <= kind.endpoints() &&
         kind.with_cause() <= kind.endpoints() - kind.answered();
}

}  // namespace

Status check_reports(const wire::HeartbeatRequest& request) {
  if (request.assignments_size() > kMaxReports) {
    return with_field(fail(ErrorCode::kInvalid, "reports of {} assignments, over {}",
                           request.assignments_size(), kMaxReports),
                      "assignments");
  }
  for (int i = 0; i < request.assignments_size(); ++i) {
    const wire::AssignmentReport& report = request.assignments(i);
    const char* const wrong =
        report.id().empty() || !is_name(report.id()) ? "id"
        : !wire::AssignmentState_IsValid(report.state()) || report.state() == wire::ASSIGNMENT_UNSPECIFIED
            ? "state"
        : !is_name(report.detail())          ? "detail"
        : !is_name(report.bursts().detail()) ? "bursts.detail"
        : report.application_kinds_size() > kMaxKinds ||
                !std::ranges::all_of(report.application_kinds(), is_kind)
            ? "application_kinds"
            : nullptr;
    if (wrong != nullptr) {
      return with_field(fail(ErrorCode::kInvalid, "the report of an assignment is out of bounds"),
                        fmt::format("assignments[{}].{}", i, wrong));
    }
  }
  return {};
}

Status check_census(const wire::HeartbeatRequest& request) {
  if (request.instances_size() > kMaxInstances) {
    return with_field(fail(ErrorCode::kInvalid, "a census of {} instances, over {}", request.instances_size(),
                           kMaxInstances),
                      "instances");
  }
  if (request.census_ns() < 0 || request.census_ns() > kMaxIntervalNs) {
    return with_field(fail(ErrorCode::kInvalid, "a census of {} ns", request.census_ns()), "census_ns");
  }
  for (int i = 0; i < request.instances_size(); ++i) {
    if (auto checked = check_instance(request.instances(i), request.census_ns()); !checked) {
      Error error = checked.error();
      error.field = fmt::format("instances[{}].{}", i, error.field);
      return std::unexpected(std::move(error));
    }
  }
  return {};
}

}  // namespace plimsoll::scheduler
