#include "query/fdo/process/profile_child.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "base/file.h"
#include "base/hex.h"
#include "proto/symbol_table.pb.h"
#include "query/fdo/counts/count_binary.h"
#include "query/fdo/making/elf_checks.h"
#include "query/fdo/making/older_builds.h"
#include "query/fdo/making/profile_format.h"
#include "query/fdo/making/program.h"
#include "query/fdo/profile/profile_of.h"
#include "query/fdo/quality/quality.h"
#include "query/table/table.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/search/table_search.h"

namespace plimsoll::fdo {
namespace {

// One build of the program: its files, and what the fleet measured in it.
struct MadeBuild {
  std::string build_id;
  BinaryCounts counts;
  symbolizer::FoundFile file;
  symbolizer::FoundTable lines;
  std::unique_ptr<const symbolizer::Symtab> symtab;  // of `lines`; never null
  Program program;
};

Result<wire::ProfileRequest> read_request() {
  const auto text = read_file("/dev/stdin", symbolizer::kMaxRequestBytes);
  if (!text) {
    return propagate(text, "reading the request");
  }
  wire::ProfileRequest request;
  return request.ParseFromString(*text) && request.builds_size() > 0
             ? Result<wire::ProfileRequest>(std::move(request))
             : with_hint(fail(ErrorCode::kInvalid, "standard input holds no request"),
                         "this command is for plimsoll itself; plimsoll fdo autofdo makes a profile");
}

// Reasons have paths of this machine: on a line of their own, which the parent may leave out.
std::string hint_with(const char* what_to_do, const std::string& reasons) {
  return reasons.empty() ? what_to_do : fmt::format("{}\n{}", what_to_do, reasons);
}

class ProfileChild {
 public:
  explicit ProfileChild(const wire::ProfileRequest& request)
      : request_(request), limits_{request.memory_bytes(), request.profile_bytes(), request.cpu_seconds()} {}

  Status run() {
    if (auto confined = symbolizer::confine(limits_, request_.parent_pid(), symbolizer::kTableDescriptor);
        !confined) {
      return confined;
    }
    auto counts = counts_in(request_.builds(0));
    if (!counts) {
      return propagate(counts);
    }
    const auto newest = make_build(request_.builds(0), std::move(*counts));
    if (!newest) {
      return propagate(newest);
    }
    const MadeBuild& build = **newest;
    ProfileReport report;
    OlderBuilds older(measured(build), profile_of(build.program.execution.counts, *build.symtab, report));
    if (auto added = add_older(older); !added) {
      return added;
    }
    const QualityReport quality = measure_quality({.counts = build.counts,
                                                   .execution = build.program.execution,
                                                   .code = build.program.code,
                                                   .symbols = build.symtab.get(),
                                                   .profile = &report,
                                                   .older = older.builds(),
                                                   .binary = build.counts.path});
    if (auto checked = check_quality(quality, static_cast<Usefulness>(request_.min_quality())); !checked) {
      return checked;
    }
    return reply(bytes_of(older.profile(), static_cast<ProfileFormat>(request_.format())), quality);
  }

 private:
  static MeasuredBuild measured(const MadeBuild& build) {
    return {build.build_id, build.counts, build.program.execution, *build.symtab};
  }

  void note_opened(uint64_t bytes) {
    opened_bytes_ += bytes;
    symbolizer::grant_cpu_time(limits_, opened_bytes_);
    wire::TableEvent event;
    event.set_opened_bytes(opened_bytes_);
    if (const Status said = symbolizer::say(event); !said) {
      ::_exit(1);  // the reader has ended
    }
  }

  static Result<BinaryCounts> counts_in(const wire::ProfileRequest::Build& asked) {
    const auto table = query::from_json(asked.counts());
    auto counts = table ? counts_from(*table) : propagate(table);
    return counts ? std::move(counts)
                  : propagate(counts, "reading the counts of build {}", to_hex(asked.files().identity()));
  }

  Result<symbolizer::FoundFile> find_code(const symbolizer::TableQuery& files, const std::string& name) {
    // find_table() opens it once more: a file counts once for the CPU time that is granted.
    auto found = symbolizer::find_binary(files, [](uint64_t /*bytes*/) {});
    if (!found) {
      return propagate(found);
    }
    std::optional<symbolizer::FoundFile>& file = found->file;
    if (!file) {
      return with_hint(
          fail(ErrorCode::kNotFound, "the server has no file of {}", name),
          hint_with("put the binary where it lay on the machines, below a folder of symbols.roots; or run "
                    "plimsoll fdo autofdo --server ADDR --binary FILE where the binary is",
                    found->reasons));
    }
    if (auto whole = check_whole(file->map.bytes(), file->elf, name); !whole) {
      return propagate(whole);
    }
    return std::move(*file);
  }

  // In its place: the symbol table borrows the bytes beside it.
  Result<std::unique_ptr<MadeBuild>> make_build(const wire::ProfileRequest::Build& asked,
                                                BinaryCounts counts) {
    const symbolizer::TableQuery files = symbolizer::query_of(asked.files());
    const std::string name = "build " + to_hex(files.identity);
    auto file = find_code(files, name);
    if (!file) {
      return propagate(file);
    }
    if (auto checked = check_build_id(counts, to_hex(file->elf.build_id())); !checked) {
      return propagate(checked);
    }
    auto lines = symbolizer::find_table(files, [this](uint64_t bytes) { note_opened(bytes); });
    if (!lines) {
      return propagate(lines);
    }
    auto build = std::make_unique<MadeBuild>(MadeBuild{.build_id = to_hex(file->elf.build_id()),
                                                       .counts = std::move(counts),
                                                       .file = std::move(*file),
                                                       .lines = std::move(*lines),
                                                       .symtab = nullptr,
                                                       .program = {}});
    if (build->lines.quality < symbolizer::SymtabQuality::kLines) {
      return with_hint(fail(ErrorCode::kInvalid, "the server has no line tables of {}", name),
                       hint_with("compile with -gmlt -fdebug-info-for-profiling; of a stripped binary put "
                                 "the debug file below a folder of symbols.debug_roots",
                                 build->lines.reasons));
    }
    auto symtab = symbolizer::Symtab::open(as_bytes(build->lines.bytes));
    if (!symtab) {
      return propagate(symtab);
    }
    build->symtab = std::make_unique<const symbolizer::Symtab>(*symtab);
    to_addresses(build->counts, build->file.elf);
    auto program =
        read_program(build->file.elf, name, extents_of(build->file.elf, build->symtab.get()), build->counts);
    if (!program) {
      return propagate(program);
    }
    build->program = std::move(*program);
    return build;
  }

  Status add_older(OlderBuilds& older) {
    for (int i = 1; i < request_.builds_size(); ++i) {
      auto counts = counts_in(request_.builds(i));
      if (!counts) {
        return propagate(counts);
      }
      // Its files may be gone, too.
      if (counts->samples <= 0 && counts->branches.empty()) {
        older.add_without_samples(counts->build_id);
        continue;
      }
      const auto made = make_build(request_.builds(i), std::move(*counts));
      if (!made) {
        return propagate(made);
      }
      older.add(measured(**made));
    }
    return {};
  }

  static Status reply(const std::string& bytes, const QualityReport& quality) {
    if (bytes.empty()) {
      return with_hint(fail(ErrorCode::kInvalid, "no sample belongs to a function whose start line is known"),
                       "compile with -gmlt -fdebug-info-for-profiling and run that build in the fleet");
    }
    if (auto written = symbolizer::write_all(symbolizer::kTableDescriptor, bytes, "the profile"); !written) {
      return written;
    }
    wire::TableEvent event;
    event.mutable_profile()->set_report(to_json(quality));
    event.mutable_profile()->set_usefulness(static_cast<uint32_t>(quality.usefulness));
    return symbolizer::say(event);
  }

  const wire::ProfileRequest& request_;
  const symbolizer::ProcessLimits limits_;
  uint64_t opened_bytes_ = 0;
};

}  // namespace

Status run_profile_child() {
  const auto request = read_request();
  if (!request) {
    return propagate(request);
  }
  const Status made = ProfileChild(*request).run();
  return made ? Status() : symbolizer::say_error(made.error());
}

}  // namespace plimsoll::fdo
