// The framing of what the process that parses says (proto/symbol_table.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "proto/symbol_table.pb.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/search/table_search.h"

namespace plimsoll::symbolizer {

// What a child may say altogether: some thousands of paths and reasons.
inline constexpr size_t kMaxSaidBytes = size_t{8} << 20;
// What it may be asked: paths, mostly; of compiler profiles counts by address.
inline constexpr size_t kMaxRequestBytes = size_t{256} << 20;

wire::TableRequest request_for(const TableQuery& query, const ProcessLimits& limits);
TableQuery query_of(const wire::TableRequest& request);

std::string framed(const wire::TableEvent& event);

// Takes the first message from the front of `received`; nothing where it is not whole yet. kCorrupt where it never will be.
Result<std::optional<wire::TableEvent>> take_event(std::string_view& received);

}  // namespace plimsoll::symbolizer
