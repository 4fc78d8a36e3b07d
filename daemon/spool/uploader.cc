#include "daemon/spool/uploader.h"

#include <optional>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"

namespace plimsoll::spool {
namespace {

// What the server says of the profile itself stays true; anything else may be otherwise later.
bool is_final(unsigned status) {
  return status == 400 || status == 409 || status == 413 || status == 415;
}

// A page that something on the way puts in place of the server's answer must not cost what was sent.
Status check_acknowledgement(const http::Response& response) {
  wire::UploadReply reply;
  if (!reply.ParseFromString(response.body)) {
    return fail(ErrorCode::kUnavailable, "the reply with status {} is not an UploadReply", response.status);
  }
  return wire::check_version(reply.format_version(), "the server's reply");
}

}  // namespace

Uploader::Uploader(Spool& spool, std::function<void()> kernel_symbols_delivered)
    : spool_(spool), kernel_symbols_delivered_(std::move(kernel_symbols_delivered)), retry_(random_seed()) {}

Status Uploader::send_oldest(http::Client& client) {
  asked_pause_ns_ = 0;
  Status done = send_and_settle(client);
  const int64_t now_ns = monotonic_now_ns();
  if (done) {
    retry_.succeeded();
  } else {
    retry_.failed(now_ns);
  }
  retry_.asked_to_wait(now_ns, asked_pause_ns_);
  return done;
}

Status Uploader::send_and_settle(http::Client& client) {
  const auto oldest = spool_.oldest();
  if (!oldest) {
    return propagate(oldest, "reading the spool");
  }
  const std::optional<OutgoingProfile>& found = *oldest;
  if (!found) {
    return {};
  }
  const OutgoingProfile& profile = *found;
  const auto fate = send(client, profile);
  if (!fate) {
    return propagate(fate);
  }
  if (auto settled = spool_.settle(profile.sequence, *fate); !settled) {
    return propagate(settled, "removing a {} from the spool", spool_.kind().noun);
  }
  // Those of a former run may be of another kernel.
  const bool is_of_this_run = profile.sequence >= spool_.first_of_this_run();
  if (profile.has_kernel_symbols && is_of_this_run && *fate == Fate::kDelivered) {
    kernel_symbols_delivered_();
  }
  return {};
}

Result<Fate> Uploader::send(http::Client& client, const OutgoingProfile& profile) {
  const SpoolKind& kind = spool_.kind();
  const std::string what = fmt::format("uploading a {}", kind.noun);
  const auto response = client.send("PUT", fmt::format("{}{}", kind.upload_path, to_hex(profile.id)),
                                    profile.encoded, kind.content_type);
  if (!response) {
    return propagate(response, "{}", what);
  }
  asked_pause_ns_ = http::retry_after_s(*response) * kNsPerSecond;
  if (response->ok()) {
    const Status acknowledged = check_acknowledgement(*response);
    return acknowledged ? Result<Fate>(Fate::kDelivered) : propagate(acknowledged, "{}", what);
  }
  const Error error = http::error_of(*response, what);
  if (!is_final(response->status)) {
    return std::unexpected(error);
  }
  log_error("{} {}: {}", kind.noun, to_hex(profile.id), error.text());
  return Fate::kRefused;
}

}  // namespace plimsoll::spool
