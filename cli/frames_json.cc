#include "cli/frames_json.h"

#include <array>
#include <charconv>

#include "cli/json_text.h"
#include "symbolizer/names/demangle.h"

namespace plimsoll::cli {
namespace {

void append_number(uint64_t number, int base, std::string& out) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

constexpr std::string_view kEmpty = "\"\"";

}  // namespace

std::string_view FramesJson::function(const symbolizer::SymtabFrame& frame) {
  const bool is_raw = names_ == NameForm::kRaw;
  const std::string_view name = is_raw || frame.known_as.empty() ? frame.function : frame.known_as;
  if (name.empty()) {
    return kEmpty;
  }
  std::string& text = functions_[name.data()];
  if (text.empty()) {
    append_json_string(is_raw ? name
                              : std::string_view(symbolizer::display_name(
                                    name, {.shorten_templates = names_ == NameForm::kShort})),
                       text);
  }
  return text;
}

std::string_view FramesJson::file(std::string_view path) {
  if (path.empty()) {
    return kEmpty;
  }
  std::string& text = files_[path.data()];
  if (text.empty()) {
    append_json_string(path, text);
  }
  return text;
}

void FramesJson::append_frame(const symbolizer::SymtabFrame& frame, std::string& out) {
  out += R"({"function": )";
  out += function(frame);
  out += R"(, "file": )";
  out += file(frame.file);
  out += R"(, "line": )";
  append_number(frame.line, 10, out);
  out += R"(, "column": )";
  append_number(frame.column, 10, out);
  out += R"(, "inlined": )";
  out += frame.is_inlined ? "true}" : "false}";
}

void FramesJson::append(uint64_t address, std::string& out) {
  frames_.clear();
  if (table_ != nullptr) {
    table_->look_up(address, frames_);
  }
  out += R"({"address": "0x)";
  append_number(address, 16, out);
  out += R"(", "frames": [)";
  for (size_t i = 0; i < frames_.size(); ++i) {
    out += i == 0 ? "" : ", ";
    append_frame(frames_[i], out);
  }
  out += "]}";
}

}  // namespace plimsoll::cli
