#include "appprof/mark_calls.h"

#include <errno.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "appprof/appprof_c.h"
#include "appprof/burst_ring.h"
#include "appprof/marks.h"
#include "appprof/profile.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

constexpr uint32_t kMaxOnes = 20;
constexpr uint32_t kMaxZeros = 20;

// In one word, so that a choice of the program and an assignment of the daemon cannot mix: bits of a burst-config, which take 40, or one of
// these. An assignment also has a number, so that one that has ended cannot be taken for its successor with the same bits.
constexpr uint64_t kNothingChosen = kNeverBursts;
constexpr uint64_t kRefused = kNeverBursts - 1;
constexpr uint64_t kAssigned = uint64_t{1} << 63;
constexpr int kBitsOfConfig = 40;
constexpr uint64_t kConfigMask = (uint64_t{1} << kBitsOfConfig) - 1;
constexpr uint64_t kNumberMask = (uint64_t{1} << 20) - 1;
static_assert(kMaxOnes + kMaxZeros <= kBitsOfConfig);

constinit std::atomic<uint64_t> g_bursts{kNothingChosen};
constinit std::atomic<int64_t> g_assigned_until_ns{0};
constinit std::atomic<uint64_t> g_assignments{0};

bool is_chosen_by_program(uint64_t bursts) noexcept {
  return bursts == kRefused || (bursts & kAssigned) == 0;
}

bool choose_bursts(std::string_view text) noexcept {
  uint64_t bits = kNothingChosen;
  if (text != "assigned" && !read_burst_config(text, bits)) {
    return false;
  }
  const bool is_off = text == "off";
  g_bursts.store(is_off ? kRefused : bits, std::memory_order_relaxed);
  return true;
}

bool read_number(std::string_view text, uint32_t& number) noexcept {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// traceparent has lower case only.
bool read_hex(std::string_view text, uint64_t& number) noexcept {
  if (text.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return false;
  }
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, 16);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// Also where the library does not serve: a program may want marks alone.
[[gnu::constructor]] void read_bursts_of_environment() {
  const char* const text = ::secure_getenv("PLIMSOLL_APPPROF_BURSTS");
  if (text != nullptr) {
    choose_bursts(text);
  }
}

// Callers may be anything: a signal handler, a thread that ends.
void mark(int kind, uint64_t value) noexcept {
  if (is_burst_now()) {
    plimsoll_write_mark(kind, value);
  }
}

// Also without bursts: a request may begin before the daemon assigns them, and what a thread did then must not be left for later ones.
void work_for(uint64_t request) noexcept {
  t_state.request = request;
}

uint64_t put_in_burst(BurstEventKind kind, const char* text, const char* peer, uint64_t number,
                      uint64_t call = 0) noexcept {
  if (!is_burst_now()) {
    return 0;
  }
  const int before = errno;
  BurstRecord record = burst_record(kind, text, peer, number);
  record.call = call;
  const uint64_t sequence = g_burst_ring.put(record);
  errno = before;
  return sequence;
}

}  // namespace

bool is_burst_now() noexcept {
  uint64_t bursts = g_bursts.load(std::memory_order_acquire);
  if (bursts >= kRefused || plimsoll_is_burst(bursts & kConfigMask) == 0) {
    return false;
  }
  if ((bursts & kAssigned) == 0 || monotonic_ns() < g_assigned_until_ns.load(std::memory_order_relaxed)) {
    return true;
  }
  // Calls after it cost nothing again.
  g_bursts.compare_exchange_strong(bursts, kNothingChosen, std::memory_order_relaxed);
  return false;
}

bool assign_bursts(uint64_t bits, int64_t until_ns) noexcept {
  const uint64_t number = g_assignments.fetch_add(1, std::memory_order_relaxed) & kNumberMask;
  const uint64_t assigned = kAssigned | number << kBitsOfConfig | (bits & kConfigMask);
  uint64_t before = g_bursts.load(std::memory_order_relaxed);
  if (is_chosen_by_program(before)) {
    return false;
  }
  g_assigned_until_ns.store(until_ns, std::memory_order_relaxed);
  while (!g_bursts.compare_exchange_weak(before, assigned, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    if (is_chosen_by_program(before)) {
      return false;
    }
  }
  return true;
}

void end_assigned_bursts() noexcept {
  uint64_t bursts = g_bursts.load(std::memory_order_relaxed);
  if (!is_chosen_by_program(bursts)) {
    g_bursts.compare_exchange_strong(bursts, kNothingChosen, std::memory_order_relaxed);
  }
}

bool read_burst_config(std::string_view text, uint64_t& bits) noexcept {
  if (text == "off" || text == "always") {
    bits = text == "off" ? kNeverBursts : kAlwaysBursts;
    return true;
  }
  const size_t comma = text.find(',');
  uint32_t ones = 0;
  uint32_t zeros = 0;
  if (comma == std::string_view::npos || !read_number(text.substr(0, comma), ones) ||
      !read_number(text.substr(comma + 1), zeros) || ones < 1 || ones > kMaxOnes || zeros > kMaxZeros) {
    return false;
  }
  bits = ((uint64_t{1} << ones) - 1) << zeros;
  return true;
}

uint64_t request_id_of(std::string_view traceparent) noexcept {
  // 00-<trace ID, 32 digits>-<parent ID, 16 digits>-<flags, 2 digits>; later versions may have more behind it.
  constexpr size_t kSize = 55;
  uint64_t version = 0;
  uint64_t upper = 0;
  uint64_t lower = 0;
  uint64_t parent = 0;
  uint64_t flags = 0;
  if (traceparent.size() < kSize || traceparent[2] != '-' || traceparent[35] != '-' ||
      traceparent[52] != '-' || !read_hex(traceparent.substr(0, 2), version) ||
      !read_hex(traceparent.substr(3, 16), upper) || !read_hex(traceparent.substr(19, 16), lower) ||
      !read_hex(traceparent.substr(36, 16), parent) || !read_hex(traceparent.substr(53, 2), flags) ||
      parent == 0 || version == 0xFF) {
    return 0;
  }
  const bool goes_on = traceparent.size() > kSize;
  if (goes_on && (version == 0 || traceparent[kSize] != '-')) {
    return 0;
  }
  return lower != 0 ? lower : upper;
}

uint64_t phase_value(std::string_view name) noexcept {
  uint64_t value = 0;
  for (size_t i = 0; i < name.size() && i < sizeof value; ++i) {
    value |= uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
  }
  return value;
}

}  // namespace plimsoll::appprof

namespace appprof = plimsoll::appprof;

extern "C" int plimsoll_appprof_set_bursts(const char* config) {
  return config != nullptr && appprof::choose_bursts(config) ? 0 : -1;
}

extern "C" uint64_t plimsoll_appprof_request_id(const char* traceparent) {
  return traceparent == nullptr ? 0 : appprof::request_id_of(traceparent);
}

extern "C" void plimsoll_appprof_request_start(uint64_t request) {
  appprof::work_for(request);
  appprof::mark(PLIMSOLL_START, request);
}

extern "C" void plimsoll_appprof_request_stop(uint64_t request) {
  appprof::mark(PLIMSOLL_STOP, request);
  if (appprof::t_state.request == request) {
    appprof::t_state.request = 0;
  }
}

extern "C" void plimsoll_appprof_request_switch(uint64_t request) {
  appprof::work_for(request);
  appprof::mark(PLIMSOLL_SWITCH, request);
}

extern "C" void plimsoll_appprof_lock_wait(const void* lock) {
  appprof::mark(PLIMSOLL_LOCK_WAIT, reinterpret_cast<uintptr_t>(lock));
}

extern "C" void plimsoll_appprof_lock_got(const void* lock) {
  appprof::mark(PLIMSOLL_LOCK_GOT, reinterpret_cast<uintptr_t>(lock));
}

extern "C" void plimsoll_appprof_phase(const char* name) {
  appprof::mark(PLIMSOLL_PHASE, name == nullptr ? 0 : appprof::phase_value(name));
  appprof::put_in_burst(appprof::BurstEventKind::kPhase, name, nullptr, 0);
}

extern "C" uint64_t plimsoll_appprof_rpc_in(const char* method, const char* peer, uint64_t bytes) {
  return appprof::put_in_burst(appprof::BurstEventKind::kRpcIn, method, peer, bytes);
}

extern "C" uint64_t plimsoll_appprof_rpc_out(const char* method, const char* peer, uint64_t bytes) {
  return appprof::put_in_burst(appprof::BurstEventKind::kRpcOut, method, peer, bytes);
}

extern "C" void plimsoll_appprof_rpc_end(uint64_t call, uint64_t bytes) {
  if (call != 0) {
    appprof::put_in_burst(appprof::BurstEventKind::kRpcEnd, nullptr, nullptr, bytes, call);
  }
}

extern "C" void plimsoll_appprof_annotate(const char* text, uint64_t value) {
  appprof::put_in_burst(appprof::BurstEventKind::kAnnotation, text, nullptr, value);
}
