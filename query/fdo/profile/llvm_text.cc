#include "query/fdo/profile/llvm_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "query/fdo/profile/sorted.h"

namespace plimsoll::fdo {
namespace {

void append_offset(std::string& text, size_t depth, LineOffset offset) {
  text.append(depth, ' ');
  fmt::format_to(std::back_inserter(text), "{}", offset.line);
  if (offset.discriminator != 0) {
    fmt::format_to(std::back_inserter(text), ".{}", offset.discriminator);
  }
  text += ": ";
}

// What stands below the function's own line.
void append_lines(std::string& text, size_t depth, const FunctionSamples& function) {
  for (const auto& [offset, samples] : function.body) {
    append_offset(text, depth, offset);
    fmt::format_to(std::back_inserter(text), "{}", samples.count);
    for (const auto& [name, count] : hottest_first(samples.calls)) {
      fmt::format_to(std::back_inserter(text), " {}:{}", *name, *count);
    }
    text += '\n';
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [name, callee] : callees) {
      append_offset(text, depth, offset);
      fmt::format_to(std::back_inserter(text), "{}:{}\n", name, callee.total);
      append_lines(text, depth + 1, callee);
    }
  }
}

}  // namespace

std::string write_llvm_text(const SampleProfile& profile) {
  std::string text;
  for (const auto& [name, function] : hottest_first(profile)) {
    fmt::format_to(std::back_inserter(text), "{}:{}:{}\n", *name, function->total, function->head);
    append_lines(text, 1, *function);
  }
  return text;
}

}  // namespace plimsoll::fdo
