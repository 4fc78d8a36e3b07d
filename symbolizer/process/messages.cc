#include "symbolizer/process/messages.h"

#include <unistd.h>

#include <algorithm>

#include "base/byte_reader.h"

namespace plimsoll::symbolizer {

wire::TableRequest request_for(const TableQuery& query, const ProcessLimits& limits) {
  wire::TableRequest request;
  request.set_identity_kind(query.identity_kind);
  request.set_identity(query.identity);
  request.mutable_paths()->Assign(query.paths.begin(), query.paths.end());
  request.mutable_folders()->Assign(query.roots.folders.begin(), query.roots.folders.end());
  request.mutable_debug_folders()->Assign(query.roots.debug_folders.begin(), query.roots.debug_folders.end());
  request.set_binary(query.named.binary);
  request.set_debug(query.named.debug);
  request.set_supplement(query.named.supplement);
  request.set_package(query.named.package);
  request.set_without_dwarf(query.without_dwarf);
  request.set_threads(query.threads);
  request.set_reader(static_cast<uint32_t>(query.reader));
  request.set_parent_pid(::getpid());
  request.set_memory_bytes(limits.memory_bytes);
  request.set_table_bytes(limits.table_bytes);
  request.set_cpu_seconds(limits.cpu_seconds);
  return request;
}

TableQuery query_of(const wire::TableRequest& request) {
  return {.identity_kind = request.identity_kind(),
          .identity = request.identity(),
          .paths = {request.paths().begin(), request.paths().end()},
          .roots = {{request.folders().begin(), request.folders().end()},
                    {request.debug_folders().begin(), request.debug_folders().end()}},
          .named = {request.binary(), request.debug(), request.supplement(), request.package()},
          .without_dwarf = request.without_dwarf(),
          .threads = request.threads(),
          .reader = static_cast<ReaderChoice>(
              std::min<uint32_t>(request.reader(), static_cast<uint32_t>(ReaderChoice::kSecondAlone)))};
}

std::string framed(const wire::TableEvent& event) {
  const std::string message = event.SerializeAsString();
  const auto size = static_cast<uint32_t>(message.size());
  return std::string(as_text(std::as_bytes(std::span(&size, 1)))) + message;
}

Result<std::optional<wire::TableEvent>> take_event(std::string_view& received) {
  ByteReader reader(as_bytes(received));
  const auto size = reader.read<uint32_t>();
  if (reader.ok() && size > kMaxSaidBytes) {
    return fail(ErrorCode::kCorrupt, "it announced a message of {} bytes", size);
  }
  const Bytes message = reader.bytes(size);
  if (!reader.ok()) {
    return std::nullopt;
  }
  received.remove_prefix(reader.offset());
  wire::TableEvent event;
  if (!event.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return fail(ErrorCode::kCorrupt, "it said what is no message");
  }
  return event;
}

}  // namespace plimsoll::symbolizer
