// Recordings of bursts over HTTP: daemons and users send them, readers get them back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "store/door/bursts.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::server {

struct BurstDoorOptions {
  // Of a recording. Each listener decodes one at a time, which takes the decoded bytes and 40 bytes per event.
  traces::BurstFileLimits limits = {.max_encoded_bytes = uint64_t{64} << 20,
                                    .max_decoded_bytes = uint64_t{256} << 20,
                                    .max_events = 10'000'000};
  // For so long a recording waits until another one is decoded; then it gets 503, which senders send again.
  std::chrono::milliseconds max_wait{2000};
  // Asked before each recording is read, by any thread: its failure is the answer. None: there is always room.
  std::function<Status()> check_room = {};
  // Asked of each recording that names a draw, by any thread: its failure is the answer. None: what it says is taken.
  std::function<Status(const traces::BurstRecording& recording)> check_draw = {};
};

// PUT /fleet/v1/bursts/ID: the body is a recording; ID has 32 hexadecimal digits and is the sender's choice. Answers with an UploadReply once the
// recording is on disk, and again for the same one. A machine may send its own recordings alone. Right::kUpload. Borrows the sink.
std::vector<http::Route> fleet_burst_routes(store::BurstSink& sink, const BurstDoorOptions& options);

// PUT /api/v1/bursts/recordings/ID: as above, for users; Right::kUpload.
// GET /api/v1/bursts/recordings/ID: the bytes; Right::kRead. Borrows the sink.
std::vector<http::Route> burst_routes(store::BurstSink& sink, const std::string& data_dir,
                                      const BurstDoorOptions& options);

}  // namespace plimsoll::server
