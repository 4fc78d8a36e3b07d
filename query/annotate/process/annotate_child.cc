#include "query/annotate/process/annotate_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
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

constexpr uint64_t kMaxKeptTableBytes = uint64_t{8} << 30;

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
    if (auto opened = open_symbols(files); !opened) {
      return opened;
    }
    const auto annotation = annotate({.binary = binary->elf,
                                      .symbols = symbols_ ? &*symbols_ : nullptr,
                                      .counts = *counts,
                                      .function = request_.function(),
                                      .name = name});
    return annotation ? reply(*annotation, reasons_) : propagate(annotation);
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

  Status open_symbols(const symbolizer::TableQuery& files) {
    if (open_kept_table(files.identity)) {
      return {};
    }
    auto lines = symbolizer::find_table(files, [this](uint64_t bytes) { note_opened(bytes); });
    if (!lines) {
      return propagate(lines);
    }
    reasons_ = std::move(lines->reasons);
    made_table_ = std::move(lines->bytes);
    if (made_table_.empty()) {
      return {};
    }
    const auto opened = symbolizer::Symtab::open(as_bytes(made_table_));
    if (!opened) {
      return propagate(opened);
    }
    symbols_ = *opened;
    return {};
  }

  // False where it is not there, is damaged or of another build, or has no lines: the files may be better by now.
  bool open_kept_table(std::string_view identity) {
    auto map = request_.kept_table().empty() ? Result<MappedFile>(MappedFile())
                                             : MappedFile::open(request_.kept_table(), kMaxKeptTableBytes);
    if (!map || map->bytes().empty()) {
      return false;
    }
    note_opened(map->bytes().size());
    const auto table = symbolizer::Symtab::open(map->bytes());
    if (!table || table->quality() < symbolizer::SymtabQuality::kLines || table->identity() != identity ||
        !table->verify()) {
      return false;
    }
    kept_table_ = std::move(*map);
    symbols_ = *table;
    return true;
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
          "add it with \"plimsoll binaries add\", or put it where it lay on the machines, below a folder of "
          "symbols.roots; or run plimsoll annotate --server ADDR --binary FILE where the binary is";
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
  MappedFile kept_table_;
  std::string made_table_;
  std::optional<symbolizer::Symtab> symbols_;  // borrows one of the tables
  std::string reasons_;                        // why there is no better one
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
