// The profiles that simulated daemons upload, made in a thread of its own: what takes milliseconds there would be taken for the
// server's delay here.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/store/raw_profiles.h"
#include "bench/store/stack_tree.h"
#include "proto/fleet.pb.h"

namespace plimsoll::bench {

struct MadeProfile {
  uint32_t machine = 0;
  std::string id;    // in hexadecimal
  std::string draw;  // of its assignment
  std::string encoded;
  int64_t window_end_ns = 0;  // wall clock: not to be sent before
};

// What a simulated machine says of itself.
wire::Machine simulated_machine(uint32_t machine);
// Its wire::RegisterRequest.
std::string simulated_registration(uint32_t machine);
// What runs there.
void add_census(uint32_t machine, int64_t interval_ns, wire::HeartbeatRequest& heartbeat);

class ProfileMaker {
 public:
  ProfileMaker();
  ProfileMaker(const ProfileMaker&) = delete;
  ProfileMaker& operator=(const ProfileMaker&) = delete;
  ~ProfileMaker();

  // Of one window of a machine: 2,000 samples. Any thread.
  MadeProfile make(uint32_t machine, const wire::Assignment& assignment);
  // Many of windows that are over, each of a machine of its own, from `first` on, in half a millisecond each: there are 500 sets of samples.
  std::deque<MadeProfile> make_many(uint32_t count, uint32_t first = 0);

  // The same in the background; one thread orders and takes.
  void order(uint32_t machine, const wire::Assignment& assignment);
  std::vector<MadeProfile> take();

 private:
  struct Order {
    uint32_t machine;
    wire::Assignment assignment;
  };
  wire::RawProfile generate(uint32_t machine, const wire::Assignment& assignment);
  void make_ordered();

  const StackTree tree_;
  const RawProfiles profiles_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;         // guarded by mutex_
  uint32_t next_window_ = 0;       // likewise
  std::deque<Order> orders_;       // likewise
  std::vector<MadeProfile> made_;  // likewise
  std::thread thread_;
};

}  // namespace plimsoll::bench
