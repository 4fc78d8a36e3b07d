// By which the daemon says when bursts are, and fetches their events.
#include <charconv>
#include <mutex>
#include <optional>
#include <string>

#include "appprof/burst_ring.h"
#include "appprof/endpoint_answers.h"
#include "appprof/endpoints.h"
#include "appprof/mark_calls.h"

namespace plimsoll::appprof {
namespace {

constexpr int64_t kMaxAssignedSeconds = int64_t{24} * 60 * 60;

std::optional<uint64_t> sequence_of(const Request& request) {
  const auto found = request.query.find("after");
  const std::string text = found == request.query.end() ? "0" : found->second;
  uint64_t sequence = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, sequence);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(sequence) : std::nullopt;
}

}  // namespace

Response Endpoints::set_bursts(const Request& request, const RequestTime&) {
  if (request.method != "POST") {
    return failed(405, "POST only\n");
  }
  const std::optional<int64_t> seconds = request.number("seconds", -1);
  if (!seconds || *seconds < 0 || *seconds > kMaxAssignedSeconds) {
    return failed(400, "seconds= must be a number up to " + std::to_string(kMaxAssignedSeconds) + "\n");
  }
  const std::lock_guard lock(mutex_);
  if (*seconds == 0) {
    end_assigned_bursts();
    return plain_text("no bursts are assigned\n");
  }
  const auto config = request.query.find("config");
  uint64_t bits = kNeverBursts;
  // Neither "off" nor "always", which is the program's alone to choose.
  if (config == request.query.end() || !read_burst_config(config->second, bits) || bits == kNeverBursts ||
      bits == kAlwaysBursts) {
    return failed(400, "config= must be M,N, such as 7,8\n");
  }
  if (!assign_bursts(bits, monotonic_ns() + *seconds * kSecond)) {
    return failed(409, "the program has chosen by itself when bursts are, or that there are none\n");
  }
  return plain_text("bursts are assigned\n");
}

Response Endpoints::burst_events(const Request& request, const RequestTime&) {
  const std::optional<uint64_t> sequence = sequence_of(request);
  if (!sequence) {
    return failed(400, "after= must be a sequence number\n");
  }
  const std::lock_guard lock(mutex_);
  Response response;
  response.content_type = "application/octet-stream";
  response.body = write_burst_records(g_burst_ring.take_after(*sequence));
  return response;
}

}  // namespace plimsoll::appprof
