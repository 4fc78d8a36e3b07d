// How long a server takes to say that it lives, asked every 100 ms as monitoring does: each time on a connection of its own.
#pragma once

#include <string>
#include <thread>
#include <vector>

namespace plimsoll::soak {

class HealthWatch {
 public:
  // `address` is that for people.
  explicit HealthWatch(std::string address);
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  ~HealthWatch();

  // Asks no more. What follows is of use after it.
  void stop();
  size_t asked() const { return waits_ms_.size(); }
  double worst_ms() const;
  double p99_ms() const;
  // Of each question that was not answered with 200 within 10 s: what came of it.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  void ask();

  const std::string address_;
  std::vector<double> waits_ms_;
  std::vector<std::string> failures_;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace plimsoll::soak
