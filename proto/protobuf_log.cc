#include "proto/protobuf_log.h"

#include <google/protobuf/stubs/logging.h>

#include <string>

#include "base/log.h"

namespace plimsoll::wire {

void use_own_log() {
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel level, const char* /*file*/, int /*line*/, const std::string& message) {
        const bool is_fatal = level == google::protobuf::LOGLEVEL_FATAL;
        log_text(is_fatal ? LogLevel::kError : LogLevel::kDebug, message);
      });
}

}  // namespace plimsoll::wire
