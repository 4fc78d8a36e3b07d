// What libprotobuf has to say.
#pragma once

namespace plimsoll::wire {

// Sends libprotobuf's lines to our log (base/log.h); by itself it writes them to standard error. All but the fatal ones at debug level:
// they are about messages that somebody sent, who gets an answer, and who could otherwise fill the log. Not thread-safe: once per
// process, before the first message is parsed.
void use_own_log();

}  // namespace plimsoll::wire
