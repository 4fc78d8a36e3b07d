// Spans of requests as OTLP/HTTP JSON, for programs without OpenTelemetry's SDK: what `POST /v1/traces` takes, and what `plimsoll import` reads
// with one document a line (docs/appprof.md, "Profiles of a request"). C++17 and its standard library alone: copy it.
//
//   Tracer tracer(std::mt19937_64(std::random_device{}()), [](Span span) { ... to_otlp_json(resource, {std::move(span)}) ... });
//   const Tracer::Scope scope(tracer, "GET /list", SpanKind::kServer, parse_traceparent(header));  // a span until the end of the block
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::examples {

// Which request a piece of work belongs to, and which span it is part of.
struct SpanContext {
  std::string trace_id = {};  // 32 hexadecimal digits; empty: of no request
  std::string span_id = {};   // 16
  bool is_sampled = false;    // spans of the request are kept
};

// Numbers as in OTLP.
enum class SpanKind { kInternal = 1, kServer = 2, kClient = 3 };

struct Span {
  SpanContext context = {};
  std::string parent_id = {};  // empty: the request's first
  std::string name = {};
  SpanKind kind = SpanKind::kInternal;
  int64_t start_ns = 0;  // wall clock
  int64_t end_ns = 0;
};

// Who makes the spans.
struct Resource {
  std::string service = {};
  std::string instance = {};  // one running copy of the service
  std::string host = {};
};

inline bool is_id(std::string_view text) {
  const bool is_hex = text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_hex && text.find_first_not_of('0') != std::string_view::npos;
}

// W3C's "00-TRACE-SPAN-FLAGS"; of no request where it is something else.
inline SpanContext parse_traceparent(std::string_view text) {
  constexpr size_t kTraceAt = 3;
  constexpr size_t kSpanAt = 36;
  constexpr size_t kFlagsAt = 53;
  constexpr size_t kBytes = 55;
  if (text.size() < kBytes || text[kTraceAt - 1] != '-' || text[kSpanAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-') {
    return {};
  }
  const std::string_view trace = text.substr(kTraceAt, kSpanAt - kTraceAt - 1);
  const std::string_view span = text.substr(kSpanAt, kFlagsAt - kSpanAt - 1);
  if (!is_id(trace) || !is_id(span)) {
    return {};
  }
  // Bit 0 of the flags, whose last digit is in either half of the hexadecimal ones.
  const bool is_sampled = std::string_view("13579bdf").find(text[kBytes - 1]) != std::string_view::npos;
  return {std::string(trace), std::string(span), is_sampled};
}

inline std::string to_traceparent(const SpanContext& context) {
  return "00-" + context.trace_id + "-" + context.span_id + (context.is_sampled ? "-01" : "-00");
}

// Makes spans, and IDs for them. Any thread.
class Tracer {
 public:
  // `take` is called by the threads whose spans end. A process needs a random number of its own.
  Tracer(std::mt19937_64 random, std::function<void(Span)> take)
      : random_(std::move(random)), take_(std::move(take)) {}

  // A span from its begin to its end, in one thread.
  class Scope {
   public:
    // A part of what `caller` is part of; of a new request, which is sampled, where that is of none.
    Scope(Tracer& tracer, std::string name, SpanKind kind, const SpanContext& caller) : tracer_(tracer) {
      const bool is_new = caller.trace_id.empty();
      span_.context = {is_new ? tracer.new_id(kTraceDigits) : caller.trace_id, tracer.new_id(kSpanDigits),
                       is_new || caller.is_sampled};
      span_.parent_id = caller.span_id;
      span_.name = std::move(name);
      span_.kind = kind;
      span_.start_ns = now_ns();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      span_.end_ns = now_ns();
      if (span_.context.is_sampled) {
        tracer_.take_(std::move(span_));
      }
    }

    // For calls from within it. Borrowed for as long as the scope lives.
    const SpanContext& context() const { return span_.context; }

   private:
    Tracer& tracer_;
    Span span_;
  };

 private:
  static constexpr size_t kTraceDigits = 32;
  static constexpr size_t kSpanDigits = 16;

  static int64_t now_ns() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }

  std::string new_id(size_t digits) {
    std::string id;
    const std::lock_guard<std::mutex> lock(mutex_);
    while (id.size() < digits) {
      const uint64_t number = random_();
      for (unsigned shift = 0; shift < 64; shift += 4) {
        id += "0123456789abcdef"[number >> shift & 0xfU];
      }
    }
    return id;
  }

  std::mutex mutex_;
  std::mt19937_64 random_;  // protected by mutex_
  std::function<void(Span)> take_;
};

inline void append_json_text(std::string_view text, std::string& json) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
    }
    // Control characters have no place in names.
    json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  json += '"';
}

inline void append_json_span(const Span& span, std::string& json) {
  json += R"({"traceId":")" + span.context.trace_id + R"(","spanId":")" + span.context.span_id + '"';
  if (!span.parent_id.empty()) {
    json += R"(,"parentSpanId":")" + span.parent_id + '"';
  }
  json += R"(,"name":)";
  append_json_text(span.name, json);
  // 64-bit numbers are texts in Protobuf's JSON.
  json += R"(,"kind":)" + std::to_string(static_cast<int>(span.kind)) + R"(,"startTimeUnixNano":")" +
          std::to_string(span.start_ns) + R"(","endTimeUnixNano":")" + std::to_string(span.end_ns) + R"("})";
}

// An ExportTraceServiceRequest without a line break.
inline std::string to_otlp_json(const Resource& resource, const std::vector<Span>& spans) {
  std::string json = R"({"resourceSpans":[{"resource":{"attributes":[)";
  bool is_first = true;
  for (const auto& [key, value] :
       {std::pair<const char*, const std::string&>("service.name", resource.service),
        {"service.instance.id", resource.instance},
        {"host.name", resource.host}}) {
    json += std::exchange(is_first, false) ? R"({"key":")" : R"(,{"key":")";
    json += key;
    json += R"(","value":{"stringValue":)";
    append_json_text(value, json);
    json += "}}";
  }
  json += R"(]},"scopeSpans":[{"spans":[)";
  is_first = true;
  for (const Span& span : spans) {
    json += std::exchange(is_first, false) ? "" : ",";
    append_json_span(span, json);
  }
  return json + "]}]}]}";
}

}  // namespace plimsoll::examples
