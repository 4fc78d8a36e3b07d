#include "formats/traces/read_spans.h"

#include <algorithm>

#include "formats/decompress.h"
#include "formats/traces/call_log_spans.h"
#include "formats/traces/jaeger_spans.h"
#include "formats/traces/json_fields.h"
#include "formats/traces/otlp_json_spans.h"
#include "formats/traces/otlp_spans.h"
#include "formats/traces/table_spans.h"
#include "formats/traces/wire_fields.h"
#include "formats/traces/zipkin_spans.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

Result<TraceFormat> read_document(const Json& document, SpanSink& sink) {
  // Protobuf's JSON leaves out lists that are empty.
  if (document.is_object() && document.empty()) {
    return TraceFormat::kOtlpJson;
  }
  const bool is_otlp = is_otlp_json(document);
  if (document.is_array() || is_otlp) {
    const Status read = is_otlp ? read_otlp_json(document, sink) : read_zipkin(document, sink);
    return read ? Result<TraceFormat>(is_otlp ? TraceFormat::kOtlpJson : TraceFormat::kZipkin)
                : propagate(read);
  }
  if (member(document, "data").is_null()) {
    return with_hint(fail(ErrorCode::kUnsupported, "the JSON document has no spans"),
                     "known are OTLP (resourceSpans), Jaeger (data) and Zipkin v2 (a list of spans)");
  }
  const Status read = read_jaeger(document, sink);
  return read ? Result<TraceFormat>(TraceFormat::kJaeger) : propagate(read);
}

// The first document of `text`, and what stands behind it. A whole document over several lines, or one that ends with its line.
struct Piece {
  std::string_view document;
  std::string_view rest;
};

Piece first_line(std::string_view text) {
  const size_t end = std::min(text.find('\n'), text.size());
  return {text.substr(0, end), without_spaces(text.substr(end))};
}

Result<Json> parse_json(std::string_view text, const TraceLimits& limits) {
  if (text.size() > limits.max_json_bytes) {
    return with_hint(fail(ErrorCode::kTooLarge, "a JSON document has {} bytes; at most {} are read",
                          text.size(), limits.max_json_bytes),
                     "split it, or write one request a line");
  }
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return fail(ErrorCode::kCorrupt, "not a JSON document");
  }
  // Moved: a copy of a deep document is made by recursion.
  return Result<Json>(std::move(document));
}

Result<TraceFormat> read_json(std::string_view text, const TraceLimits& limits, SpanSink& sink) {
  const Piece first = first_line(text);
  // One document a line where the first line is one and others follow.
  const bool may_be_lines = !first.rest.empty() && Json::accept(first.document);
  if (!may_be_lines) {
    const auto document = parse_json(text, limits);
    return document ? read_document(*document, sink) : propagate(document);
  }
  Result<TraceFormat> format = TraceFormat::kOtlpJson;
  uint64_t line = 0;
  for (Piece piece{{}, text}; !piece.rest.empty() && format;) {
    piece = first_line(piece.rest);
    ++line;
    const auto document = parse_json(piece.document, limits);
    if (!document) {
      return propagate(document, "line {}", line);
    }
    format = read_document(*document, sink);
  }
  return format;
}

bool is_text(std::string_view content) {
  return std::ranges::none_of(
      content, [](unsigned char c) { return c < ' ' && kSpaces.find(static_cast<char>(c)) == kSpaces.npos; });
}

// Whether it is a message that begins with field 1 (resource_spans), or nothing. The tag of that is a line end, and its length may be a
// brace: only the whole message distinguishes it from text, and what could be text has no other fields.
bool is_otlp(Bytes content) {
  WireFields fields(content);
  for (bool is_first = true; fields.next(); is_first = false) {
    if (fields.number() != 1 && (is_first || is_text(as_text(content)))) {
      return false;
    }
  }
  return fields.ok();
}

Result<TraceFormat> read_content(Bytes content, const TraceLimits& limits, SpanSink& sink) {
  if (is_otlp(content)) {
    const Status read = read_otlp(content, sink);
    return read ? Result<TraceFormat>(TraceFormat::kOtlp) : propagate(read);
  }
  std::string_view text = as_text(content);
  text.remove_prefix(text.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0);
  text = without_spaces(text);
  if (text.starts_with('{') || text.starts_with('[')) {
    return read_json(text, limits, sink);
  }
  if (is_span_table(text)) {
    const Status read = read_span_table(text, sink);
    return read ? Result<TraceFormat>(TraceFormat::kTable) : propagate(read);
  }
  if (is_call_log(text)) {
    const Status read = read_call_log(text, sink);
    return read ? Result<TraceFormat>(TraceFormat::kCallLog) : propagate(read);
  }
  return with_hint(
      fail(ErrorCode::kUnsupported, "not request traces in a known format"),
      "known are OTLP (Protobuf, JSON), Zipkin v2, Jaeger JSON, and CSV with the columns of docs/traces.md");
}

}  // namespace

const char* name_of(TraceFormat format) {
  switch (format) {
    case TraceFormat::kTable:
      return "CSV";
    case TraceFormat::kOtlp:
      return "OTLP";
    case TraceFormat::kOtlpJson:
      return "OTLP JSON";
    case TraceFormat::kZipkin:
      return "Zipkin";
    case TraceFormat::kCallLog:
      return "log of calls";
    case TraceFormat::kJaeger:
      break;
  }
  return "Jaeger";
}

Result<SpansRead> read_spans(Bytes content, traces::SpanSet& spans, const TraceLimits& limits) {
  std::string decompressed;
  if (compression_of(content.first(std::min(content.size(), kCompressionMagicBytes))) != Compression::kNone) {
    auto plain = decompress(content, limits.max_decoded_bytes);
    if (!plain) {
      return propagate(plain);
    }
    decompressed = std::move(*plain);
    content = as_bytes(decompressed);
  }
  if (content.size() > limits.max_decoded_bytes) {
    return fail(ErrorCode::kTooLarge, "the traces have {} bytes; at most {} are read", content.size(),
                limits.max_decoded_bytes);
  }
  SpanSink sink(spans);
  const auto format = read_content(content, limits, sink);
  if (!format) {
    return propagate(format);
  }
  return SpansRead{*format, sink.taken(), sink.rejected(), sink.first_rejection()};
}

}  // namespace plimsoll::formats
