#include "server/relay/relay_codec.h"

#include <string>
#include <utility>

#include "proto/fleet_messages.h"
#include "proto/parse_cost.h"
#include "server/relay/relay_limits.h"

namespace plimsoll::server {
namespace {

// In memory, beside the texts that it has: a few messages, and a place for each text.
constexpr uint64_t kMaxParsedBytesOfEntry = 4096;

constexpr unsigned kMinStatus = 200;
constexpr unsigned kMaxStatus = 599;

}  // namespace

Result<wire::RelayRequest> decode_relay_request(Bytes body) {
  const auto cost = wire::parse_cost(body, *wire::RelayRequest::descriptor(),
                                     body.size() + kMaxRelayedEntries * kMaxParsedBytesOfEntry);
  if (!cost) {
    return propagate(cost, "reading a batch of an ingest server");
  }
  if (cost->has_unknown_fields) {
    return with_hint(fail(ErrorCode::kUnsupported, "the batch has fields that this server does not know"),
                     "upgrade the primary before its ingest servers");
  }
  auto request = wire::parse_message<wire::RelayRequest>(as_text(body));
  if (request && static_cast<size_t>(request->entries_size()) > kMaxRelayedEntries) {
    return fail(ErrorCode::kTooLarge, "the batch has {} requests, where at most {} are taken",
                request->entries_size(), kMaxRelayedEntries);
  }
  return request;
}

Result<wire::RelayReply> decode_relay_reply(std::string_view body, size_t entries) {
  auto reply = wire::parse_message<wire::RelayReply>(body);
  if (!reply) {
    return propagate(reply);
  }
  if (static_cast<size_t>(reply->replies_size()) != entries) {
    return fail(ErrorCode::kCorrupt, "{} replies came for {} requests", reply->replies_size(), entries);
  }
  for (const wire::RelayedReply& one : reply->replies()) {
    if (one.status() < kMinStatus || one.status() > kMaxStatus) {
      return fail(ErrorCode::kCorrupt, "a reply has the status {}", one.status());
    }
  }
  return reply;
}

wire::RelayedReply relayed(http::Response response) {
  wire::RelayedReply reply;
  reply.set_status(response.status);
  reply.set_retry_after_s(static_cast<uint32_t>(http::retry_after_s(response)));
  reply.set_body(std::move(response.body));
  return reply;
}

http::Response response_of(wire::RelayedReply reply) {
  http::Response response{.status = reply.status(), .body = std::move(*reply.mutable_body())};
  if (response.ok()) {
    response.content_type = wire::kProtobufType;
  }
  if (reply.retry_after_s() != 0) {
    response.headers.emplace_back("Retry-After", std::to_string(reply.retry_after_s()));
  }
  if (response.status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

}  // namespace plimsoll::server
