// The text of a PMU's events: terms ("event=0x3c,umask=0x1,edge") and the fields that they fill ("config:0-7,32-35").
// Formats: Linux, Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events. Pure functions, any thread;
// the text may be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/events/event_type.h"

namespace plimsoll::perf {

inline constexpr size_t kMaxTermsBytes = 4096;

struct Term {
  std::string name;
  std::string value;  // empty: the name stands alone, for a flag or a named event
};

// Terms separated by commas; at most 64.
Result<std::vector<Term>> parse_terms(std::string_view text);

// Decimal or, behind "0x", hexadecimal.
Result<uint64_t> parse_term_value(std::string_view text);

// Which bits of which field of EventCode a term fills: the value's lowest bits go to the first range.
struct FormatField {
  struct Bits {
    int first;
    int last;  // the same, or higher: at most 63
  };
  int config = 0;  // 0, 1, 2: EventCode::config, config1, config2
  std::vector<Bits> ranges;
};

// "config1:0-31" or "config:0-7,21"; kUnsupported where the field is one that we do not have.
Result<FormatField> parse_format(std::string_view text);

// Fails where the value does not fit the field.
Status fill_field(const FormatField& field, uint64_t value, EventCode& code);

}  // namespace plimsoll::perf
