#include "symbolizer/process/child.h"

#include <unistd.h>

#include "base/file.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/search/table_search.h"

namespace plimsoll::symbolizer {
namespace {

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
      ::_exit(1);  // the reader has ended
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
  return say_error(answered.error());
}

}  // namespace plimsoll::symbolizer
