// What a symbolizer worker asks of its server (server/doors/symbolizer_door.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "http/client.h"
#include "proto/symbolizer.pb.h"

namespace plimsoll::symbolizer {

struct LeaseClientSettings {
  std::string server = {};  // as http::ClientOptions::base_url
  http::Credentials credentials = {};
  std::string worker = {};              // this worker's name
  uint64_t max_file_bytes = 0;          // of a file that is fetched
  int cancel_fd = -1;                   // as http::ClientOptions has it
  int64_t message_timeout_ms = 10'000;  // of requests without files and tables
};

// One thread at a time. Errors are those of http::Client and of answers: kConflict where a lease is over and its work not needed, kDenied where
// the token is not permitted, kCorrupt for an answer without sense.
class LeaseClient {
 public:
  explicit LeaseClient(const LeaseClientSettings& settings);

  // Checked: build IDs and files are what they can be, and each lease has at least one file.
  Result<wire::LeaseReply> lease(uint32_t max_builds);
  // Those that are over.
  Result<std::vector<std::string>> renew(const std::vector<wire::LeaseName>& leases);
  // From `offset` on, into the sink.
  Status fetch(const wire::LeasedBinary& binary, bool is_debug, uint64_t offset, http::BodySink& sink);
  // Whether it was needed.
  Result<bool> bring(const wire::LeasedBinary& binary, Bytes table);
  Status fail_lease(const wire::LeasedBinary& binary, std::string_view reason, bool is_final);
  Status give_back(const wire::LeasedBinary& binary);

 private:
  Result<http::Response> post(std::string_view path, const google::protobuf::MessageLite& message);
  std::string path_of(std::string_view folder, const wire::LeasedBinary& binary, std::string_view rest) const;
  Status say_failed(const wire::FailedRequest& said);

  const std::string worker_;
  http::Client messages_;
  http::Client files_;
  http::Client tables_;  // answers are messages
};

}  // namespace plimsoll::symbolizer
