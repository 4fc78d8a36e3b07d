#include "query/operations/binaries.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/hex.h"
#include "base/printable.h"
#include "base/shell_argument.h"
#include "base/time.h"
#include "elf/build_id.h"
#include "query/selection/empty_selection.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

using symbolizer::BinaryRecord;
using symbolizer::KeptFile;

std::string label_of(const BinaryRecord& record, std::string_view key) {
  const auto found =
      std::ranges::find(record.labels, key, [](const auto& label) { return std::string_view(label.first); });
  return found == record.labels.end() ? std::string() : found->second;
}

// As one argument in a shell. Machines report the paths, and users copy the commands.
std::string file_argument(std::string_view text) {
  return shell_argument(fmt::format("{}{}", text.starts_with('-') ? "./" : "", printable(text)));
}

// By the beginning of its build ID, or a whole htlhash.
bool is_asked_for(const BinaryRecord& record, std::string_view digits) {
  return to_hex(record.build_id).starts_with(digits) ||
         std::ranges::any_of(record.files,
                             [&](const KeptFile& file) { return to_hex(file.htl_hash) == digits; });
}

std::string text_of_jobs(const std::vector<std::string>& jobs) {
  constexpr size_t kShownJobs = 5;
  std::string text;
  for (size_t i = 0; i < std::min(jobs.size(), kShownJobs); ++i) {
    text.append(i == 0 ? "" : ", ").append(printable(jobs[i]));
  }
  return jobs.size() <= kShownJobs ? text : fmt::format("{} and {} more", text, jobs.size() - kShownJobs);
}

std::string text_of_time(int64_t time_ns) {
  return time_ns == 0 ? std::string() : format_time(time_ns / kNsPerSecond * kNsPerSecond);
}

std::vector<Value> row_of(const BinaryRecord& record, const KeptFile& file, const BuildUse& use) {
  return {to_hex(record.build_id),
          described_kind(file),
          std::string(store::name_of(file.quality)),
          static_cast<int64_t>(file.size_bytes),
          format_time(file.added_ns / kNsPerSecond * kNsPerSecond),
          printable(file.source),
          text_of_jobs(use.jobs),
          text_of_time(use.last_seen_ns),
          label_of(record, "revision"),
          label_of(record, "builder"),
          label_of(record, "compiler"),
          label_of(record, "source_url"),
          use.libdw_units ? Value(static_cast<int64_t>(*use.libdw_units)) : Value(),
          to_hex(file.content_hash),
          to_hex(file.htl_hash)};
}

// Builds without names, by their IDs.
class MissingBinaries {
 public:
  MissingBinaries(const MissingBinariesRequest& request, const std::vector<BinaryRecord>& records,
                  const Snapshot& snapshot)
      : request_(request), snapshot_(snapshot) {
    for (const BinaryRecord& record : records) {
      if (std::ranges::any_of(record.files, has_names)) {
        kept_.emplace(record.build_id.substr(0, elf::kCutBuildIdBytes), &record);
      }
    }
  }

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    const Status counted = count(resolved->request);
    return counted ? Result<Table>(make_table(*resolved)) : propagate(counted);
  }

 private:
  struct Build {
    std::string name;
    std::string path;
    double value = 0;
    double samples = 0;
  };

  static bool has_names(const KeptFile& file) { return file.kind != symbolizer::BinaryKind::kSources; }

  Status count(store::AggregateRequest request) {
    const store::Dictionaries& dictionaries = snapshot_.dictionaries;
    std::vector<uint32_t> group(dictionaries.stacks.size());
    for (uint32_t stack = 0; stack < group.size(); ++stack) {
      const uint32_t leaf = dictionaries.stacks[stack].location;
      const auto binary = snapshot_.bindings.of(leaf).empty() ? binary_id_of(snapshot_, leaf) : std::nullopt;
      group[stack] = binary && is_addable(dictionaries.binaries[*binary]) ? *binary : 0;
    }
    request.group[store::Column::kStack] = store::IdGrouping::by(std::move(group));
    const auto cells = snapshot_.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    for (size_t c = 0; c < cells->size(); ++c) {
      const uint32_t id = cells->keys[c][store::Column::kStack];
      sum_ += cells->sum(c, kValue);
      if (id != 0) {
        add(dictionaries.binaries[id], cells->sum(c, kValue), cells->sum(c, kSamples));
      }
    }
    return {};
  }

  // The kernel's names come with profiles.
  static bool is_addable(const store::BinaryEntry& binary) {
    return binary.identity_kind == wire::GNU_BUILD_ID && !binary.path.starts_with('[');
  }

  // What shares the build ID is one build, though it may have several names.
  void add(const store::BinaryEntry& binary, double value, double samples) {
    const auto [entry, is_new] = builds_.try_emplace(binary.identity);
    Build& build = entry->second;
    if (is_new || binary.path < build.path) {
      build.name = file_name_of(binary);
      build.path = binary.path;
    }
    build.value += value;
    build.samples += samples;
  }

  Table make_table(ResolvedSelection& resolved) const {
    Table table;
    table.event = snapshot_.dictionaries.events[resolved.event].name;
    table.notes = std::move(resolved.notes);
    table.coverage = resolved.coverage;
    table.columns = {{"binary", ""},     {"build_id", ""}, {"path", ""},   {"samples", "count"},
                     {"share", "share"}, {"kept", ""},     {"command", ""}};
    using Entry = std::pair<std::string_view, const Build*>;
    std::vector<Entry> order;
    for (const auto& [build_id, build] : builds_) {
      order.emplace_back(build_id, &build);
    }
    std::ranges::sort(order, [](const Entry& a, const Entry& b) {
      return a.second->value != b.second->value ? a.second->value > b.second->value : a.first < b.first;
    });
    if (order.empty()) {
      table.notes.push_back(sum_ == 0
                                ? fmt::format("no results: {}", why_empty(request_.selection, snapshot_))
                                : "no binary with a build ID lacks names");
    }
    if (order.size() > request_.limit) {
      table.notes.push_back(fmt::format("showing {} of {} binaries", request_.limit, order.size()));
      order.resize(request_.limit);
    }
    for (const auto& [build_id, build] : order) {
      table.rows.push_back(
          {build->name, to_hex(build_id), build->path, static_cast<int64_t>(std::llround(build->samples)),
           sum_ == 0 ? 0.0 : build->value / sum_, kept_text(build_id), command_for(build_id, *build)});
    }
    return table;
  }

  const BinaryRecord* kept(std::string_view build_id) const {
    const auto found = kept_.find(build_id.substr(0, elf::kCutBuildIdBytes));
    return found == kept_.end() ? nullptr : found->second;
  }

  std::string kept_text(std::string_view build_id) const {
    const BinaryRecord* const record = kept(build_id);
    if (record == nullptr) {
      return "nothing";
    }
    std::string text;
    for (const KeptFile& file : record->files) {
      if (has_names(file)) {
        text.append(text.empty() ? "" : ", ");
        text.append(fmt::format("{} ({})", name_of(file.kind), store::name_of(file.quality)));
      }
    }
    return text;
  }

  // A stripped binary helps little: its debug file is wanted.
  std::string command_for(std::string_view build_id, const Build& build) const {
    const BinaryRecord* const record = kept(build_id);
    if (record != nullptr) {
      return fmt::format("plimsoll binaries add {} (or its -dbgsym package)",
                         file_argument(fmt::format("{}.debug", build.name)));
    }
    return build.path.empty() ? "plimsoll binaries add FILE"
                              : fmt::format("plimsoll binaries add {}", file_argument(build.path));
  }

  const MissingBinariesRequest& request_;
  const Snapshot& snapshot_;
  std::map<std::string, const BinaryRecord*, std::less<>> kept_;  // by the beginning of the build ID
  std::map<std::string, Build> builds_;
  double sum_ = 0;
};

}  // namespace

Result<BinariesRequest> parse_binaries(const Parameters& parameters, int64_t /*now_ns*/) {
  BinariesRequest request;
  const std::array known{text_parameter("build_id", request.build_id),
                         count_parameter("limit", kMaxRows, request.limit)};
  if (auto read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (request.build_id.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return invalid_parameter("build_id", request.build_id, "hexadecimal digits in lower case");
  }
  return request;
}

Result<FoundBinaries> find_binaries(const BinariesRequest& request, std::vector<BinaryRecord> records) {
  FoundBinaries found{.has_any = !records.empty()};
  std::erase_if(records, [&](const BinaryRecord& record) { return !is_asked_for(record, request.build_id); });
  if (records.empty() && !request.build_id.empty()) {
    return with_hint(with_field(fail(ErrorCode::kNotFound,
                                     "no binary whose build ID begins with {} was added, nor one with this "
                                     "htlhash",
                                     request.build_id),
                                "build_id"),
                     "plimsoll binaries list shows all, plimsoll binaries missing those that are wanted");
  }
  std::ranges::sort(records, [](const BinaryRecord& a, const BinaryRecord& b) {
    return a.added_ns() != b.added_ns() ? a.added_ns() > b.added_ns() : a.build_id < b.build_id;
  });
  found.found = records.size();
  records.resize(std::min(records.size(), request.limit));
  found.records = std::move(records);
  return found;
}

Table binaries(const FoundBinaries& found, const BuildUses& uses) {
  Table table;
  table.columns = {
      {"build_id", ""}, {"file", ""},       {"symbols", ""},          {"bytes", "bytes"},   {"added", ""},
      {"source", ""},   {"jobs", ""},       {"last_seen", ""},        {"revision", ""},     {"builder", ""},
      {"compiler", ""}, {"source_url", ""}, {"libdw_units", "count"}, {"content_hash", ""}, {"htlhash", ""}};
  if (!found.has_any) {
    table.notes.emplace_back("no binaries were added: plimsoll binaries add FILE");
  }
  if (found.found > found.records.size()) {
    table.notes.push_back(fmt::format("showing {} of {} builds", found.records.size(), found.found));
  }
  const BuildUse unused;
  for (const BinaryRecord& record : found.records) {
    const auto use = uses.find(record.build_id);
    for (const KeptFile& file : record.files) {
      table.rows.push_back(row_of(record, file, use == uses.end() ? unused : use->second));
    }
  }
  return table;
}

Table table_of_added(const symbolizer::AddedBinary& added) {
  Table table;
  table.columns = {{"build_id", ""}, {"file", ""}, {"symbols", ""}, {"bytes", "bytes"}, {"outcome", ""}};
  table.rows.push_back({to_hex(added.build_id), described_kind(added.file),
                        std::string(store::name_of(added.file.quality)),
                        static_cast<int64_t>(added.file.size_bytes), std::string(name_of(added.outcome))});
  return table;
}

Result<MissingBinariesRequest> parse_missing_binaries(const Parameters& parameters, int64_t now_ns) {
  MissingBinariesRequest request;
  const auto read = read_parameters(parameters, now_ns, request.selection,
                                    {count_parameter("limit", kMaxRows, request.limit)});
  return read ? Result<MissingBinariesRequest>(std::move(request)) : propagate(read);
}

Result<Table> missing_binaries(const MissingBinariesRequest& request,
                               const std::vector<BinaryRecord>& records, const Snapshot& snapshot) {
  return MissingBinaries(request, records, snapshot).run();
}

}  // namespace plimsoll::query
