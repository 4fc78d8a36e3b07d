// Counts by function and inlined call, before they are rounded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// Names are borrowed from the symbol table.
struct Context {
  struct Line {
    double count = 0;
    std::map<std::string_view, double> calls = {};
  };
  double weight = 0;  // count x bytes of code, here and in all that was inlined
  double head = 0;
  std::map<LineOffset, Line> body = {};
  std::map<std::pair<LineOffset, std::string_view>, std::unique_ptr<Context>> inlined = {};

  Context& callee(LineOffset call, std::string_view name) {
    std::unique_ptr<Context>& found = inlined[{call, name}];
    if (found == nullptr) {
      found = std::make_unique<Context>();
    }
    return *found;
  }
};

using ContextTree = std::map<std::string_view, Context>;

}  // namespace plimsoll::fdo
