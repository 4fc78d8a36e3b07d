// Log lines on standard error: time, level, text. spdlog stands behind it, in one source. Any thread may
// call.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace plimsoll {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Lines below `level` are dropped. Info at start.
void set_log_level(LogLevel level);
void log_text(LogLevel level, std::string_view text);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_text(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_text(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_text(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plimsoll
