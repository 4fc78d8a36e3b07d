#include "server/doors/trace_door.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "formats/decompress.h"
#include "formats/traces/read_spans.h"
#include "traces/model/sampling.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kProtobufType = "application/x-protobuf";

// What a byte of a request takes while it is read: a JSON document as a tree; spans and names of a message.
constexpr uint64_t kCostOfJson = 12;
constexpr uint64_t kCostOfProtobuf = 6;
// Of these there are as many as threads that handle requests.
constexpr uint64_t kUncountedBytes = uint64_t{1} << 20;

// Without parameters ("; charset=utf-8").
std::string_view type_of(const http::Request& request) {
  std::string_view type = request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  const size_t end = type.find_last_not_of(' ');
  return type.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

Status expect_encoding(const http::Request& request) {
  const std::string_view encoding = request.header("Content-Encoding");
  for (const std::string_view known : {"", "identity", "gzip", "zstd"}) {
    if (encoding == known) {
      return {};
    }
  }
  return with_hint(fail(ErrorCode::kUnsupported, "the body is encoded as \"{}\"", encoding),
                   "send it plain, or with gzip or zstd");
}

void put_varint(uint64_t value, std::string& out) {
  constexpr uint64_t kLowBits = 0x7f;
  for (; value > kLowBits; value >>= 7U) {
    out.push_back(static_cast<char>((value & kLowBits) | (kLowBits + 1)));
  }
  out.push_back(static_cast<char>(value));
}

// ExportTraceServiceResponse: partial_success 1 {rejected_spans 1, error_message 2}; empty where all was taken.
std::string protobuf_answer(const formats::SpansRead& read) {
  std::string answer;
  if (read.rejected != 0) {
    std::string partial(1, '\x08');
    put_varint(read.rejected, partial);
    partial += '\x12';
    put_varint(read.first_rejection.size(), partial);
    partial += read.first_rejection;
    answer += '\x0a';
    put_varint(partial.size(), answer);
    answer += partial;
  }
  return answer;
}

std::string json_answer(const formats::SpansRead& read) {
  nlohmann::json answer = nlohmann::json::object();
  if (read.rejected != 0) {
    // 64-bit numbers are texts in Protobuf's JSON.
    answer["partialSuccess"] = {{"rejectedSpans", std::to_string(read.rejected)},
                                {"errorMessage", read.first_rejection}};
  }
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class TraceDoor {
 public:
  TraceDoor(store::SpanSink& sink, const TraceDoorOptions& options)
      : sink_(sink), options_(options), memory_(options.max_memory_bytes, kUncountedBytes) {}

  http::Response take_otlp(const http::Request& request) {
    const std::string_view type = type_of(request);
    if (type != kJsonType && type != kProtobufType) {
      return http::error_response(with_hint(fail(ErrorCode::kUnsupported, "the content type is \"{}\"", type),
                                            "send application/x-protobuf or application/json")
                                      .error());
    }
    const bool is_json = type == kJsonType;
    const auto read = take(request, is_json ? formats::TraceFormat::kOtlpJson : formats::TraceFormat::kOtlp);
    if (!read) {
      return http::error_response(read.error());
    }
    return {.content_type = std::string(type), .body = is_json ? json_answer(*read) : protobuf_answer(*read)};
  }

  // Zipkin's clients look at the status alone.
  http::Response take_zipkin(const http::Request& request) {
    const auto read = take(request, formats::TraceFormat::kZipkin);
    return read ? http::Response{.status = 202} : http::error_response(read.error());
  }

 private:
  Result<formats::SpansRead> take(const http::Request& request, formats::TraceFormat expected) {
    if (const Status encoding = expect_encoding(request); !encoding) {
      return propagate(encoding);
    }
    const Bytes body = as_bytes(request.body);
    MemoryShare memory(memory_);
    if (const Status room = memory.try_take(cost_of(body, expected)); !room) {
      return propagate(room);
    }
    traces::SpanSet spans({.max_spans = options_.max_spans});
    auto read = formats::read_spans(
        body, spans,
        {.max_decoded_bytes = options_.max_decoded_bytes, .max_json_bytes = options_.max_decoded_bytes});
    if (!read) {
      return propagate(read);
    }
    if (read->format != expected) {
      return fail(ErrorCode::kInvalid, "the body is {} where {} is expected", formats::name_of(read->format),
                  formats::name_of(expected));
    }
    const Status kept = keep(spans);
    return kept ? std::move(read) : propagate(kept);
  }

  uint64_t cost_of(Bytes body, formats::TraceFormat expected) const {
    const auto start = body.first(std::min(body.size(), formats::kCompressionMagicBytes));
    const bool is_plain = formats::compression_of(start) == formats::Compression::kNone;
    const uint64_t plain_bytes =
        is_plain ? body.size() : formats::max_decompressed_bytes(body.size(), options_.max_decoded_bytes);
    return plain_bytes * (expected == formats::TraceFormat::kOtlp ? kCostOfProtobuf : kCostOfJson);
  }

  Status keep(const traces::SpanSet& spans) {
    auto kept = Result<store::SpansKept>(store::SpansKept());
    if (options_.sample_one_in > 1) {
      const auto some = traces::sampled(spans, options_.sample_one_in);
      kept = some ? sink_.add(*some, options_.sample_one_in) : propagate(some);
    } else {
      kept = sink_.add(spans, 1);
    }
    if (kept) {
      return {};
    }
    // It is not the sender's fault, who is to send them again.
    log_error("{}", kept.error().text());
    return fail(ErrorCode::kUnavailable, "the spans could not be stored");
  }

  store::SpanSink& sink_;
  const TraceDoorOptions options_;
  MemoryBudget memory_;
};

}  // namespace

std::vector<http::Route> trace_routes(store::SpanSink& sink, const TraceDoorOptions& options) {
  const auto door = std::make_shared<TraceDoor>(sink, options);
  const auto route = [&](const char* path, auto handle) {
    return http::Route{.method = "POST",
                       .path = path,
                       .max_body_bytes = options.max_body_bytes,
                       .handle = handle,
                       .threads = http::Threads::kLong,
                       .right = http::Right::kUpload};
  };
  return {
      route("/v1/traces", [door](const http::Request& request) { return door->take_otlp(request); }),
      route("/api/v2/spans", [door](const http::Request& request) { return door->take_zipkin(request); })};
}

}  // namespace plimsoll::server
