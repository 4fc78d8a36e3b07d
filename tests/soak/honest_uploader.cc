#include "tests/soak/honest_uploader.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/hex.h"
#include "base/time.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/eventually.h"
#include "tests/profile_fixture.h"

namespace plimsoll::soak {
namespace {

constexpr uint64_t kProfilesOfUploader = 10'000'000;
constexpr size_t kMaxRecent = 1000;

}  // namespace

HonestUploader::HonestUploader(std::string address, uint64_t number, Tally& tally)
    : client_({.base_url = std::move(address), .timeout_ms = 60'000}),
      tally_(tally),
      random_(number),
      number_(number) {}

void HonestUploader::run(double per_s, const std::atomic<bool>& stops) {
  const std::chrono::nanoseconds interval(static_cast<int64_t>(1e9 / per_s));
  auto next = std::chrono::steady_clock::now();
  while (!stops && problem_.empty()) {
    send_new();
    if (random_() % 4 == 0 && problem_.empty()) {
      send_again();
    }
    // What was late is not made up for.
    next = std::max(next + interval, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

void HonestUploader::send_new() {
  const uint64_t seed = number_ * kProfilesOfUploader + ++sent_;
  const std::string function = fmt::format("honest_work_{}", seed);
  const uint64_t hits = 1 + random_() % 1000;
  const wire::RawProfile profile =
      plimsoll::testing::make_profile({.seed = seed,
                                       .machine = fmt::format("honest-{}", number_),
                                       .from_ns = wall_now_ns() - kNsPerSecond,
                                       .events = {{.name = kHonestEvent}},
                                       .stacks = fmt::format("main;{} {}\n", function, hits)});
  Upload upload{"/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile)};
  send_until_acknowledged(upload);
  if (!problem_.empty()) {
    return;
  }
  acknowledged_[function] = static_cast<double>(hits);
  if (recent_.size() < kMaxRecent) {
    recent_.push_back(std::move(upload));
  } else {
    recent_[random_() % kMaxRecent] = std::move(upload);
  }
}

void HonestUploader::send_again() {
  if (!send_until_acknowledged(recent_[random_() % recent_.size()]) && problem_.empty()) {
    problem_ = "a profile that was acknowledged is not known any more";
  }
}

bool HonestUploader::send_until_acknowledged(const Upload& upload) {
  wire::UploadReply reply;
  std::string last;
  const auto is_acknowledged = [&] {
    const auto answer = client_.send("PUT", upload.path, upload.body);
    tally_.count("honest profile", answer ? answer->status : kNoAnswer, answer ? answer->body : "");
    last = answer ? fmt::format("status {}: {}", answer->status, answer->body) : answer.error().text();
    if (answer && answer->status == 200) {
      return reply.ParseFromString(answer->body);
    }
    // What is wrong with it will be wrong with it again.
    const bool is_final = answer && answer->status != 429 && answer->status < 500;
    problem_ = is_final ? fmt::format("a sound profile is refused: {}", last) : "";
    return is_final;
  };
  if (!plimsoll::testing::eventually(is_acknowledged, std::chrono::milliseconds(200)) && problem_.empty()) {
    problem_ = fmt::format("a profile was not acknowledged in two minutes; the last answer: {}", last);
  }
  return reply.already_known();
}

}  // namespace plimsoll::soak
