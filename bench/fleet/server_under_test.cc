#include "bench/fleet/server_under_test.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/store/clock.h"

namespace plimsoll::bench {
namespace {

constexpr double kStartsWithinS = 20;

// The number behind `name`; of none, kCorrupt.
template <typename Number>
Result<Number> number_after(std::string_view text, std::string_view name) {
  const size_t start = text.find(name);
  Number number{};
  if (start != std::string_view::npos) {
    const std::string_view rest = text.substr(start + name.size());
    const size_t digits = rest.find_first_not_of(" \t");
    if (digits != std::string_view::npos &&
        std::from_chars(rest.data() + digits, rest.data() + rest.size(), number).ec == std::errc()) {
      return number;
    }
  }
  return fail(ErrorCode::kCorrupt, "there is no \"{}\" with a number in: {}", name, text);
}

std::string contents(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result<ServerUnderTest> ServerUnderTest::start(const std::string& settings, ServerRole role) {
  auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  std::ofstream(*folder / "server.toml")
      << "[server]\nlisten = \"127.0.0.1:0\"\nfleet_listen = \"127.0.0.1:0\"\n"
      << settings;
  ServerUnderTest server(std::move(*folder), role);
  const auto started = server.start_child();
  return started ? Result<ServerUnderTest>(std::move(server)) : propagate(started);
}

Status ServerUnderTest::kill_and_restart() {
  child_.reset();
  return start_child();
}

// One for each start: the newest port stands nowhere else.
std::string ServerUnderTest::log_file() const {
  return folder_ / fmt::format("log-{}", starts_);
}

std::vector<std::string> ServerUnderTest::command() const {
  std::vector<std::string> argv{sibling_program("plimsoll"), "server", "--config", folder_ / "server.toml"};
  if (role_ == ServerRole::kIngest) {
    argv.emplace_back("--role");
    argv.emplace_back("ingest");
  } else {
    argv.emplace_back("--data");
    argv.push_back(data_dir());
  }
  return argv;
}

Status ServerUnderTest::start_child() {
  ++starts_;
  auto child = Child::start(command(), log_file());
  if (!child) {
    return propagate(child);
  }
  child_ = std::make_unique<Child>(std::move(*child));
  const double deadline_s = now_s() + kStartsWithinS;
  while (!has_read_ports()) {
    if (now_s() >= deadline_s) {
      return fail(ErrorCode::kUnavailable, "the server does not listen after {} s: {}", kStartsWithinS,
                  log());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

// One line of the log names both.
bool ServerUnderTest::has_read_ports() {
  const std::string text = log();
  for (const std::string_view scheme : {"http", "https"}) {
    const auto port_behind = [&](std::string_view listener) {
      return number_after<uint16_t>(text, fmt::format("{} on {}://127.0.0.1:", listener, scheme));
    };
    const auto fleet = port_behind("daemons");
    const auto people = port_behind(role_ == ServerRole::kIngest ? "health" : "API");
    if (fleet && people) {
      fleet_port_ = *fleet;
      people_port_ = *people;
      return true;
    }
  }
  return false;
}

std::string ServerUnderTest::log() const {
  return contents(log_file());
}

std::string ServerUnderTest::log_end() const {
  constexpr size_t kShownBytes = 2000;
  const std::string text = log();
  return text.substr(text.size() - std::min(text.size(), kShownBytes));
}

Result<double> ServerUnderTest::cpu_s() const {
  const std::string stat = contents(fmt::format("/proc/{}/stat", child_->pid()));
  // Behind the name, which may hold anything: state, then ten numbers, then user and system time (proc(5)).
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) {
    return fail(ErrorCode::kUnavailable, "the server has ended: {}", log());
  }
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) {
    fields >> skipped;
  }
  double user_ticks = 0;
  double system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return (user_ticks + system_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<uint64_t> ServerUnderTest::peak_rss_bytes() const {
  const auto kibibytes =
      number_after<uint64_t>(contents(fmt::format("/proc/{}/status", child_->pid())), "VmHWM:");
  return kibibytes ? Result<uint64_t>(*kibibytes * 1024) : propagate(kibibytes);
}

}  // namespace plimsoll::bench
