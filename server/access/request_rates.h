// How often each machine may ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace plimsoll::server {

// A machine may ask as often in a minute as is said, all at once if it likes. Any thread may call. Takes a hundred bytes for each machine
// that has asked within a minute.
class RequestRates {
 public:
  // 0: as often as they like.
  explicit RequestRates(double max_per_minute) : max_per_minute_(max_per_minute) {}

  // How long the machine is to wait before it asks; 0: it may, and that is counted. `now_ns` never goes back.
  int64_t wait_ns(const std::string& machine_id, int64_t now_ns);

 private:
  struct Allowance {
    double requests = 0;  // that it may make now
    int64_t since_ns = 0;
  };
  double refilled(const Allowance& allowance, int64_t now_ns) const;
  void forget_idle(int64_t now_ns);

  const double max_per_minute_;
  std::mutex mutex_;
  std::unordered_map<std::string, Allowance> allowances_;  // guarded by mutex_, as is the next
  int64_t forgotten_ns_ = 0;
};

}  // namespace plimsoll::server
