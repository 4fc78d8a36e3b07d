#include "symbolizer/process/child_end.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace plimsoll::symbolizer {
namespace {

std::unexpected<Error> out_of_memory(const ProcessLimits& limits) {
  return with_hint(fail(ErrorCode::kTooLarge, "it takes more than the {} MiB of memory allowed",
                        limits.memory_bytes >> 20U),
                   "it can be given more: symbols.max_memory_bytes in the server's configuration, or "
                   "\"plimsoll symtab build --memory MIB\"");
}

std::unexpected<Error> killed_by(int signal_number, const ProcessLimits& limits) {
  switch (signal_number) {
    case SIGXCPU:
      return with_hint(fail(ErrorCode::kTooLarge, "it needs more CPU time than files of this size should"),
                       "the files may be damaged: compare them with those of the package");
    case SIGXFSZ:
      return fail(ErrorCode::kTooLarge, "what it makes would be larger than {} MiB",
                  limits.table_bytes >> 20U);
    case SIGBUS:
      return with_hint(fail(ErrorCode::kUnavailable, "a file was truncated while it was read"),
                       "it was being replaced: try again");
    case SIGSYS:
      return with_hint(fail(ErrorCode::kCorrupt, "the process that parses it made a forbidden system call"),
                       "the files may be crafted as an attack: check their origin");
    case SIGKILL:
      return with_hint(fail(ErrorCode::kUnavailable, "the process that parses it was killed from outside"),
                       "the machine may be out of memory: see the kernel's log");
    default:
      return with_hint(
          fail(ErrorCode::kCorrupt, "the process that parses it crashed ({})", ::strsignal(signal_number)),
          "please report it, with the file");
  }
}

// Why there is no reply, in words.
std::unexpected<Error> failure_of(const ChildEnd& end, const ProcessLimits& limits) {
  switch (end.cause) {
    case ChildEnd::Cause::kDeadline:
      return with_hint(fail(ErrorCode::kUnavailable, "the process that parses it did not end"),
                       "the files may be on a file system that does not respond");
    case ChildEnd::Cause::kStopped:
      return fail(ErrorCode::kUnavailable, "the process that parses it was stopped before its end");
    case ChildEnd::Cause::kSaidTooMuch:
    case ChildEnd::Cause::kSaidNonsense:
      return fail(ErrorCode::kCorrupt, "the process that parses it sent an invalid reply");
    case ChildEnd::Cause::kEnded:
      break;
  }
  if (WIFSIGNALED(end.wait_status)) {
    return killed_by(WTERMSIG(end.wait_status), limits);
  }
  if (WEXITSTATUS(end.wait_status) == kOutOfMemoryStatus) {
    return out_of_memory(limits);
  }
  return fail(ErrorCode::kCorrupt, "the process that parses it exited with status {} without a reply",
              WEXITSTATUS(end.wait_status));
}

std::unexpected<Error> said_error(const wire::TableError& said) {
  const bool is_known = said.code() <= static_cast<uint32_t>(ErrorCode::kIo);
  return std::unexpected(Error{
      is_known ? static_cast<ErrorCode>(said.code()) : ErrorCode::kCorrupt, said.message(), {}, said.hint()});
}

}  // namespace

bool has_ended_well(const ChildEnd& end) {
  return end.cause == ChildEnd::Cause::kEnded && end.wait_status == 0 && end.last;
}

Result<wire::TableEvent> reply_of(const ChildEnd& end, const ProcessLimits& limits) {
  if (!has_ended_well(end) || !end.last) {
    return failure_of(end, limits);
  }
  const wire::TableEvent& last = *end.last;
  return last.has_error() ? Result<wire::TableEvent>(said_error(last.error())) : last;
}

}  // namespace plimsoll::symbolizer
