#include "symbolizer/remote/lease_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hex.h"
#include "base/printable.h"
#include "symbolizer/repository/binary_facts.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kMessageType = "application/x-protobuf";
constexpr size_t kMaxMessageBytes = size_t{1} << 20;
constexpr int64_t kFileTimeoutMs = 600'000;
constexpr size_t kContentHashBytes = 16;
constexpr size_t kMaxLeaseBytes = 100;
constexpr size_t kMaxReasonSentBytes = 1000;

http::ClientOptions options_of(const LeaseClientSettings& settings, int64_t timeout_ms, size_t max_bytes) {
  return {.base_url = settings.server,
          .timeout_ms = timeout_ms,
          .max_response_bytes = max_bytes,
          .cancel_fd = settings.cancel_fd,
          .credentials = settings.credentials};
}

bool makes_sense(const wire::LeasedBinary& binary) {
  const size_t id_bytes = binary.build_id().size();
  const bool has_names = !binary.lease().empty() && binary.lease().size() <= kMaxLeaseBytes &&
                         id_bytes >= kMinBuildIdBytes && id_bytes <= kMaxBuildIdBytes;
  const bool has_files =
      binary.files_size() == 1 ||
      (binary.files_size() == 2 && binary.files(0).is_debug() != binary.files(1).is_debug());
  return has_names && has_files && std::ranges::all_of(binary.files(), [](const auto& file) {
           return file.content_hash().size() == kContentHashBytes;
         });
}

Result<http::Response> expect_ok(Result<http::Response> response, std::string_view what) {
  if (!response) {
    return propagate(response, "{}", what);
  }
  return response->ok() ? std::move(response)
                        : Result<http::Response>(std::unexpected(http::error_of(*response, what)));
}

template <typename Message>
Result<Message> message_of(const Result<http::Response>& response) {
  if (!response) {
    return propagate(response);
  }
  Message message;
  return message.ParseFromString(response->body)
             ? Result<Message>(std::move(message))
             : fail(ErrorCode::kCorrupt,
                    "the server answered with what is no message; is it a Plimsoll server?");
}

}  // namespace

LeaseClient::LeaseClient(const LeaseClientSettings& settings)
    : worker_(settings.worker),
      messages_(options_of(settings, settings.message_timeout_ms, kMaxMessageBytes)),
      files_(options_of(settings, kFileTimeoutMs, settings.max_file_bytes)),
      tables_(options_of(settings, kFileTimeoutMs, kMaxMessageBytes)) {}

Result<http::Response> LeaseClient::post(std::string_view path,
                                         const google::protobuf::MessageLite& message) {
  return messages_.send("POST", path, message.SerializeAsString(), kMessageType);
}

std::string LeaseClient::path_of(std::string_view folder, const wire::LeasedBinary& binary,
                                 std::string_view rest) const {
  return fmt::format("/api/v1/symbolizer/{}/{}{}?worker={}&lease={}", folder, to_hex(binary.build_id()), rest,
                     http::url_encode(worker_), http::url_encode(binary.lease()));
}

Result<wire::LeaseReply> LeaseClient::lease(uint32_t max_builds) {
  wire::LeaseRequest request;
  request.set_worker(worker_);
  request.set_max_builds(max_builds);
  auto reply =
      message_of<wire::LeaseReply>(expect_ok(post("/api/v1/symbolizer/lease", request), "asking for builds"));
  if (reply && !std::ranges::all_of(reply->binaries(), makes_sense)) {
    return fail(ErrorCode::kCorrupt, "asking for builds to read: the server's leases are malformed");
  }
  return reply;
}

Result<std::vector<std::string>> LeaseClient::renew(const std::vector<wire::LeaseName>& leases) {
  wire::RenewRequest request;
  request.set_worker(worker_);
  request.mutable_leases()->Assign(leases.begin(), leases.end());
  const auto reply =
      message_of<wire::RenewReply>(expect_ok(post("/api/v1/symbolizer/renew", request), "renewing leases"));
  return reply ? Result<std::vector<std::string>>({reply->ended().begin(), reply->ended().end()})
               : propagate(reply);
}

Status LeaseClient::fetch(const wire::LeasedBinary& binary, bool is_debug, uint64_t offset,
                          http::BodySink& sink) {
  const std::string path =
      fmt::format("{}&offset={}", path_of("files", binary, is_debug ? "/debuginfo" : "/executable"), offset);
  const auto response = expect_ok(files_.receive(path, sink), "fetching a file");
  return response ? Status() : propagate(response);
}

Result<bool> LeaseClient::bring(const wire::LeasedBinary& binary, Bytes table) {
  const auto outcome = message_of<wire::LeaseOutcome>(expect_ok(
      tables_.send("PUT", path_of("tables", binary, ""), as_text(table), "application/octet-stream"),
      "sending a symbol table"));
  return outcome ? Result<bool>(outcome->was_needed()) : propagate(outcome);
}

Status LeaseClient::say_failed(const wire::FailedRequest& said) {
  const auto response = expect_ok(post("/api/v1/symbolizer/failed", said), "ending a lease");
  return response ? Status() : propagate(response);
}

Status LeaseClient::fail_lease(const wire::LeasedBinary& binary, std::string_view reason, bool is_final) {
  wire::FailedRequest said;
  said.set_worker(worker_);
  said.mutable_lease()->set_lease(binary.lease());
  said.mutable_lease()->set_build_id(binary.build_id());
  said.set_reason(printable(reason.substr(0, kMaxReasonSentBytes)));
  said.set_is_final(is_final);
  return say_failed(said);
}

Status LeaseClient::give_back(const wire::LeasedBinary& binary) {
  wire::FailedRequest said;
  said.set_worker(worker_);
  said.mutable_lease()->set_lease(binary.lease());
  said.mutable_lease()->set_build_id(binary.build_id());
  said.set_gives_back(true);
  return say_failed(said);
}

}  // namespace plimsoll::symbolizer
