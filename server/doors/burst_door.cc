#include "server/doors/burst_door.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/hex.h"
#include "base/log.h"
#include "proto/fleet.pb.h"
#include "proto/fleet_messages.h"
#include "proto/profile_codec.h"
#include "store/store.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kRecordingsPath = "/api/v1/bursts/recordings/";

Result<std::string> recording_id_of(const http::Request& request, std::string_view prefix) {
  const auto id = from_hex(std::string_view(request.path).substr(prefix.size()));
  return id && id->size() == store::kBurstIdBytes
             ? Result<std::string>(*id)
             : fail(ErrorCode::kInvalid, "the path does not end in an ID of {} hexadecimal digits",
                    2 * store::kBurstIdBytes);
}

class BurstDoor {
 public:
  BurstDoor(store::BurstSink& sink, const BurstDoorOptions& options) : sink_(sink), options_(options) {}

  http::Response take(const http::Request& request, std::string_view prefix) {
    const auto id = recording_id_of(request, prefix);
    const auto is_new = id ? keep(request, *id) : Result<bool>(propagate(id));
    if (!is_new) {
      return http::error_response(is_new.error());
    }
    wire::UploadReply reply;
    reply.set_format_version(wire::kFormatVersion);
    reply.set_already_known(!*is_new);
    return {.content_type = "application/x-protobuf", .body = reply.SerializeAsString()};
  }

 private:
  Result<bool> keep(const http::Request& request, std::string_view id) {
    if (const Status room = options_.check_room ? options_.check_room() : Status(); !room) {
      return propagate(room);
    }
    const auto summary = summary_in(request);
    if (!summary) {
      return propagate(summary);
    }
    auto added = sink_.add(id, *summary, as_bytes(request.body));
    if (added || added.error().code == ErrorCode::kConflict) {
      return added;
    }
    // It is not the sender's fault, who is to send it again.
    log_error("{}", added.error().text());
    return fail(ErrorCode::kUnavailable, "the recording of bursts could not be stored");
  }

  // Of a recording that is sound as a whole, and that the caller may send.
  Result<store::StoredBursts> summary_in(const http::Request& request) {
    const std::unique_lock lock(decoding_, options_.max_wait);
    if (!lock.owns_lock()) {
      return fail(ErrorCode::kUnavailable, "other recordings of bursts are being read");
    }
    const auto recording = traces::decode_bursts(as_bytes(request.body), options_.limits);
    if (!recording) {
      return recording.error().code == ErrorCode::kTooLarge
                 ? with_hint(propagate(recording), "record fewer bursts at once")
                 : propagate(recording);
    }
    if (const Status speaks = http::may_speak_for(request.caller, recording->machine); !speaks) {
      return propagate(speaks);
    }
    if (const Status drawn =
            !recording->draw.empty() && options_.check_draw ? options_.check_draw(*recording) : Status();
        !drawn) {
      return propagate(drawn);
    }
    return store::summary_of(*recording);
  }

  store::BurstSink& sink_;
  const BurstDoorOptions options_;
  std::timed_mutex decoding_;
};

http::Route upload_route_of_bursts(const std::shared_ptr<BurstDoor>& door, std::string_view prefix,
                                   const BurstDoorOptions& options) {
  return {.method = "PUT",
          .path = std::string(prefix),
          .is_prefix = true,
          .max_body_bytes = options.limits.max_encoded_bytes,
          .handle = [door, prefix](const http::Request& request) { return door->take(request, prefix); },
          // Not among the uploads of profiles, which would wait behind large recordings.
          .threads = http::Threads::kBackground,
          .right = http::Right::kUpload};
}

http::Response recording_of(const http::Request& request, store::BurstSource& source) {
  const auto id = recording_id_of(request, kRecordingsPath);
  auto bytes = id ? source.read(*id) : propagate(id);
  return bytes ? http::Response{.content_type = "application/octet-stream", .body = std::move(*bytes)}
               : http::error_response(bytes.error());
}

}  // namespace

std::vector<http::Route> fleet_burst_routes(store::BurstSink& sink, const BurstDoorOptions& options) {
  return {upload_route_of_bursts(std::make_shared<BurstDoor>(sink, options), wire::kBurstsPath, options)};
}

std::vector<http::Route> burst_routes(store::BurstSink& sink, const std::string& data_dir,
                                      const BurstDoorOptions& options) {
  http::Route download;
  download.method = "GET";
  download.path = kRecordingsPath;
  download.is_prefix = true;
  download.threads = http::Threads::kLong;
  download.is_question = true;
  download.right = http::Right::kRead;
  download.handle = [source = std::shared_ptr(store::open_burst_source(data_dir))](
                        const http::Request& request) { return recording_of(request, *source); };
  return {upload_route_of_bursts(std::make_shared<BurstDoor>(sink, options), kRecordingsPath, options),
          std::move(download)};
}

}  // namespace plimsoll::server
