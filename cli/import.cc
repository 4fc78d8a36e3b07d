#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/claimed_time.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/import_report.h"
#include "cli/symbol_tables.h"
#include "cli/trace_import.h"
#include "cli/views/terminal.h"
#include "config/server_config.h"
#include "formats/import_profile.h"
#include "formats/perf_data/file_header.h"
#include "formats/perf_data/import_recording.h"
#include "formats/unpack.h"
#include "server/row_pipeline.h"
#include "store/compaction/compactor.h"
#include "store/store.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::cli {
namespace {

bool is_recording(const formats::InputFile& input) {
  constexpr uint64_t kMagicBytes = 8;
  const auto begin = read_at(*input.fd, input.name, 0, std::min(input.size_bytes, kMagicBytes));
  return begin && perf_data::looks_like_recording(as_bytes(*begin));
}

// A file's content, ready to be accepted.
struct ToAccept {
  std::string encoded;
  bool is_raw_profile = false;
  std::vector<EventReport> events;  // empty: those of the raw profile
  std::vector<std::string> remarks = {};
  std::string time_note = {};  // where the file tells no time
};

// Of a time that cannot be the user hears at once; that a file tells none is usual.
void take_time_note(const wire::RawProfile& profile, ToAccept& content) {
  for (const std::string& note : profile.notes()) {
    if (note.starts_with(kWrongTime)) {
      content.remarks.push_back(note);
    } else if (note.starts_with(kNoTime)) {
      content.time_note = "; " + note;
    }
  }
}

// What somebody who imports a recording should know of it at once.
std::vector<std::string> remarks_on(const perf_data::ImportedRecording& imported) {
  std::vector<std::string> remarks = imported.damage;
  if (std::ranges::all_of(imported.events, [](const EventReport& event) { return event.samples == 0; })) {
    remarks.emplace_back("the recording has no samples");
  }
  if (const uint64_t lost = imported.profile.lost_side_band(); lost > 0) {
    remarks.push_back(fmt::format("{} records of unknown events were lost", lost));
  }
  for (const std::string& path : imported.replaced_binaries) {
    remarks.push_back(fmt::format("{} has changed since the recording: its functions have no names", path));
  }
  return remarks;
}

class Importer {
 public:
  // `given_end_ns`: of all files; 0: what they tell. `document`: what --json prints; null: lines of text are printed.
  Importer(store::Ingest& ingest, const ImportOptions& options, perf_data::RecordedImages::Folders folders,
           int64_t given_end_ns, ImportTable* document)
      : ingest_(ingest),
        traces_(ingest.directory()),
        options_(options),
        folders_(std::move(folders)),
        given_end_ns_(given_end_ns),
        document_(document) {}

  Status import(const formats::InputFile& input) {
    const std::string& path = input.name;
    const bool is_of_perf = is_recording(input);
    const auto spans = is_of_perf ? Result<TracesImported>(TracesImported()) : traces_.read(input);
    if (!spans) {
      return propagate(spans, "importing {}", path);
    }
    if (spans->read.taken > 0) {
      read_traces_.emplace_back(path, spans->read);
      return traces_.is_full() ? store_traces() : Status();
    }
    auto content = is_of_perf ? read_recording(input) : read_profile(input);
    if (!content) {
      return propagate(with_reason(content, spans->refused), "importing {}", path);
    }
    const auto accepted = ingest_.accept(as_bytes(content->encoded), limits_);
    // The ID of a converted profile is its content's: what differs is the time of a file that was copied.
    const bool is_same_content =
        !accepted && !content->is_raw_profile && accepted.error().code == ErrorCode::kConflict;
    if (!accepted && !is_same_content) {
      return propagate(accepted, "importing {}", path);
    }
    for (const std::string& remark : content->remarks) {
      add_remark(path, remark);
    }
    if (is_same_content) {
      add_remark(path,
                 "imported before with a different result, which is kept (import into another --data to "
                 "replace it)");
    }
    if (document_ != nullptr) {
      return add_to_document(path, *content);
    }
    if (is_same_content) {
      fmt::print("{}: imported before\n", path);
      return {};
    }
    fmt::print(
        "{}: profile {}, {}{}{}\n", path, to_hex(accepted->profile_id),
        content->is_raw_profile ? fmt::format("{} samples", accepted->hits) : summary_line(content->events),
        accepted->acceptance == store::Acceptance::kKnown ? " (imported before)" : "",
        printable(content->time_note));
    return {};
  }

  // Of files since the last call, which are reported then. To be called at the end.
  Status store_traces() {
    const auto files = std::exchange(read_traces_, {});
    if (const Status stored = traces_.store(); !stored) {
      return propagate(stored, "importing request traces of {} files, the first of them {}", files.size(),
                       files.front().first);
    }
    for (const auto& [path, read] : files) {
      report(path, read);
    }
    return {};
  }
  Status merge_traces() { return traces_.merge(); }

 private:
  // What is neither may be traces with an error in them. Where even their format is not known, the reader of profiles has said all.
  static Result<ToAccept> with_reason(const Result<ToAccept>& content, const std::optional<Error>& refused) {
    auto failure = propagate(content);
    if (refused.has_value() && refused->code != ErrorCode::kUnsupported) {
      failure.error().message += fmt::format("; read as request traces: {}", refused->message);
    }
    return failure;
  }

  void report(const std::string& path, const formats::SpansRead& read) const {
    if (read.rejected > 0) {
      add_remark(path, fmt::format("{} spans skipped: {}", read.rejected, read.first_rejection));
    }
    const std::string line =
        fmt::format("{}: {} spans of request traces ({})", path, read.taken, formats::name_of(read.format));
    if (document_ != nullptr) {
      document_->add_note(line);
    } else {
      fmt::print("{}\n", printable(line));
    }
  }

  formats::ImportLabels labels_of(const formats::InputFile& input) const {
    return {.machine = options_.machine,
            .job = options_.job,
            .platform = options_.platform,
            .file_name = input.file_name,
            .modified_ns = input.modified_ns,
            .given_end_ns = given_end_ns_,
            .now_ns = now_ns_};
  }

  Result<ToAccept> read_profile(const formats::InputFile& input) const {
    // Enough for what is decompressed already: raw profiles have a lower limit of their own.
    const formats::Limits formats_limits{.max_encoded_bytes = formats::Limits().max_decoded_bytes};
    if (input.size_bytes > formats_limits.max_encoded_bytes) {
      return fail(ErrorCode::kTooLarge,
                  "it is no recording of perf, and holds {} bytes; profiles of at most {} are read",
                  input.size_bytes, formats_limits.max_encoded_bytes);
    }
    auto content = read_at(*input.fd, input.name, 0, input.size_bytes);
    if (!content) {
      return propagate(content);
    }
    if (wire::looks_like_profile(as_bytes(*content))) {
      ToAccept raw_profile{std::move(*content), true, {}};
      if (given_end_ns_ != 0) {
        raw_profile.remarks.emplace_back(
            "a raw profile keeps the time that its daemon gave it, whatever --time says");
      }
      return raw_profile;
    }
    const auto raw = formats::import_profile(as_bytes(*content), labels_of(input), formats_limits);
    if (!raw) {
      return propagate(raw);
    }
    ToAccept to_accept{wire::encode(*raw), false, event_reports(*raw)};
    take_time_note(*raw, to_accept);
    return to_accept;
  }

  Result<ToAccept> read_recording(const formats::InputFile& input) {
    if (auto checked = formats::check_labels(labels_of(input)); !checked) {
      return propagate(checked);
    }
    auto file = perf_data::open_recording(input.fd, input.name);
    if (!file) {
      return propagate(file);
    }
    auto imported =
        perf_data::import_recording(file->reader, {.content_id = file->content_id,
                                                   .machine = options_.machine,
                                                   .job = options_.job,
                                                   .platform = options_.platform,
                                                   .modified_ns = input.modified_ns,
                                                   .given_end_ns = given_end_ns_,
                                                   .now_ns = now_ns_,
                                                   .folders = folders_,
                                                   .progress = progress_of(input.name),
                                                   .running_kernel = [this] { return running_kernel(); }});
    if (::isatty(STDERR_FILENO) == 1) {
      fmt::print(stderr, "\r\x1b[K");
    }
    if (!imported) {
      return propagate(imported);
    }
    ToAccept to_accept{wire::encode(imported->profile), false, {}, remarks_on(*imported)};
    to_accept.events = std::move(imported->events);
    take_time_note(imported->profile, to_accept);
    return to_accept;
  }

  static std::function<void(uint64_t, uint64_t)> progress_of(const std::string& path) {
    if (::isatty(STDERR_FILENO) != 1) {
      return {};
    }
    return [path, shown = uint64_t{101}](uint64_t done_bytes, uint64_t all_bytes) mutable {
      const uint64_t percent = done_bytes / std::max<uint64_t>(all_bytes / 100, 1);
      if (percent != shown) {
        shown = percent;
        fmt::print(stderr, "\rreading {}: {} % ", printable(path), percent);
        std::fflush(stderr);
      }
    };
  }

  const identity::KernelMap* running_kernel() {
    if (kernel_ == nullptr) {
      if (auto kernel = identity::KernelMap::read_running()) {
        kernel_ = std::make_unique<identity::KernelMap>(std::move(*kernel));
      }
    }
    return kernel_.get();
  }

  void add_remark(const std::string& path, const std::string& remark) const {
    fmt::print(stderr, "{}: {}\n", printable(path), printable(remark));
    if (document_ != nullptr) {
      document_->add_note(fmt::format("{}: {}", path, remark));
    }
  }

  Status add_to_document(const std::string& path, const ToAccept& content) const {
    if (!content.events.empty()) {
      document_->add(path, content.events);
      return {};
    }
    const auto profile = wire::decode(as_bytes(content.encoded), limits_);
    if (!profile) {
      return propagate(profile);
    }
    document_->add(path, event_reports(*profile));
    return {};
  }

  store::Ingest& ingest_;
  TraceImport traces_;
  std::vector<std::pair<std::string, formats::SpansRead>> read_traces_;  // by path; not stored yet
  const ImportOptions& options_;
  const perf_data::RecordedImages::Folders folders_;
  const int64_t given_end_ns_;
  ImportTable* const document_;
  const int64_t now_ns_ = wall_now_ns();
  const wire::ProfileLimits limits_;
  std::unique_ptr<identity::KernelMap> kernel_;
};

std::vector<std::string> lines_of(const server::PipelineReport& report) {
  std::vector<std::string> lines{
      fmt::format("stored {} profiles ({} rows); symbolized {} of {} new addresses", report.rows.profiles,
                  report.rows.rows, report.names.named, report.names.locations)};
  for (const std::string& improved : report.names.improved) {
    lines.push_back("better symbols: " + improved);
  }
  lines.insert(lines.end(), report.names.missing.begin(), report.names.missing.end());
  return lines;
}

Status merge_segments(store::Ingest& ingest) {
  const auto compactor = store::Compactor::open(ingest, {});
  if (!compactor) {
    return propagate(compactor);
  }
  const auto merged = (*compactor)->merge_all();
  return merged ? Status() : propagate(merged, "merging segments");
}

// What can be imported is, whatever else cannot.
Status import_files(Importer& importer, const std::vector<std::string>& files, ImportTable& document) {
  std::vector<Error> failed;
  uint64_t inputs = 0;
  for (const std::string& file : files) {
    formats::unpack(file, {}, [&](const std::string& name, const Result<formats::InputFile>& input) {
      ++inputs;
      const Status imported = input ? importer.import(*input) : propagate(input, "importing {}", name);
      if (imported) {
        return;
      }
      failed.push_back(imported.error());
      document.add_failure(name, imported.error());
      if (failed.size() > 1 || files.size() > 1 || name != file) {
        fmt::print(stderr, "{}\n", printable(imported.error().text()));
      }
    });
  }
  // Under the name of the last file that was given: the message has its own.
  if (const Status stored = importer.store_traces(); !stored) {
    failed.push_back(stored.error());
    document.add_failure(files.back(), stored.error());
    if (inputs > 1) {
      fmt::print(stderr, "{}\n", printable(stored.error().text()));
    }
  }
  if (failed.empty()) {
    return {};
  }
  return inputs == 1 ? std::unexpected(failed.front())
                     : fail(failed.front().code, "{} of {} files were not imported, for the reasons above",
                            failed.size(), inputs);
}

}  // namespace

Status run_import(const ImportOptions& options) {
  const std::optional<int64_t> given_end_ns =
      options.time.empty() ? std::optional<int64_t>(0) : parse_time_ns(options.time, wall_now_ns());
  if (!given_end_ns || (*given_end_ns <= 0 && !options.time.empty())) {
    return with_field(fail(ErrorCode::kInvalid, "\"{}\" is no time", printable(options.time)), "--time");
  }
  auto ingest = store::Ingest::open(options.data_dir);
  if (!ingest) {
    return propagate(ingest, "opening the data directory {}", options.data_dir);
  }
  const config::ServerConfig defaults;
  const auto given_or = [](const auto& given, const auto& otherwise) {
    return given.empty() ? otherwise : given;
  };
  const auto symbol_roots = given_or(options.symbol_roots, defaults.symbol_roots);
  const auto debug_roots = symbolizer::with_repository(
      given_or(options.debug_roots, defaults.symbol_debug_roots), options.data_dir);
  ImportTable document;
  Importer importer(**ingest, options, {symbol_roots, debug_roots}, *given_end_ns,
                    options.reports_json ? &document : nullptr);
  const Status imported = import_files(importer, options.files, document);
  auto symbolizer =
      symbolizer::Symbolizer::open(options.data_dir, {symbol_roots, debug_roots}, table_worker());
  if (!symbolizer) {
    return propagate(symbolizer);
  }
  // What was accepted before a failure is accepted: it becomes rows now rather than at some later start.
  server::SymbolPasses passes(store::symbols_of(**ingest), std::move(*symbolizer));
  const auto report = server::run_pipeline(**ingest, passes);
  if (!report) {
    return propagate(report);
  }
  for (const std::string& line : lines_of(*report)) {
    if (options.reports_json) {
      document.add_note(line);
    } else {
      fmt::print("{}\n", line);
    }
  }
  if (options.reports_json) {
    fmt::print("{}", document.json_by_line());
  }
  Status merged = merge_segments(**ingest);
  merged = merged ? importer.merge_traces() : merged;
  return imported ? merged : imported;
}

}  // namespace plimsoll::cli
