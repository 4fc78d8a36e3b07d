#include "appprof/mark_calls.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "appprof/appprof_c.h"
#include "appprof/marks.h"

namespace plimsoll::appprof {
namespace {

constexpr uint32_t kMaxOnes = 20;
constexpr uint32_t kMaxZeros = 20;

constinit std::atomic<uint64_t> g_burst_bits{kNeverBursts};

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
  uint64_t bits = kNeverBursts;
  if (text != nullptr && read_burst_config(text, bits)) {
    g_burst_bits.store(bits, std::memory_order_relaxed);
  }
}

// Callers may be anything: a signal handler, a thread that ends.
void mark(int kind, uint64_t value) noexcept {
  const uint64_t bits = g_burst_bits.load(std::memory_order_relaxed);
  // Saves the look at the clock where no burst can be.
  if (bits != kNeverBursts) {
    plimsoll_mark(bits, kind, value);
  }
}

}  // namespace

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
  uint64_t bits = 0;
  if (config == nullptr || !appprof::read_burst_config(config, bits)) {
    return -1;
  }
  appprof::g_burst_bits.store(bits, std::memory_order_relaxed);
  return 0;
}

extern "C" uint64_t plimsoll_appprof_request_id(const char* traceparent) {
  return traceparent == nullptr ? 0 : appprof::request_id_of(traceparent);
}

extern "C" void plimsoll_appprof_request_start(uint64_t request) {
  appprof::mark(PLIMSOLL_START, request);
}

extern "C" void plimsoll_appprof_request_stop(uint64_t request) {
  appprof::mark(PLIMSOLL_STOP, request);
}

extern "C" void plimsoll_appprof_request_switch(uint64_t request) {
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
}
