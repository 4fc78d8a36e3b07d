// What a store does while it is killed, and what must be true afterwards (crash_sweep_test.cc).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::testing {

// Numbers of profiles.
using Profiles = std::set<uint64_t>;

// Of one run, which may meet failures.
class Witness {
 public:
  using Acknowledge = std::function<void(uint64_t profile)>;
  explicit Witness(Acknowledge acknowledge) : acknowledge_(std::move(acknowledge)) {}

  void acknowledge(uint64_t profile) const { acknowledge_(profile); }

  // Up to `kTries` times, as a server and those who send to it do. Whether it was done.
  bool step(const std::function<Status()>& work);

  // The last failure of the first step that was never done; empty: all were.
  const std::string& failure() const { return failure_; }

 private:
  static constexpr int kTries = 4;
  Acknowledge acknowledge_;
  std::string failure_;
};

class Scenario {
 public:
  explicit Scenario(std::string name) : name_(std::move(name)) {}
  virtual ~Scenario() = default;
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  const std::string& name() const { return name_; }

  // The data directory is `folder`/data. Its profiles, which were acknowledged.
  virtual Profiles prepare(const std::string& folder) const = 0;

  // What is recorded. Says which profiles it has acknowledged.
  virtual void run(const std::string& folder, Witness& witness) const = 0;

  // Of a folder that a crash has left: what is wrong with it, or nothing. Changes it as the next start of a server does, and those who
  // send again what was not acknowledged.
  virtual std::string check(const std::string& folder, const Profiles& acknowledged) const = 0;

 private:
  std::string name_;
};

std::vector<std::unique_ptr<Scenario>> all_scenarios();

}  // namespace plimsoll::testing
