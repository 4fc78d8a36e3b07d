// By how much percentiles of a test arm differ from those of a control arm that ran at the same time and place: of latencies or
// CPU time whose values depend on each other, since a user is slow all week and an incident slows everybody for an hour.
// docs/statistics.md has the formulas and their sources.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace plimsoll::statistics {

// Requests of a user within a moment that took as long; IDs are the caller's.
struct ArmValue {
  int64_t time_ns = 0;  // since 1970: 0 to 9e18
  uint32_t place = 0;
  uint32_t user = 0;  // its own in each arm
  double value = 0;   // finite, at least 0
  double count = 1;   // above 0
};

struct PercentileRequest {
  std::vector<double> shares = {0.5, 0.95, 0.99};  // each within (0, 1)
  // Arms are compared within a slot of time and a place.
  int64_t slot_ns = int64_t{3600} * 1'000'000'000;  // a year at most
  // About three times as long as incidents, batch jobs and the like last: blocks are taken for independent. An interval requires kMinBlocks of
  // them in which both arms have values, by their effective number.
  int64_t block_ns = int64_t{16} * 3600 * 1'000'000'000;
  double detect = 0;  // relative change whose detection is asked for; 0: none
};

enum class PercentileVerdict : uint8_t {
  kMore,
  kLess,
  kNoDifference,  // that these arms could show
  kTooFewUsers,   // an interval would not hold, or, with `detect`, is too wide
  kTooLittleTime,  // fewer than kMinBlocks; or, with `detect`, too wide for more by what happens at times than by users
  kZero,  // the percentile of an arm is 0, or may be by its margin: there is no interval of a relative change
};

struct PercentileChange {
  double share = 0;
  double control = 0;
  double test = 0;
  double change = 0;  // test / control - 1; 0 where either is 0
  // 95 %; nothing where it would not hold.
  std::optional<double> low = {};
  std::optional<double> high = {};
  PercentileVerdict verdict = PercentileVerdict::kTooFewUsers;
  // Effective number of users behind the values above the percentile (Kish), of the arm with fewer.
  double users_beyond = 0;
  // Per arm, for `detect` with a power of 80 % in the same time; nothing: not asked, or no number of users is enough.
  std::optional<double> users_needed = {};
};

struct PercentileComparison {
  std::vector<PercentileChange> rows = {};  // in the order of the shares
  int64_t time_ns = 0;                      // from the first slot of both arms to the last
  size_t degrees_of_time = 0;               // by which the variance between times is known
  size_t control_users = 0;
  size_t test_users = 0;
  // Of each arm's values: in slots and places where the other arm has some, too.
  double control_matched = 0;
  double test_matched = 0;
};

// Fewer users beyond a percentile, or blocks, have no interval.
inline constexpr double kMinUsersBeyond = 30;
inline constexpr size_t kMinBlocks = 3;
// More blocks are not looked at for themselves: the margin would hardly shrink.
inline constexpr size_t kMaxWaves = 12;

// kInvalid where an arm is empty, the arms meet at no time and place, or a time, value, count or share is out of range.
Result<PercentileComparison> compare_percentiles(std::span<const ArmValue> control,
                                                 std::span<const ArmValue> test,
                                                 const PercentileRequest& request);

}  // namespace plimsoll::statistics
