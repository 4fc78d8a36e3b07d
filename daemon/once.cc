#include "daemon/once.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/durable_file.h"
#include "base/time.h"
#include "daemon/collector.h"
#include "daemon/service/service_notifier.h"
#include "daemon/service/signals.h"
#include "proto/profile_codec.h"

namespace plimsoll {
namespace {

constexpr double kLongestSeconds = 24 * 3600;

// "page-faults:1" -> name and period.
Result<wire::EventRequest> parse_event(const std::string& text, uint32_t set) {
  const auto split = perf::split_period(text);
  if (!split) {
    return propagate(split);
  }
  if (const auto known = perf::describe_event(split->name); !known) {
    return propagate(known);
  }
  wire::EventRequest request;
  request.set_name(split->name);
  request.set_period(split->period);
  request.set_set(set);
  return request;
}

Status add_events(const std::vector<std::string>& events, uint32_t set, const char* flag,
                  wire::Assignment& assignment) {
  for (const std::string& text : events) {
    const auto event = parse_event(text, set);
    if (!event) {
      return with_field(propagate(event), flag);
    }
    *assignment.add_events() = *event;
  }
  return {};
}

// --event's are one set, each --event-set is another.
Status add_events(const OnceOptions& options, wire::Assignment& assignment) {
  uint32_t set = 0;
  if (auto added = add_events(options.events, set, "--event", assignment); !added) {
    return added;
  }
  for (const std::string& text : options.event_sets) {
    if (auto added = add_events(perf::split_names(text), ++set, "--event-set", assignment); !added) {
      return added;
    }
  }
  return {};
}

Result<CollectorOptions> collector_options(const OnceOptions& options) {
  auto machine = identity::read_machine(options.machine);
  if (!machine) {
    return propagate(machine);
  }
  auto exact_counts = compile_exact_counts(options.count);
  if (!exact_counts) {
    return propagate(exact_counts);
  }
  CollectorOptions result;
  result.machine = std::move(*machine);
  result.exact_counts = std::move(*exact_counts);
  result.sample_pages = options.ring_pages;
  result.assignment.set_stack_bytes(options.stack_bytes);
  result.assignment.set_id("once");
  result.assignment.set_rate_hz(options.rate_hz == 0 ? kDefaultRateHz : options.rate_hz);
  result.assignment.set_stack_rate_hz(options.stack_rate_hz);
  result.assignment.set_branch_rate_hz(options.branch_rate_hz);
  if (options.stack_rate_hz > result.assignment.rate_hz()) {
    return with_field(fail(ErrorCode::kInvalid, "{} stacks per second is more than {} samples per second",
                           options.stack_rate_hz, result.assignment.rate_hz()),
                      "--stack-rate");
  }
  result.assignment.set_duration_ns(static_cast<int64_t>(options.seconds * 1e9));
  result.assignment.set_turn_ns(static_cast<int64_t>(options.turn_seconds * 1e9));
  if (auto added = add_events(options, result.assignment); !added) {
    return propagate(added);
  }
  return result;
}

// Rather now than when the samples have nowhere to go.
Status check_output(const std::string& output) {
  std::error_code error;
  if (std::filesystem::is_directory(output, error)) {
    return with_field(fail_errno(EISDIR, "writing the profile to {}", output), "--output");
  }
  if (std::filesystem::exists(output, error) && !std::filesystem::is_regular_file(output, error)) {
    return {};  // a device or a pipe is written to as it is
  }
  const std::string parent = std::filesystem::path(output).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return with_hint(
        with_field(fail_errno(errno, "writing the profile into {}", folder), "--output"),
        "the folder must be writable for this user by its mode, even for root; or give --user OWNER");
  }
  return {};
}

// On standard error where the profile itself goes to standard output.
void print_summary(const wire::RawProfile& profile, const std::string& output, size_t encoded_bytes) {
  std::FILE* const out = is_standard_output(output) ? stderr : stdout;
  for (const std::string& note : profile.notes()) {
    fmt::print(out, "note: {}\n", note);
  }
  for (const wire::Event& event : profile.events()) {
    if (event.mean_period() == 0) {
      fmt::print(out, "{}: {:g} counted\n", event.name(), event.counter_total());
    } else {
      fmt::print(out, "{}: {} samples, {} lost\n", event.name(), event.hits(), event.lost());
    }
  }
  for (const wire::MissingEvent& missing : profile.missing_events()) {
    fmt::print(out, "{}: not collected: {}\n", missing.name(), missing.reason());
  }
  fmt::print(out, "{}: {} processes, {} frames of stacks, {} KiB\n", output, profile.processes_size(),
             profile.stacks().parent_size(), (encoded_bytes + 1023) / 1024);
}

}  // namespace

Status collect_once(const OnceOptions& options) {
  const bool is_length = options.seconds > 0 && options.seconds <= kLongestSeconds;  // NaN is none
  if (!is_length) {
    return with_field(fail(ErrorCode::kInvalid, "the window is {} seconds; it must be over 0 and at most {}",
                           options.seconds, kLongestSeconds),
                      "--once");
  }
  if (options.ring_pages != 0 && !std::has_single_bit(options.ring_pages)) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "the sample buffer is {} pages; it must be a power of two",
                        options.ring_pages),
                   "--ring-pages"),
        fmt::format("try {}", std::bit_ceil(options.ring_pages)));
  }
  if (auto checked = check_output(options.output); !checked) {
    return checked;
  }
  auto configured = collector_options(options);
  if (!configured) {
    return propagate(configured);
  }
  auto collector = Collector::open(std::move(*configured));
  if (!collector) {
    return propagate(collector, "preparing to sample this machine");
  }
  const auto stop = Signals::install({SIGINT, SIGTERM});
  if (!stop) {
    return propagate(stop);
  }
  Collector::WindowOptions window;
  window.duration_ns = static_cast<int64_t>(options.seconds * 1e9);
  window.with_kernel_symbols = true;
  window.wake_fd = stop->fd();
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  ServiceNotifier notifier(::getenv);
  bool is_ready = false;
  window.progress = [&](int64_t elapsed_ns, uint64_t hits) {
    if (!std::exchange(is_ready, true)) {
      notifier.ready();
    }
    if (is_terminal) {
      fmt::print(stderr, "\rcollecting: {:.1f} of {:g} s, {} samples ", static_cast<double>(elapsed_ns) / 1e9,
                 options.seconds, hits);
      std::fflush(stderr);
    }
  };
  const auto profile = (*collector)->collect(window);
  if (is_terminal) {
    fmt::print(stderr, "\n");
  }
  if (!profile) {
    return propagate(profile);
  }
  const std::string encoded = wire::encode(*profile);
  if (auto written = write_file_durably(options.output, as_bytes(encoded)); !written) {
    return written;
  }
  print_summary(*profile, options.output, encoded.size());
  return {};
}

}  // namespace plimsoll
