#include "formats/legacy_heap.h"

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kStart = "heap profile:";

// "objects: bytes [allocated objects: allocated bytes]", which begins the header and every row.
struct Numbers {
  HeapValues inuse;
  HeapValues allocated;
};

struct Header {
  Numbers totals;
  bool is_growth = false;
  int64_t period_bytes = 1;
};

std::optional<Numbers> take_numbers(TextScanner& line) {
  const auto objects = line.take_integer();
  const bool first = objects && line.take(":");
  const auto bytes = line.take_integer();
  const bool second = first && bytes && line.take("[");
  const auto allocated_objects = line.take_integer();
  const bool third = second && allocated_objects && line.take(":");
  const auto allocated_bytes = line.take_integer();
  if (!third || !allocated_bytes || !line.take("]")) {
    return std::nullopt;
  }
  return Numbers{{*objects, *bytes}, {*allocated_objects, *allocated_bytes}};
}

// "heap_v2/524288": the dialect, and how far apart its samples are.
bool take_dialect(std::string_view dialect, Header& header) {
  const size_t slash = std::min(dialect.find('/'), dialect.size());
  const std::string_view name = dialect.substr(0, slash);
  int64_t period_bytes = 0;
  if (slash < dialect.size()) {
    TextScanner digits(dialect.substr(slash + 1));
    const auto period = digits.take_integer();
    if (!period || *period < 0 || !digits.rest().empty()) {
      return false;
    }
    period_bytes = *period;
  }
  if (name == "heap_v2" || name == "heapz_v2") {
    header.period_bytes = period_bytes;
  } else if (name == "heap") {
    // Old Go programs write twice their sampling rate here.
    header.period_bytes = period_bytes / 2;
  } else if (name == "growth" || name == "growthz") {
    header.is_growth = true;
  } else {
    return name == "heapprofile";
  }
  return true;
}

Result<Header> read_header(const LineReader& lines, std::string_view text) {
  TextScanner line(text);
  line.take(kStart);
  Header header;
  const auto totals = take_numbers(line);
  if (!totals || !line.take("@") || !take_dialect(line.take_word(), header)) {
    return bad_line(lines, text, "the header of a heap profile that is known here");
  }
  header.totals = *totals;
  return header;
}

bool has_allocations(const Header& header) {
  const auto says_more = [](int64_t allocated, int64_t inuse) {
    return allocated != inuse && allocated != 0;
  };
  return !header.is_growth && (says_more(header.totals.allocated.objects, header.totals.inuse.objects) ||
                               says_more(header.totals.allocated.bytes, header.totals.inuse.bytes));
}

std::vector<ValueType> types_of(const Header& header) {
  if (header.is_growth) {
    return {{"growth_objects", "count"}, {"growth_space", "bytes"}};
  }
  std::vector<ValueType> types;
  if (has_allocations(header)) {
    types = {{"alloc_objects", "count"}, {"alloc_space", "bytes"}};
  }
  types.push_back({"inuse_objects", "count"});
  types.push_back({"inuse_space", "bytes"});
  return types;
}

Status append_values(const HeapValues& sampled, int64_t period_bytes, std::vector<int64_t>& values) {
  const auto scaled = scaled_heap_values(sampled, period_bytes);
  if (!scaled) {
    return propagate(scaled);
  }
  values.push_back(scaled->objects);
  values.push_back(scaled->bytes);
  return {};
}

}  // namespace

Result<HeapValues> scaled_heap_values(HeapValues sampled, int64_t period_bytes) {
  if (sampled.objects == 0 && sampled.bytes != 0) {
    return fail(ErrorCode::kCorrupt, "{} bytes in no object", sampled.bytes);
  }
  if (sampled.objects == 0 || sampled.bytes == 0) {
    return HeapValues{};
  }
  if (period_bytes <= 1) {
    return sampled;
  }
  const auto objects = static_cast<double>(sampled.objects);
  const auto bytes = static_cast<double>(sampled.bytes);
  const double scale = 1 / (1 - std::exp(-bytes / objects / static_cast<double>(period_bytes)));
  const auto scaled_objects = whole(objects * scale);
  const auto scaled_bytes = whole(bytes * scale);
  if (!scaled_objects || !scaled_bytes) {
    return fail(ErrorCode::kCorrupt, "{} bytes in {} objects, sampled every {} bytes, stand for too much",
                sampled.bytes, sampled.objects, period_bytes);
  }
  return HeapValues{*scaled_objects, *scaled_bytes};
}

bool looks_like_legacy_heap(std::string_view text) {
  return text.starts_with(kStart);
}

Result<ApplicationProfile> read_legacy_heap(std::string_view text, const Limits& limits) {
  LineReader lines(text);
  const auto header = read_header(lines, lines.next().value_or(std::string_view()));
  if (!header) {
    return propagate(header);
  }
  ApplicationProfile profile;
  profile.types = types_of(*header);
  profile.period_type = {"space", "bytes"};
  profile.period = header->period_bytes;
  LegacyRows rows(profile, limits);
  std::vector<uint64_t> addresses;
  std::vector<int64_t> values;
  auto line = lines.next();
  for (; line && !begins_memory_map(*line); line = lines.next()) {
    if (is_blank_or_comment(*line)) {
      continue;
    }
    TextScanner scanner(*line);
    const auto numbers = take_numbers(scanner);
    if (!numbers || !take_addresses(scanner, addresses)) {
      return bad_line(lines, *line, "\"OBJECTS: BYTES [OBJECTS: BYTES] @ ADDRESSES\"");
    }
    values.clear();
    const int64_t period_bytes = header->is_growth ? 1 : header->period_bytes;
    Status taken;
    if (has_allocations(*header)) {
      taken = append_values(numbers->allocated, period_bytes, values);
    }
    if (taken) {
      taken = append_values(numbers->inuse, period_bytes, values);
    }
    if (taken) {
      taken = rows.add(addresses, values);
    }
    if (!taken) {
      return propagate(taken, "line {} of the profile", lines.number());
    }
  }
  rows.read_memory_map(line, lines);
  return profile;
}

}  // namespace plimsoll::formats
