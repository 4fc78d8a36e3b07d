#include "symbolizer/process/child.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/byte_reader.h"
#include "base/file.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/search/table_search.h"

namespace plimsoll::symbolizer {
namespace {

Status write_all(int fd, std::string_view content, const char* what) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return fail_errno(errno, "writing {}", what);
    }
    content.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

Status say(const wire::TableEvent& event) {
  return write_all(STDOUT_FILENO, framed(event), "the reply");
}

Result<wire::TableRequest> read_request() {
  const auto text = read_file("/dev/stdin", kMaxRequestBytes);
  if (!text) {
    return propagate(text, "reading the request");
  }
  wire::TableRequest request;
  return request.ParseFromString(*text)
             ? Result<wire::TableRequest>(std::move(request))
             : with_hint(
                   fail(ErrorCode::kInvalid, "standard input holds no request"),
                   "this command is for plimsoll itself; plimsoll symtab build makes a table of a file");
}

TableQuery query_of(const wire::TableRequest& request) {
  return {.identity_kind = request.identity_kind(),
          .identity = request.identity(),
          .paths = {request.paths().begin(), request.paths().end()},
          .roots = {{request.folders().begin(), request.folders().end()},
                    {request.debug_folders().begin(), request.debug_folders().end()}},
          .named = {request.binary(), request.debug(), request.supplement(), request.package()},
          .without_dwarf = request.without_dwarf(),
          .threads = request.threads()};
}

Status answer(const wire::TableRequest& request) {
  const ProcessLimits limits{request.memory_bytes(), request.table_bytes(), request.cpu_seconds()};
  if (auto confined = confine(limits, request.parent_pid(), kTableDescriptor); !confined) {
    return confined;
  }
  uint64_t opened_bytes = 0;
  const auto found = find_table(query_of(request), [&](uint64_t bytes) {
    opened_bytes += bytes;
    grant_cpu_time(limits, opened_bytes);
    wire::TableEvent event;
    event.set_opened_bytes(opened_bytes);
    if (const Status said = say(event); !said) {
      ::_exit(1);  // nobody listens any more
    }
  });
  if (!found) {
    return propagate(found);
  }
  if (auto written = write_all(kTableDescriptor, found->bytes, "the symbol table"); !written) {
    return written;
  }
  wire::TableEvent event;
  wire::TableReply& reply = *event.mutable_reply();
  reply.set_has_table(!found->bytes.empty());
  reply.set_quality(static_cast<uint32_t>(found->quality));
  reply.set_reasons(found->reasons);
  reply.set_looked_at(found->looked_at);
  return say(event);
}

}  // namespace

Status run_table_child() {
  const auto request = read_request();
  if (!request) {
    return propagate(request);
  }
  const Status answered = answer(*request);
  if (answered) {
    return {};
  }
  wire::TableEvent event;
  wire::TableError& error = *event.mutable_error();
  error.set_code(static_cast<uint32_t>(answered.error().code));
  error.set_message(answered.error().message);
  error.set_hint(answered.error().hint);
  return say(event);
}

}  // namespace plimsoll::symbolizer
