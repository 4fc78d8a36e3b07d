#include "query/annotate/process/annotate_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "proto/symbol_table.pb.h"
#include "query/annotate/annotate.h"
#include "query/annotate/annotation_codec.h"
#include "query/fdo/counts/count_binary.h"
#include "query/fdo/making/elf_checks.h"
#include "query/table/table.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/search/table_search.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::annotate {
namespace {

using Counts = std::vector<fdo::BinaryCounts>;

Result<wire::AnnotationRequest> read_request() {
  const auto text = read_file("/dev/stdin", symbolizer::kMaxRequestBytes);
  if (!text) {
    return propagate(text, "reading the request");
  }
  wire::AnnotationRequest request;
  return request.ParseFromString(*text) && request.counts_size() > 0
             ? Result<wire::AnnotationRequest>(std::move(request))
             : with_hint(fail(ErrorCode::kInvalid, "standard input holds no request"),
                         "this command is for plimsoll itself; plimsoll annotate shows annotated code");
}

class AnnotateChild {
 public:
  explicit AnnotateChild(const wire::AnnotationRequest& request)
      : request_(request),
        limits_{request.memory_bytes(), request.annotation_bytes(), request.cpu_seconds()} {}

  Status run() {
    if (auto confined = symbolizer::confine(limits_, request_.parent_pid(), symbolizer::kTableDescriptor);
        !confined) {
      return confined;
    }
    auto counts = read_counts();
    if (!counts) {
      return propagate(counts);
    }
    const symbolizer::TableQuery files = symbolizer::query_of(request_.files());
    const std::string name = fmt::format("build {}", counts->front().build_id);
    const auto binary = find_code(files, name);
    if (!binary) {
      return propagate(binary);
    }
    for (fdo::BinaryCounts& of_event : *counts) {
      if (auto checked = fdo::check_build_id(of_event, to_hex(binary->elf.build_id())); !checked) {
        return checked;
      }
      fdo::to_addresses(of_event, binary->elf);
    }
    const auto lines = symbolizer::find_table(files, [this](uint64_t bytes) { note_opened(bytes); });
    if (!lines) {
      return propagate(lines);
    }
    std::optional<symbolizer::Symtab> symbols;
    if (!lines->bytes.empty()) {
      auto opened = symbolizer::Symtab::open(as_bytes(lines->bytes));
      if (!opened) {
        return propagate(opened);
      }
      symbols = *opened;
    }
    const auto annotation = annotate({.binary = binary->elf,
                                      .symbols = symbols ? &*symbols : nullptr,
                                      .counts = *counts,
                                      .function = request_.function(),
                                      .name = name});
    return annotation ? reply(*annotation, lines->reasons) : propagate(annotation);
  }

 private:
  void note_opened(uint64_t bytes) {
    opened_bytes_ += bytes;
    symbolizer::grant_cpu_time(limits_, opened_bytes_);
    wire::TableEvent event;
    event.set_opened_bytes(opened_bytes_);
    if (const Status said = symbolizer::say(event); !said) {
      ::_exit(1);  // the reader has ended
    }
  }

  Result<Counts> read_counts() const {
    Counts all;
    for (const std::string& text : request_.counts()) {
      const auto table = query::from_json(text);
      auto counts = table ? fdo::counts_from(*table) : propagate(table);
      if (!counts) {
        return propagate(counts, "reading the counts");
      }
      all.push_back(std::move(*counts));
    }
    return all;
  }

  // find_table() opens it once more: a file counts once for the CPU time that is granted.
  static Result<symbolizer::FoundFile> find_code(const symbolizer::TableQuery& files,
                                                 const std::string& name) {
    auto found = symbolizer::find_binary(files, [](uint64_t /*bytes*/) {});
    if (!found) {
      return propagate(found);
    }
    std::optional<symbolizer::FoundFile>& file = found->file;
    if (!file) {
      const std::string what_to_do =
          "put the binary where it lay on the machines, below a folder of symbols.roots; or run plimsoll "
          "annotate "
          "--server ADDR --binary FILE where the binary is";
      return with_hint(
          fail(ErrorCode::kNotFound, "there is no file of {} here", name),
          found->reasons.empty() ? what_to_do : fmt::format("{}\n{}", what_to_do, found->reasons));
    }
    if (auto whole = fdo::check_whole(file->map.bytes(), file->elf, name); !whole) {
      return propagate(whole);
    }
    return std::move(*file);
  }

  static Status reply(const Annotation& annotation, const std::string& reasons) {
    if (auto written =
            symbolizer::write_all(symbolizer::kTableDescriptor, encode(annotation), "the annotated code");
        !written) {
      return written;
    }
    wire::TableEvent event;
    event.mutable_annotation()->set_reasons(reasons);
    return symbolizer::say(event);
  }

  const wire::AnnotationRequest& request_;
  const symbolizer::ProcessLimits limits_;
  uint64_t opened_bytes_ = 0;
};

}  // namespace

Status run_annotate_child() {
  const auto request = read_request();
  if (!request) {
    return propagate(request);
  }
  const Status made = AnnotateChild(*request).run();
  return made ? Status() : symbolizer::say_error(made.error());
}

}  // namespace plimsoll::annotate
