#include "formats/traces/otlp_spans.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/traces/attribute_list.h"
#include "formats/traces/resource_identity.h"
#include "formats/traces/wire_fields.h"

namespace plimsoll::formats {
namespace {

// Lists of lists of values may nest; none of them is a name.
std::string value_text(Bytes any_value) {
  constexpr uint32_t kString = 1;
  constexpr uint32_t kBool = 2;
  constexpr uint32_t kInt = 3;
  constexpr uint32_t kArray = 5;
  for (WireFields fields(any_value); fields.next();) {
    if (fields.number() == kString) {
      return std::string(fields.text());
    }
    if (fields.number() == kBool) {
      return fields.value() != 0 ? "true" : "false";
    }
    if (fields.number() == kInt) {
      return fmt::format("{}", static_cast<int64_t>(fields.value()));
    }
    if (fields.number() == kArray) {
      // container.image.tags is a list: its first text.
      for (WireFields items(fields.bytes()); items.next();) {
        for (WireFields item(items.bytes()); item.next();) {
          if (item.number() == kString) {
            return std::string(item.text());
          }
        }
      }
    }
  }
  return {};
}

struct KeyAndText {
  std::string_view key;
  std::string value;
};

KeyAndText attribute_in(Bytes key_value) {
  std::string_view key;
  Bytes value;
  for (WireFields fields(key_value); fields.next();) {
    if (fields.number() == 1) {
      key = fields.text();
    } else if (fields.number() == 2) {
      value = fields.bytes();
    }
  }
  return {key, value_text(value)};
}

uint64_t big_endian(Bytes bytes) {
  uint64_t value = 0;
  for (const std::byte byte : bytes) {
    value = value << 8U | std::to_integer<uint64_t>(byte);
  }
  return value;
}

constexpr size_t kTraceIdBytes = 16;
constexpr size_t kSpanIdBytes = 8;

int64_t time_of(uint64_t unix_ns) {
  // What leaves 63 bits is refused by the set of spans as any other impossible time.
  return unix_ns > INT64_MAX ? -1 : static_cast<int64_t>(unix_ns);
}

template <typename Enum>
Enum enum_of(uint64_t value, Enum last) {
  return value <= static_cast<uint64_t>(last) ? static_cast<Enum>(value) : Enum{};
}

traces::SpanStatus status_of(Bytes message) {
  constexpr uint32_t kCode = 3;
  traces::SpanStatus status{};
  for (WireFields fields(message); fields.next();) {
    if (fields.number() == kCode) {
      status = enum_of(fields.value(), traces::SpanStatus::kError);
    }
  }
  return status;
}

// False where it is malformed.
bool parse_span(Bytes message, traces::NamedSpan& span, bool& is_parent_sound, AttributeList& attributes) {
  WireFields fields(message);
  while (fields.next()) {
    switch (fields.number()) {
      case 1:
        if (fields.bytes().size() == kTraceIdBytes) {
          span.trace = {big_endian(fields.bytes().first(kSpanIdBytes)),
                        big_endian(fields.bytes().last(kSpanIdBytes))};
        }
        break;
      case 2:
        span.id = fields.bytes().size() == kSpanIdBytes ? big_endian(fields.bytes()) : 0;
        break;
      case 4:
        is_parent_sound = fields.bytes().empty() || fields.bytes().size() == kSpanIdBytes;
        span.parent = is_parent_sound ? big_endian(fields.bytes()) : 0;
        break;
      case 5:
        span.operation = fields.text();
        break;
      case 6:
        span.kind = enum_of(fields.value(), traces::SpanKind::kConsumer);
        break;
      case 7:
        span.start_ns = time_of(fields.value());
        break;
      case 8:
        span.end_ns = time_of(fields.value());
        break;
      case 9:
        if (attributes.is_wanted()) {
          const KeyAndText attribute = attribute_in(fields.bytes());
          attributes.take(attribute.key, attribute.value);
        }
        break;
      case 15:
        span.status = status_of(fields.bytes());
        break;
      default:
        break;
    }
  }
  return fields.ok();
}

class OtlpReader {
 public:
  explicit OtlpReader(SpanSink& sink) : sink_(sink), attributes_(sink.spans()) {}

  Status read(Bytes request) {
    return for_each(request, 1, "resource_spans", [this](Bytes part) { return read_resource_spans(part); });
  }

 private:
  // The messages of one field; the others are passed over.
  template <typename Take>
  Status for_each(Bytes message, uint32_t number, std::string_view name, const Take& take) {
    WireFields fields(message);
    uint64_t index = 0;
    while (fields.next()) {
      if (fields.number() != number) {
        continue;
      }
      if (Status taken = take(fields.bytes()); !taken) {
        taken.error().field = fmt::format("{}[{}]{}{}", name, index, taken.error().field.empty() ? "" : ".",
                                          taken.error().field);
        return taken;
      }
      ++index;
    }
    return fields.ok() ? Status() : malformed();
  }

  static Status malformed() { return fail(ErrorCode::kCorrupt, "the OTLP message is malformed"); }

  // The resource may stand behind its spans.
  Status read_resource_spans(Bytes message) {
    identity_.clear();
    attributes_.clear();
    const auto take_resource = [this](Bytes resource) {
      return for_each(resource, 1, "attributes", [this](Bytes attribute) -> Status {
        const KeyAndText read = attribute_in(attribute);
        identity_.take(read.key, read.value);
        attributes_.take(read.key, read.value);
        return {};
      });
    };
    if (auto read = for_each(message, 1, "resource", take_resource); !read) {
      return read;
    }
    identity_.finish();
    attributes_.end_resource();
    return for_each(message, 2, "scope_spans", [this](Bytes scope_spans) {
      return for_each(scope_spans, 2, "spans", [this](Bytes span) { return read_span(span); });
    });
  }

  Status read_span(Bytes message) {
    traces::NamedSpan span{.service = identity_.service(),
                           .replica = identity_.replica(),
                           .machine = identity_.machine(),
                           .version = identity_.version()};
    bool is_parent_sound = true;
    attributes_.begin_span();
    if (!parse_span(message, span, is_parent_sound, attributes_)) {
      return malformed();
    }
    span.attributes = attributes_.all();
    return is_parent_sound ? sink_.add(span) : sink_.reject_parent(span.id);
  }

  SpanSink& sink_;
  ResourceIdentity identity_;
  AttributeList attributes_;
};

}  // namespace

Status read_otlp(Bytes message, SpanSink& sink) {
  return OtlpReader(sink).read(message);
}

}  // namespace plimsoll::formats
