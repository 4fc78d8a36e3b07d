#include "bench/diagnosis/otlp_requests.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <tuple>

namespace plimsoll::bench {
namespace {

void put_varint(uint64_t value, std::string& out) {
  constexpr uint64_t kMoreFollow = 0x80;
  for (; value >= kMoreFollow; value >>= 7U) {
    out.push_back(static_cast<char>(value | kMoreFollow));
  }
  out.push_back(static_cast<char>(value));
}

// A text, bytes or message.
void put_part(uint32_t field, std::string_view content, std::string& out) {
  put_varint(uint64_t{field} << 3U | 2U, out);
  put_varint(content.size(), out);
  out.append(content);
}

void put_fixed64(uint32_t field, uint64_t value, std::string& out) {
  put_varint(uint64_t{field} << 3U | 1U, out);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string big_endian(uint64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> static_cast<unsigned>(shift)));
  }
  return bytes;
}

std::string attribute_of(std::string_view key, std::string_view value) {
  std::string text;
  put_part(1, value, text);
  std::string made;
  put_part(1, key, made);
  put_part(2, text, made);
  return made;
}

std::string message_of(const traces::Span& span, const traces::Names& names, int64_t shift_ns) {
  std::string made;
  put_part(1, big_endian(span.trace.high) + big_endian(span.trace.low), made);
  put_part(2, big_endian(span.id), made);
  if (span.parent != 0) {
    put_part(4, big_endian(span.parent), made);
  }
  const std::string_view operation = names.operations.name(span.operation);
  put_part(5, operation, made);
  put_varint(6U << 3U, made);
  put_varint(static_cast<uint64_t>(span.kind), made);
  put_fixed64(7, static_cast<uint64_t>(span.start_ns + shift_ns), made);
  put_fixed64(8, static_cast<uint64_t>(span.end_ns + shift_ns), made);
  put_part(9, attribute_of("http.route", operation), made);
  return made;
}

std::string resource_of(const traces::Span& span, const traces::Names& names) {
  std::string made;
  for (const auto& [key, value] :
       {std::pair<std::string_view, std::string_view>{"service.name", names.services.name(span.service)},
        {"service.instance.id", names.replicas.name(span.replica)},
        {"host.name", names.machines.name(span.machine)},
        {"host.type", "c7"},
        {"telemetry.sdk.language", "cpp"}}) {
    put_part(1, attribute_of(key, value), made);
  }
  return made;
}

std::string request_of(std::span<const traces::Span> spans, const traces::Names& names, int64_t shift_ns) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<const traces::Span*>> processes;
  for (const traces::Span& span : spans) {
    processes[{span.service, span.replica, span.machine}].push_back(&span);
  }
  std::string request;
  for (const auto& [process, of_process] : processes) {
    std::string scope;
    for (const traces::Span* const span : of_process) {
      put_part(2, message_of(*span, names, shift_ns), scope);
    }
    std::string resource_spans;
    put_part(1, resource_of(*of_process.front(), names), resource_spans);
    put_part(2, scope, resource_spans);
    put_part(1, resource_spans, request);
  }
  return request;
}

}  // namespace

std::vector<std::string> otlp_requests(const traces::SpanSet& spans, size_t spans_of_request,
                                       int64_t shift_ns) {
  const std::span<const traces::Span> all = spans.spans();
  std::vector<std::string> requests;
  for (size_t begin = 0; begin < all.size(); begin += spans_of_request) {
    const auto of_request = all.subspan(begin, std::min(spans_of_request, all.size() - begin));
    requests.push_back(request_of(of_request, spans.names(), shift_ns));
  }
  return requests;
}

}  // namespace plimsoll::bench
