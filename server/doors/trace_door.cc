#include "server/doors/trace_door.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "base/printable.h"
#include "formats/decompress.h"
#include "formats/traces/read_spans.h"
#include "http/ignoring_case.h"
#include "traces/model/sampling.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kProtobufType = "application/x-protobuf";

// What a byte of a request takes while it is read: a JSON document as a tree, at the worst ({"":{"":...); spans and names of a message.
constexpr uint64_t kCostOfJson = 40;
constexpr uint64_t kCostOfProtobuf = 6;
// Of a request that is being stored; there are as many as threads that handle requests.
constexpr uint64_t kUncountedBytes = uint64_t{1} << 20;
// More threads wait for the store, which takes what they have with one fsync.
constexpr unsigned kReadingThreads = 2;

// Without parameters ("; charset=utf-8").
std::string_view type_of(const http::Request& request) {
  std::string_view type = request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  const size_t end = type.find_last_not_of(' ');
  return type.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

constexpr const char* kKnownEncodings = "send it plain, or with gzip or zstd";

Status expect_encoding(const http::Request& request) {
  const std::string_view encoding = request.header("Content-Encoding");
  for (const std::string_view known : {"", "identity", "gzip", "zstd"}) {
    if (http::is_same_ignoring_case(encoding, known)) {
      return {};
    }
  }
  return with_hint(fail(ErrorCode::kUnsupported, "the body is encoded as \"{}\"", encoding), kKnownEncodings);
}

formats::Compression compression_of_body(Bytes body) {
  return formats::compression_of(body.first(std::min(body.size(), formats::kCompressionMagicBytes)));
}

// Empty where it is plain. By its first bytes, whatever its header says.
Result<std::string> decompressed(Bytes body, uint64_t max_bytes) {
  const formats::Compression compression = compression_of_body(body);
  if (compression == formats::Compression::kNone) {
    return std::string();
  }
  if (compression != formats::Compression::kGzip && compression != formats::Compression::kZstd) {
    return with_hint(fail(ErrorCode::kUnsupported, "the body is compressed with {}",
                          formats::compression_name(compression)),
                     kKnownEncodings);
  }
  auto plain = formats::decompress(body, max_bytes);
  if (plain && compression_of_body(as_bytes(*plain)) != formats::Compression::kNone) {
    return fail(ErrorCode::kInvalid, "the body is compressed twice");
  }
  return plain;
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

// As OTLP over HTTP has errors: a google.rpc.Status {message 2} in kind. In JSON it stands beside what our own clients read.
http::Response otlp_error(const Error& error, bool is_json) {
  http::Response response = http::error_response(error);
  const std::string message = printable(error.text());
  if (is_json) {
    nlohmann::json document = nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
    if (document.is_object()) {
      document["message"] = message;
      response.body = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    }
    return response;
  }
  response.content_type = kProtobufType;
  response.body = '\x12';
  put_varint(message.size(), response.body);
  response.body += message;
  return response;
}

// Threads that may read a body at once; the others wait for them, and for the disk. Use it with std::lock_guard.
class ReadingSlots {
 public:
  explicit ReadingSlots(unsigned slots) : free_(slots) {}

  void lock() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [this] { return free_ > 0; });
    --free_;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    ++free_;
    given_back_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  unsigned free_;  // protected by mutex_
};

class TraceDoor {
 public:
  TraceDoor(store::SpanSink& sink, const TraceDoorOptions& options)
      : sink_(sink), options_(options), memory_(options.max_memory_bytes, kUncountedBytes) {}

  http::Response take_otlp(const http::Request& request) {
    const std::string_view type = type_of(request);
    const bool is_json = http::is_same_ignoring_case(type, kJsonType);
    if (!is_json && !http::is_same_ignoring_case(type, kProtobufType)) {
      return http::error_response(with_hint(fail(ErrorCode::kUnsupported, "the content type is \"{}\"", type),
                                            "send application/x-protobuf or application/json")
                                      .error());
    }
    const auto read = take(request, is_json ? formats::TraceFormat::kOtlpJson : formats::TraceFormat::kOtlp);
    if (!read) {
      return otlp_error(read.error(), is_json);
    }
    return {.content_type = std::string(is_json ? kJsonType : kProtobufType),
            .body = is_json ? json_answer(*read) : protobuf_answer(*read)};
  }

  // Zipkin's clients look at the status alone.
  http::Response take_zipkin(const http::Request& request) {
    const auto read = take(request, formats::TraceFormat::kZipkin);
    return read ? http::Response{.status = 202} : http::error_response(read.error());
  }

 private:
  Result<formats::SpansRead> take(const http::Request& request, formats::TraceFormat expected) {
    if (const Status permitted = expect_permitted(request); !permitted) {
      return propagate(permitted);
    }
    traces::SpanLimits limits{.max_spans = options_.max_spans,
                              .keeps_attributes = !options_.attributes.empty()};
    limits.attributes.only = options_.attributes;
    limits.attributes.names_others = true;
    MemoryShare memory(memory_);  // given back once the spans are gone
    traces::SpanSet spans(limits);
    auto read = read_body(request, expected, spans, memory);
    const Status kept = read ? keep(spans) : propagate(read);
    return kept ? std::move(read) : propagate(kept);
  }

  // What it takes stays in `memory`; the decompressed bytes are gone when it returns.
  Result<formats::SpansRead> read_body(const http::Request& request, formats::TraceFormat expected,
                                       traces::SpanSet& spans, MemoryShare& memory) {
    const std::lock_guard reading(slots_);
    const auto plain = decompressed(as_bytes(request.body), options_.max_decoded_bytes);
    if (!plain) {
      return propagate(plain);
    }
    const Bytes body = as_bytes(plain->empty() ? request.body : *plain);
    if (const Status room = take_room(memory, body.size(), expected); !room) {
      return propagate(room);
    }
    // The content decides what is read: JSON of another type must not take more than was counted for that.
    const uint64_t max_json_bytes =
        expected == formats::TraceFormat::kOtlp ? kUncountedBytes / kCostOfJson : options_.max_json_bytes;
    auto read = formats::read_spans(
        body, spans, {.max_decoded_bytes = options_.max_decoded_bytes, .max_json_bytes = max_json_bytes});
    if (!read) {
      auto failure = propagate(read);
      // Its type is known: what cannot be read as that is wrong (400), and not of a type that is not known (415).
      if (failure.error().code == ErrorCode::kUnsupported) {
        failure.error().code = ErrorCode::kInvalid;
      }
      return failure;
    }
    if (read->format != expected) {
      return fail(ErrorCode::kInvalid, "the body is {} where {} is expected", formats::name_of(read->format),
                  formats::name_of(expected));
    }
    return read;
  }

  Status expect_permitted(const http::Request& request) const {
    if (request.caller.role == http::Role::kMachine) {
      return with_hint(fail(ErrorCode::kDenied, "machines may not send request traces"),
                       "use a token of the role upload");
    }
    const Status encoding = expect_encoding(request);
    return encoding && options_.check_room ? options_.check_room() : encoding;
  }

  // Waits: what others hold is given back within a second or two, and senders may not send again.
  Status take_room(MemoryShare& memory, uint64_t body_bytes, formats::TraceFormat expected) const {
    const auto until = std::chrono::steady_clock::now() + options_.max_wait;
    const uint64_t cost = expected == formats::TraceFormat::kOtlp ? kCostOfProtobuf : kCostOfJson;
    return memory.take(body_bytes * cost, [until]() -> Status {
      return std::chrono::steady_clock::now() < until
                 ? Status()
                 : fail(ErrorCode::kUnavailable, "other requests with traces take the memory for it");
    });
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
  ReadingSlots slots_{kReadingThreads};
};

}  // namespace

std::vector<http::Route> trace_routes(store::SpanSink& sink, const TraceDoorOptions& options) {
  const auto door = std::make_shared<TraceDoor>(sink, options);
  const auto route = [&](const char* path, const auto& handle) {
    return http::Route{.method = "POST",
                       .path = path,
                       .max_body_bytes = options.max_body_bytes,
                       .handle = handle,
                       // Not among the uploads of profiles, which would wait behind large batches.
                       .threads = http::Threads::kStorage,
                       .right = http::Right::kUpload};
  };
  return {
      route("/v1/traces", [door](const http::Request& request) { return door->take_otlp(request); }),
      route("/api/v2/spans", [door](const http::Request& request) { return door->take_zipkin(request); })};
}

}  // namespace plimsoll::server
