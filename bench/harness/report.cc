#include "bench/harness/report.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace plimsoll::bench {
namespace {

// Three digits are all that a benchmark on a shared machine knows.
std::string figure(double value) {
  if (value == 0 || !std::isfinite(value)) {
    return fmt::format("{}", value);
  }
  const int whole_digits = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, 3 - whole_digits));
}

std::string goals(const Measurement& measurement) {
  std::string text;
  if (measurement.goal) {
    text = fmt::format("{} {}", measurement.better == Better::kLower ? "≤" : "≥", figure(*measurement.goal));
  }
  if (measurement.goal_ratio) {
    text += fmt::format("{}ratio ≥ {}", text.empty() ? "" : ", ", figure(*measurement.goal_ratio));
  }
  return text;
}

// The value of the first line "KEY : VALUE" of a file in /proc.
std::string proc_value(const std::string& path, std::string_view key) {
  const std::string text = read_file(path, 1 << 20).value_or(std::string());
  const size_t at = text.find(key);
  const size_t colon = at == std::string::npos ? at : text.find(": ", at);
  return colon == std::string::npos ? std::string()
                                    : text.substr(colon + 2, text.find('\n', colon) - colon - 2);
}

}  // namespace

std::optional<double> Measurement::ratio() const {
  if (peer.empty() || value == 0 || peer_value == 0) {
    return std::nullopt;
  }
  return better == Better::kLower ? peer_value / value : value / peer_value;
}

std::optional<bool> Measurement::is_met() const {
  if (!goal && !goal_ratio) {
    return std::nullopt;
  }
  const bool is_good = !goal || (better == Better::kLower ? value <= *goal : value >= *goal);
  return is_good && (!goal_ratio || ratio().value_or(0) >= *goal_ratio);
}

std::string json_line(const Measurement& measurement) {
  nlohmann::ordered_json line{{"name", measurement.name}, {"value", measurement.value},
                              {"unit", measurement.unit}, {"peer", nullptr},
                              {"peer_value", nullptr},    {"ratio", nullptr}};
  if (!measurement.peer.empty()) {
    line["peer"] = measurement.peer;
    line["peer_value"] = measurement.peer_value;
  }
  if (const auto ratio = measurement.ratio()) {
    line["ratio"] = *ratio;
  }
  return line.dump() + "\n";
}

std::string skipped_json_line(std::string_view part, std::string_view why) {
  return nlohmann::ordered_json{{"name", part}, {"skipped", why}}.dump() + "\n";
}

std::string table_heading() {
  return "| measurement | value | unit | goal | met | peer | peer's value | ratio | note |\n"
         "|---|---|---|---|---|---|---|---|---|\n";
}

std::string table_row(const Measurement& measurement) {
  const auto met = measurement.is_met();
  const auto ratio = measurement.ratio();
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n", measurement.name,
                     figure(measurement.value), measurement.unit, goals(measurement),
                     !met ? "" : (*met ? "yes" : "**no**"), measurement.peer,
                     measurement.peer.empty() ? "" : figure(measurement.peer_value),
                     ratio ? figure(*ratio) : "", measurement.note);
}

std::string skipped_table_row(std::string_view part, std::string_view why) {
  return fmt::format("| `{}` | skipped |  |  |  |  |  |  | {} |\n", part, why);
}

Report::Report(std::ostream& out, bool as_json) : out_(out), as_json_(as_json) {
  if (!as_json_) {
    out_ << describe_machine() << "\n\n" << table_heading() << std::flush;
  }
}

void Report::add(const Measurement& measurement) {
  out_ << (as_json_ ? json_line(measurement) : table_row(measurement)) << std::flush;
}

void Report::skip(std::string_view part, std::string_view why) {
  ++skipped_;
  out_ << (as_json_ ? skipped_json_line(part, why) : skipped_table_row(part, why)) << std::flush;
}

std::string describe_machine() {
  utsname kernel{};
  ::uname(&kernel);
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  const std::string flags = proc_value("/proc/cpuinfo", "flags");
  const std::string load = read_file("/proc/loadavg", 256).value_or(std::string());
  return fmt::format("{}, {} CPUs{}, {} {}, load {} at the start", model.empty() ? kernel.machine : model,
                     ::sysconf(_SC_NPROCESSORS_ONLN),
                     flags.find(" hypervisor") != std::string::npos ? " of a virtual machine" : "",
                     kernel.sysname, kernel.release, load.substr(0, load.find(' ')));
}

}  // namespace plimsoll::bench
