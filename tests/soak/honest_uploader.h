// A daemon that keeps its word, and expects the same of its server: each profile is sent until it is acknowledged, now and then once more
// after that, and has a function of its own, so that the answer shows each of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "http/client.h"
#include "tests/soak/tally.h"

namespace plimsoll::soak {

// The event of their profiles, which nothing else has.
inline constexpr const char* kHonestEvent = "honest-samples";

class HonestUploader {
 public:
  // `number` tells uploaders apart; `tally` is borrowed.
  HonestUploader(std::string address, uint64_t number, Tally& tally);

  // So many a second, until told to stop; then the last one is still acknowledged, or two minutes go by.
  void run(double per_s, const std::atomic<bool>& stops);

  // Hits by function, of what was acknowledged.
  const std::map<std::string, double>& acknowledged() const { return acknowledged_; }
  // What the server must not do; empty: it did not.
  const std::string& problem() const { return problem_; }

 private:
  struct Upload {
    std::string path;
    std::string body;
  };

  void send_new();
  void send_again();
  // Whether the profile was known before. Sets problem_ where it is not acknowledged in two minutes.
  bool send_until_acknowledged(const Upload& upload);

  http::Client client_;
  Tally& tally_;
  std::mt19937_64 random_;
  const uint64_t number_;
  uint64_t sent_ = 0;
  std::vector<Upload> recent_;  // acknowledged
  std::map<std::string, double> acknowledged_;
  std::string problem_;
};

}  // namespace plimsoll::soak
