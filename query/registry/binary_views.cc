#include "query/registry/binary_views.h"

#include <utility>

#include "base/time.h"
#include "query/operations/binaries.h"
#include "query/registry/answers.h"
#include "query/registry/common_parameters.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::query {
namespace {

// As long as rows keep a build from being dropped.
constexpr int64_t kUseNs = int64_t{7} * 24 * kNsPerHour;

void add_libdw_units(const FoundBinaries& found, const std::string& data_dir, BuildUses& uses) {
  for (const symbolizer::BinaryRecord& record : found.records) {
    if (const auto readers = symbolizer::readers_of_table(data_dir, record.build_id)) {
      uses[record.build_id].libdw_units = readers->damaged + readers->relocatable + readers->asked;
    }
  }
}

Table binaries_used_by(const FoundBinaries& found, const std::string& data_dir, BuildUses uses) {
  add_libdw_units(found, data_dir, uses);
  return binaries(found, uses);
}

// Without uses where rows cannot be read: an operator who repairs a store asks what is kept.
Result<Answer> binaries_with_uses(const FoundBinaries& found, const Question& question,
                                  ViewSources& sources) {
  if (found.records.empty()) {
    return Answer(binaries_used_by(found, sources.data_dir(), {}));
  }
  const int64_t from_ns = question.now_ns - kUseNs;
  const store::TimeSpans times{store::TimeSpan{.from_ns = from_ns}};
  auto answer =
      of_sound_rows(sources, times, question.parameters, [&](const Snapshot& snapshot) -> Result<Answer> {
        auto uses = uses_of_builds(found.records, snapshot, from_ns);
        return uses ? Result<Answer>(binaries_used_by(found, sources.data_dir(), *std::move(uses)))
                    : propagate(uses);
      });
  if (answer || answer.error().code != ErrorCode::kCorrupt) {
    return answer;
  }
  Table without = binaries_used_by(found, sources.data_dir(), {});
  without.notes.emplace_back(
      "who uses the builds is unknown: the rows cannot be read (plimsoll store check)");
  return Answer(std::move(without));
}

}  // namespace

View binaries_view() {
  return {
      .name = "binaries",
      .command = "",
      .taken_by = "binaries list",
      .summary = "List the executables and debug files that were added, or those of one build",
      .parameters = {{.name = "build_id",
                      .kind = ValueKind::kText,
                      .help = "Build ID in hexadecimal digits, its first digits, or an htlhash"},
                     limit_spec("100", "Builds to show")},
      .columns = {{"build_id", "", "Build ID", kAlwaysShown},
                  {"file", "", "executable, or debug (a separate debug file)", kAlwaysShown},
                  {"symbols", "", "none, dynsym, symtab, line tables or full DWARF", kAlwaysShown},
                  {"bytes", "bytes", "Size of the file"},
                  {"added", "", "When it was added"},
                  {"source", "", "Who added it, and from which file"},
                  {"jobs", "", "Jobs with samples in its code in the last 7 days, the most samples first"},
                  {"last_seen", "", "Newest profile with samples in its code, in the last 7 days"},
                  {"revision", "", "Label: revision of the sources", kDetail},
                  {"builder", "", "Label: who or what built it", kDetail},
                  {"compiler", "", "Label: its compiler", kDetail},
                  {"source_url", "", "Label: where its sources are", kDetail},
                  {"libdw_units", "count",
                   "Units of its DWARF that libdw has read (absent: no symbol table was made)", kDetail},
                  {"content_hash", "", "XXH3 (128 bits) of the file", kMinorDetail},
                  {"htlhash", "", "Its name in profiles of OpenTelemetry", kMinorDetail}},
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_binaries(question.parameters, question.now_ns);
        auto records = request ? symbolizer::read_records(sources.data_dir()) : propagate(request);
        const auto found = records ? find_binaries(*request, *std::move(records)) : propagate(records);
        return found ? binaries_with_uses(*found, question, sources) : propagate(found);
      },
  };
}

View missing_binaries_view() {
  return {
      .name = "binaries/missing",
      .command = "",
      .taken_by = "binaries missing",
      .summary = "List sampled binaries without function names, by the samples that would get names",
      .parameters = joined({selection_specs(), {limit_spec("20")}}),
      .columns = {{"binary", "", "File name", kAlwaysShown},
                  {"build_id", "", "Build ID", kAlwaysShown},
                  {"path", "", "Where a machine has it"},
                  {"samples", "count", "Samples in it without a function name"},
                  {"share", "share", "Their share of the event's value", kAlwaysShown},
                  {"kept", "", "Its files that were added, with their symbols"},
                  {"command", "", "What would help", kAlwaysShown}},
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_missing_binaries(question.parameters, question.now_ns);
        const auto records = request ? symbolizer::read_records(sources.data_dir()) : propagate(request);
        if (!records) {
          return propagate(records);
        }
        const store::TimeSpans times = times_of(question.parameters, question.now_ns);
        return of_sound_rows(sources, times, question.parameters, [&](const Snapshot& snapshot) {
          return of_rolled_up_rows(question, times, snapshot,
                                   as_answer(missing_binaries(*request, *records, snapshot)));
        });
      },
  };
}

}  // namespace plimsoll::query
