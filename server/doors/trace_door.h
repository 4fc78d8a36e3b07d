// Request traces over HTTP: what OpenTelemetry's and Zipkin's clients send becomes spans in the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "store/door/spans.h"

namespace plimsoll::server {

struct TraceDoorOptions {
  // One trace of so many is kept, whole; its spans have that weight.
  uint32_t sample_one_in = 1;
  // Keys that are kept, with 1,000 values each in a request; further ones are "[other]".
  std::vector<std::string> attributes = {};
  // Of a request, before and after decompression.
  size_t max_body_bytes = size_t{16} << 20;
  uint64_t max_decoded_bytes = uint64_t{64} << 20;
  uint64_t max_json_bytes = uint64_t{16} << 20;  // of a document
  uint64_t max_spans = 200'000;
  // Of all requests that are being read, by an estimate from their decompressed bytes, which are not counted themselves: two
  // bodies are read at a time. One that finds no room waits for so long, and gets 503 then, which clients send again.
  uint64_t max_memory_bytes = uint64_t{512} << 20;
  std::chrono::milliseconds max_wait{2000};
  // Asked before each request is read, by any thread: its failure is the answer. None: there is always room.
  std::function<Status()> check_room = {};
};

// POST /v1/traces: OTLP over HTTP, Protobuf or JSON by its Content-Type, answered in kind; what is no span is counted in partial_success, and
// an error is a Status.
// POST /api/v2/spans: Zipkin's JSON, answered with 202. Either may be compressed (gzip, zstd). What is answered with success is on disk.
// Right::kUpload, but not for machines, which speak for themselves alone: spans name services, replicas and machines of others, too. Borrows the
// sink.
std::vector<http::Route> trace_routes(store::SpanSink& sink, const TraceDoorOptions& options);

}  // namespace plimsoll::server
