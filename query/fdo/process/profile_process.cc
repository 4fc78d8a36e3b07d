#include "query/fdo/process/profile_process.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "base/byte_reader.h"
#include "base/file.h"
#include "base/hex.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/child_end.h"
#include "symbolizer/process/child_run.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/process/spawn.h"
#include "symbolizer/process/zygote.h"

namespace plimsoll::fdo {
namespace {

using symbolizer::ChildDescriptors;
using symbolizer::FileAt;
using symbolizer::ProcessLimits;

std::string request_for(const ProfileOrder& order, const ProcessLimits& limits) {
  wire::ProfileRequest request;
  for (const ProfileOrder::Build& build : order.builds) {
    wire::ProfileRequest::Build& asked = *request.add_builds();
    asked.set_counts(query::to_json(build.counts));
    *asked.mutable_files() = symbolizer::request_for(build.files, limits);
  }
  request.set_format(static_cast<uint32_t>(order.format));
  request.set_min_quality(static_cast<uint32_t>(order.min_quality));
  request.set_parent_pid(::getpid());
  request.set_memory_bytes(limits.memory_bytes);
  request.set_profile_bytes(limits.table_bytes);
  request.set_cpu_seconds(limits.cpu_seconds);
  return request.SerializeAsString();
}

}  // namespace

Result<ReportedProfile> ProfileProcess::make(const ProfileOrder& order,
                                             const symbolizer::MakeOptions& options) const {
  if (order.builds.empty() || worker_.argv.empty()) {
    return fail(ErrorCode::kUnsupported, "this program makes no compiler profiles");
  }
  const std::string subject = "build " + to_hex(order.builds.front().files.identity);
  const auto file = symbolizer::table_file(options.folder);
  if (!file) {
    return propagate(file);
  }
  const auto start = [this](const ChildDescriptors& descriptors) {
    return symbolizer::spawn(worker_.argv,
                             std::array{FileAt{descriptors.request.get(), STDIN_FILENO},
                                        FileAt{descriptors.said.get(), STDOUT_FILENO},
                                        FileAt{descriptors.table.get(), symbolizer::kTableDescriptor}});
  };
  const auto end = symbolizer::run_child(start, request_for(order, options.limits), *file, options.limits,
                                         options.progress, options.stop);
  if (!end) {
    return propagate(end, "making a profile of {}", subject);
  }
  const auto reply = symbolizer::reply_of(*end, options.limits);
  if (!reply) {
    return propagate(reply, "making a profile of {}", subject);
  }
  // From a process that a crafted file may have taken over.
  if (!reply->has_profile() || reply->profile().usefulness() > static_cast<uint32_t>(Usefulness::kGood)) {
    return fail(ErrorCode::kCorrupt, "making a profile of {}: the reply makes no sense", subject);
  }
  const auto map = MappedFile::map(*file, "the new profile", options.limits.table_bytes);
  if (!map) {
    return propagate(map);
  }
  if (map->bytes().empty()) {
    return fail(ErrorCode::kCorrupt, "making a profile of {}: the process wrote none", subject);
  }
  return ReportedProfile{.bytes = std::string(as_text(map->bytes())),
                         .report = reply->profile().report(),
                         .usefulness = static_cast<Usefulness>(reply->profile().usefulness())};
}

}  // namespace plimsoll::fdo
