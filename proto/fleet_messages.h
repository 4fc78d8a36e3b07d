// What the endpoints for daemons have in common wherever they are served: at the server, and at ingest servers in front of it.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "proto/profile_codec.h"

namespace plimsoll::wire {

inline constexpr std::string_view kRegisterPath = "/fleet/v1/register";
inline constexpr std::string_view kHeartbeatPath = "/fleet/v1/heartbeat";
inline constexpr std::string_view kProfilesPath = "/fleet/v1/profiles/";  // and the ID in hexadecimal
inline constexpr std::string_view kBurstsPath = "/fleet/v1/bursts/";      // and the ID in hexadecimal

inline constexpr std::string_view kProtobufType = "application/x-protobuf";

// Of a registration and a heartbeat.
inline constexpr size_t kMaxFleetMessageBytes = size_t{1} << 20;

// A message whose first field is format_version, of a version that this program reads.
template <typename Message>
Result<Message> parse_message(std::string_view body) {
  Message message;
  const auto& name = Message::descriptor()->name();
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return with_field(fail(ErrorCode::kCorrupt, "the body is not a {} message", name), "body");
  }
  const Status supported = check_version(message.format_version(), name);
  return supported ? Result<Message>(std::move(message)) : propagate(supported);
}

}  // namespace plimsoll::wire
