#include "scheduler/draws/draw_schedule.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "scheduler/draws/random.h"

namespace plimsoll::scheduler {
namespace {

// What the numbers of one draw are for, so that one says nothing of another.
enum class Purpose : uint64_t { kMachines = 1, kWindow = 2, kEventSets = 3, kTurns = 4, kOrder = 5 };

// SplitMix64's mixing (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014): every bit of the input moves every bit
// of the output.
uint64_t mixed(uint64_t value) {
  value += 0x9E37'79B9'7F4A'7C15;
  value = (value ^ (value >> 30U)) * 0xBF58'476D'1CE4'E5B9;
  value = (value ^ (value >> 27U)) * 0x94D0'49BB'1331'11EB;
  return value ^ (value >> 31U);
}

uint64_t seed_of(uint64_t policy, int64_t number, Purpose purpose) {
  return mixed(mixed(mixed(policy) ^ static_cast<uint64_t>(number)) ^ static_cast<uint64_t>(purpose));
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

int64_t floor_of(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

}  // namespace

Result<DrawSchedule> DrawSchedule::make(DrawTiming timing) {
  const auto refuse = [](const char* field, const std::string& what) {
    return with_field(fail(ErrorCode::kInvalid, "{}", what), field);
  };
  if (!is_name(timing.name)) {
    return refuse("name",
                  fmt::format("invalid policy name \"{}\": use letters, digits and dashes", timing.name));
  }
  if (timing.interval_ns < kNsPerSecond || timing.interval_ns % kNsPerSecond != 0) {
    return refuse("interval", "must be a whole number of seconds, at least 1");
  }
  if (timing.window_ns <= 0 || timing.window_ns > timing.interval_ns) {
    return refuse("window", "must be within the interval");
  }
  if (timing.lead_ns < 0 || timing.lead_ns > timing.interval_ns) {
    return refuse("lead", "must be at most an interval");
  }
  if (timing.event_sets == 0) {
    return refuse("event_sets", "at least one set of events is required");
  }
  return DrawSchedule(std::move(timing));
}

ScheduledDraw DrawSchedule::draw(int64_t number) const {
  ScheduledDraw draw;
  draw.number = number;
  draw.interval_start_ns = number * timing_.interval_ns;
  draw.id = fmt::format("{}-{}", timing_.name, format_time(draw.interval_start_ns));
  draw.made_ns = draw.interval_start_ns - timing_.lead_ns;
  draw.seed = seed_of(timing_.seed, number, Purpose::kMachines);
  draw.turns_seed = seed_of(timing_.seed, number, Purpose::kTurns);
  const auto places = static_cast<uint64_t>(timing_.interval_ns - timing_.window_ns) + 1;
  draw.window_start_ns =
      draw.interval_start_ns +
      static_cast<int64_t>(DrawRandom(seed_of(timing_.seed, number, Purpose::kWindow)).below(places));
  draw.event_set = event_set(number);
  return draw;
}

ScheduledDraw DrawSchedule::newest(int64_t now_ns) const {
  return draw(floor_of(now_ns + timing_.lead_ns, timing_.interval_ns));
}

uint64_t DrawSchedule::seed_of_order(int64_t now_ns) const {
  return seed_of(timing_.seed, now_ns, Purpose::kOrder);
}

// Every set once in as many draws as there are sets, in an order that is drawn again each time: in a fixed one, a set could meet the same
// hours of every day.
size_t DrawSchedule::event_set(int64_t number) const {
  const auto sets = static_cast<int64_t>(timing_.event_sets);
  const int64_t round = floor_of(number, sets);
  std::vector<size_t> order(timing_.event_sets);
  std::iota(order.begin(), order.end(), size_t{0});
  DrawRandom random(seed_of(timing_.seed, round, Purpose::kEventSets));
  random.shuffle(std::span(order));
  return order[static_cast<size_t>(number - round * sets)];
}

}  // namespace plimsoll::scheduler
