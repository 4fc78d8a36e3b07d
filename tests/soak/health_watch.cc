#include "tests/soak/health_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "http/client.h"

namespace plimsoll::soak {
namespace {

constexpr std::chrono::milliseconds kInterval{100};
constexpr int64_t kTimeoutMs = 10'000;

double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

HealthWatch::HealthWatch(std::string address)
    : address_(std::move(address)), thread_([this](const std::stop_token& stop) {
        auto next = std::chrono::steady_clock::now();
        while (!stop.stop_requested()) {
          ask();
          next = std::max(next + kInterval, std::chrono::steady_clock::now());
          std::this_thread::sleep_until(next);
        }
      }) {}

HealthWatch::~HealthWatch() = default;

void HealthWatch::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void HealthWatch::ask() {
  http::Client client({.base_url = address_, .timeout_ms = kTimeoutMs});
  const int64_t before_ns = monotonic_now_ns();
  const auto answer = client.send("GET", "/healthz");
  waits_ms_.push_back(static_cast<double>(monotonic_now_ns() - before_ns) / 1e6);
  if (!answer || answer->status != 200) {
    failures_.push_back(fmt::format(
        "question {}: {}", waits_ms_.size(),
        answer ? fmt::format("status {}: {}", answer->status, answer->body) : answer.error().text()));
  }
}

double HealthWatch::worst_ms() const {
  return quantile(waits_ms_, 1);
}

double HealthWatch::p99_ms() const {
  return quantile(waits_ms_, 0.99);
}

}  // namespace plimsoll::soak
