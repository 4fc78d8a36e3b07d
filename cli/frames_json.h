// The frames at an address as a JSON object, fast: names are demangled and escaped once.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/symtab/symtab.h"

namespace plimsoll::cli {

enum class NameForm { kDisplay, kShort, kRaw };

// One thread. Borrows the table; null: nothing is known of any address.
class FramesJson {
 public:
  FramesJson(const symbolizer::Symtab* table, NameForm names) : table_(table), names_(names) {}

  // Appends {"address": "0x1136", "frames": [{"function", "file", "line", "column", "inlined"}]}, innermost first; what is
  // unknown is "" or 0.
  void append(uint64_t address, std::string& out);

 private:
  // By where the text lies in the table, which holds each once.
  using Texts = boost::unordered_flat_map<const char*, std::string>;

  std::string_view function(const symbolizer::SymtabFrame& frame);
  std::string_view file(std::string_view path);
  void append_frame(const symbolizer::SymtabFrame& frame, std::string& out);

  const symbolizer::Symtab* const table_;
  const NameForm names_;
  Texts functions_;
  Texts files_;
  std::vector<symbolizer::SymtabFrame> frames_;
};

}  // namespace plimsoll::cli
