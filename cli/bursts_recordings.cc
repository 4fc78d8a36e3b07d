#include "cli/bursts_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "base/time.h"
#include "cli/bursts_functions.h"
#include "cli/trace_files.h"
#include "store/store.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/clocks/clock_repair.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::cli {
namespace {

// Of one list; it takes 200 bytes per recording.
constexpr size_t kMaxListedRecordings = 100'000;

class RecordingFiles : public BurstRecordings {
 public:
  // Null: functions stay unnamed.
  explicit RecordingFiles(std::unique_ptr<BurstFunctions> functions) : functions_(std::move(functions)) {}

  Status add(const std::string& file) {
    const traces::BurstFileLimits limits;
    const auto bytes = read_file(file, limits.max_encoded_bytes);
    auto recording = bytes ? traces::decode_bursts(as_bytes(*bytes), limits)
                           : Result<traces::BurstRecording>(propagate(bytes));
    if (!recording) {
      return bytes ? propagate(recording, "reading {}", file) : propagate(recording);
    }
    const auto config = traces::BurstConfig::of_bits(recording->config_bits);
    if (!config) {
      return propagate(config);
    }
    if (config_ && *config_ != *config) {
      return fail(ErrorCode::kInvalid, "{} has the burst-config {}, recordings before it have {}", file,
                  config->text(), config_->text());
    }
    config_ = *config;
    if (const Status named = functions_ == nullptr ? Status() : functions_->name(*recording); !named) {
      return named;
    }
    if (!machines_.insert(recording->machine).second) {
      return with_hint(fail(ErrorCode::kInvalid, "{} is another recording of machine {}", file,
                            printable(recording->machine)),
                       "give one recording per machine");
    }
    ListedRecording listed{.name = file, .machine = recording->machine, .begin_ns = INT64_MAX};
    for (const traces::Burst& burst : recording->bursts) {
      listed.begin_ns = std::min(listed.begin_ns, burst.planned.begin_ms * kNsPerMs);
    }
    listed_.push_back(std::move(listed));
    recordings_.push_back(std::make_shared<const traces::BurstRecording>(std::move(*recording)));
    return {};
  }

  Result<BurstRecordingPointer> read(size_t number) override { return recordings_[number]; }

 private:
  std::unique_ptr<BurstFunctions> functions_;
  std::vector<BurstRecordingPointer> recordings_;
  std::set<std::string> machines_;
  std::optional<traces::BurstConfig> config_;
};

// Of a table of the view `bursts`: nothing where it has no such columns.
std::optional<std::vector<ListedRecording>> listed_in(const query::Table& table) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    places[table.columns[i].name] = i;
  }
  for (const char* name : {"id", "machine", "begin", "events"}) {
    if (!places.contains(name)) {
      return std::nullopt;
    }
  }
  std::vector<ListedRecording> listed;
  for (const auto& row : table.rows) {
    const auto* const id = std::get_if<std::string>(&row[places["id"]]);
    const auto* const machine = std::get_if<std::string>(&row[places["machine"]]);
    const auto* const begin = std::get_if<std::string>(&row[places["begin"]]);
    const auto* const events = std::get_if<int64_t>(&row[places["events"]]);
    const auto begin_ns = begin != nullptr ? parse_time_ns(*begin, 0) : std::nullopt;
    if (id == nullptr || machine == nullptr || events == nullptr || !begin_ns || !from_hex(*id)) {
      return std::nullopt;
    }
    listed.push_back({.name = *id,
                      .machine = *machine,
                      .begin_ns = *begin_ns,
                      .events = static_cast<uint64_t>(std::max<int64_t>(*events, 0))});
  }
  std::ranges::sort(listed, {},
                    [](const ListedRecording& one) { return std::tie(one.machine, one.begin_ns, one.name); });
  return listed;
}

class StoredRecordings : public BurstRecordings {
 public:
  StoredRecordings(AnswerSource source, std::unique_ptr<BurstFunctions> functions)
      : source_(std::move(source)), functions_(std::move(functions)) {
    if (source_.server.empty()) {
      directory_ = store::open_burst_source(source_.data_dir);
    }
  }

  Status list(query::Parameters parameters) {
    for (auto& [name, text] : parameters) {
      const bool is_time = name == "since" || name == "until";
      if (const auto time_ns = is_time ? parse_time_ns(text, wall_now_ns()) : std::nullopt) {
        (name == "since" ? from_ns_ : to_ns_) = *time_ns;
        // The server's clock may differ: what is relative is so to this machine's, here and there.
        text = format_time(*time_ns);
      }
    }
    parameters.emplace_back("limit", fmt::format("{}", kMaxListedRecordings));
    const auto table = ask_table("bursts", {.source = source_, .parameters = std::move(parameters)});
    if (!table) {
      return propagate(table);
    }
    if (table->rows.size() >= kMaxListedRecordings) {
      return with_hint(
          fail(ErrorCode::kTooLarge, "there are {} recordings of that time or more", kMaxListedRecordings),
          "give --machine, or less time by --since and --until");
    }
    auto listed = listed_in(*table);
    if (!listed) {
      return fail(ErrorCode::kUnsupported, "the list of recordings is of another version");
    }
    if (listed->empty()) {
      notes_.emplace_back("there are no recordings of bursts of that selection: see plimsoll bursts list");
    }
    listed_ = *std::move(listed);
    return {};
  }

  Result<BurstRecordingPointer> read(size_t number) override {
    const std::string& id = listed_[number].name;
    const auto bytes = directory_ ? directory_->read(from_hex(id).value_or(""))
                                  : ask_server(source_, "/api/v1/bursts/recordings/" + id, {});
    if (!bytes && bytes.error().code == ErrorCode::kNotFound) {
      notes_.push_back(fmt::format("recording {} of machine {} has been dropped meanwhile", id,
                                   printable(listed_[number].machine)));
      return BurstRecordingPointer();
    }
    auto recording =
        bytes ? traces::decode_bursts(as_bytes(*bytes)) : Result<traces::BurstRecording>(propagate(bytes));
    if (const Status named = recording && functions_ != nullptr ? functions_->name(*recording) : Status();
        !named) {
      return propagate(named);
    }
    return recording ? Result<BurstRecordingPointer>(
                           std::make_shared<const traces::BurstRecording>(std::move(*recording)))
                     : propagate(recording, "reading recording {}", id);
  }

 private:
  const AnswerSource source_;
  const std::unique_ptr<BurstFunctions> functions_;  // null: functions stay unnamed
  std::unique_ptr<store::BurstSource> directory_;    // null: a server is asked
};

Result<std::unique_ptr<BurstFunctions>> functions_of(const BurstsInput& input) {
  if (!input.names_functions) {
    return nullptr;
  }
  auto functions = BurstFunctions::open(input.binaries, input.stored.source);
  return functions ? Result<std::unique_ptr<BurstFunctions>>(
                         std::make_unique<BurstFunctions>(std::move(*functions)))
                   : propagate(functions);
}

}  // namespace

Result<std::unique_ptr<BurstRecordings>> open_burst_recordings(const BurstsInput& input) {
  if (const Status given = expect_traces_or_source(input.files, input.stored.source, "FILE"); !given) {
    return propagate(given);
  }
  auto functions = functions_of(input);
  if (!functions) {
    return propagate(functions);
  }
  if (input.files.empty()) {
    auto stored = std::make_unique<StoredRecordings>(input.stored.source, std::move(*functions));
    const Status listed = stored->list(input.stored.parameters);
    return listed ? Result<std::unique_ptr<BurstRecordings>>(std::move(stored)) : propagate(listed);
  }
  if (!input.stored.parameters.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "--{} selects recordings of --server or --data, not of files",
                           input.stored.parameters.front().first),
                      "--" + input.stored.parameters.front().first);
  }
  if (input.files.size() > traces::kMaxClockMachines) {
    return fail(ErrorCode::kInvalid, "{} recordings are given; at most {} can be joined", input.files.size(),
                traces::kMaxClockMachines);
  }
  auto files = std::make_unique<RecordingFiles>(std::move(*functions));
  for (const std::string& file : input.files) {
    if (const Status added = files->add(file); !added) {
      return propagate(added);
    }
  }
  return files;
}

}  // namespace plimsoll::cli
