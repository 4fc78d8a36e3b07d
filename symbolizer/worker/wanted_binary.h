// A binary whose symbols are wanted.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/profile.pb.h"

namespace plimsoll::symbolizer {

// Borrows all.
struct WantedBinary {
  wire::IdentityKind identity_kind = wire::IDENTITY_UNKNOWN;
  std::string_view identity;
  std::span<const std::string> paths;  // where it may lie: hints from outside
  // Of the last search, as BinarySymbols has them; empty: there was none.
  std::string_view looked_at = {};
  std::string_view reasons = {};
};

}  // namespace plimsoll::symbolizer
