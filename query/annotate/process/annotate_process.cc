#include "query/annotate/process/annotate_process.h"

#include <unistd.h>

#include <array>

#include "base/file.h"
#include "query/annotate/annotation_codec.h"
#include "query/fdo/counts/count_binary.h"
#include "query/table/table.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/child_end.h"
#include "symbolizer/process/child_run.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/process/spawn.h"
#include "symbolizer/process/zygote.h"

namespace plimsoll::annotate {
namespace {

using symbolizer::ChildDescriptors;
using symbolizer::FileAt;
using symbolizer::ProcessLimits;

// Without what annotate() does not look at: counts of branches and their ranges can be far more than those of samples.
std::string text_of(const fdo::BinaryCounts& counts, bool with_branches) {
  fdo::BinaryCounts sent{.build_id = counts.build_id,
                         .event = counts.event,
                         .unit = counts.unit,
                         .addresses = counts.addresses,
                         .offsets = counts.offsets,
                         .path = counts.path,
                         .value = counts.value,
                         .samples = counts.samples,
                         .notes = counts.notes};
  if (with_branches) {
    sent.branches = counts.branches;
    sent.offset_branches = counts.offset_branches;
  }
  return query::to_json(fdo::counts_table(sent));
}

Result<std::string> request_for(const AnnotateOrder& order, const ProcessLimits& limits) {
  wire::AnnotationRequest request;
  size_t bytes = 0;
  for (const fdo::BinaryCounts& counts : order.counts) {
    std::string text = text_of(counts, &counts == &order.counts.front());
    bytes += text.size();
    if (bytes > symbolizer::kMaxRequestBytes) {
      return with_hint(fail(ErrorCode::kTooLarge, "the counts of {} events take more than {} bytes",
                            order.counts.size(), symbolizer::kMaxRequestBytes),
                       "ask for a shorter time, or for fewer events");
    }
    request.add_counts(std::move(text));
  }
  request.set_function(order.function);
  request.set_kept_table(order.kept_table);
  *request.mutable_files() = symbolizer::request_for(order.files, limits);
  request.set_parent_pid(::getpid());
  request.set_memory_bytes(limits.memory_bytes);
  request.set_annotation_bytes(limits.table_bytes);
  request.set_cpu_seconds(limits.cpu_seconds);
  return request.SerializeAsString();
}

}  // namespace

Result<Annotation> AnnotateProcess::make(const AnnotateOrder& order,
                                         const symbolizer::MakeOptions& options) const {
  if (order.counts.empty() || worker_.argv.empty()) {
    return fail(ErrorCode::kUnsupported, "this program annotates no code");
  }
  const auto request = request_for(order, options.limits);
  if (!request) {
    return propagate(request);
  }
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
  const std::string& build_id = order.counts.front().build_id;
  const auto end =
      symbolizer::run_child(start, *request, *file, options.limits, options.progress, options.stop);
  if (!end) {
    return propagate(end, "annotating code of build {}", build_id);
  }
  const auto reply = symbolizer::reply_of(*end, options.limits);
  if (!reply) {
    return propagate(reply, "annotating code of build {}", build_id);
  }
  if (!reply->has_annotation()) {
    return fail(ErrorCode::kCorrupt, "annotating code of build {}: the reply makes no sense", build_id);
  }
  const auto map = MappedFile::map(*file, "the annotated code", options.limits.table_bytes);
  if (!map) {
    return propagate(map);
  }
  auto annotation = decode(map->bytes());
  return annotation ? std::move(annotation)
                    : Result<Annotation>(propagate(annotation, "annotating code of build {}", build_id));
}

}  // namespace plimsoll::annotate
