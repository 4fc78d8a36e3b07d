// The registry of views: each question that people and programs can ask, described once. The subcommands of plimsoll, the routes of the
// server, its OpenAPI document, shell completion and docs/views.md are made from these descriptions; none of them has a list of its own.
//
// A new view is a function in query/views and an entry in profile_views.cc, fleet_views.cc, decision_views.cc, fdo_views.cc, trace_views.cc or
// orders.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "query/operations/draws.h"
#include "query/operations/running_server.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "query/sql/answer.h"
#include "query/table/table.h"
#include "query/views/flame.h"
#include "sqlite/question/question.h"
#include "store/retention/retention_limits.h"
#include "store/store_account.h"

namespace plimsoll::query {

// What a parameter's text is. Says how help writes it, what completes it, and its type in OpenAPI.
enum class ValueKind {
  kText,
  kEvent,
  kEvents,  // with commas between
  kRatio,
  kDimension,
  kDimensions,  // with commas between
  kPredicate,
  kRegex,
  kTime,
  kDuration,
  kCount,
  kNumber,
  kShare,
  kChoice,  // one of ParameterSpec::choices
  kFlag,    // yes or no
  kFunction,
  kJob,
  kMachine,
  kDraw,
  kStatement,
};

struct ParameterSpec {
  std::string name;  // in a URL's query: "base_where"
  ValueKind kind = ValueKind::kText;
  std::string help = {};           // one sentence, without its default
  std::string default_value = {};  // as it would be written; empty: none, or `help` says it
  bool is_repeatable = false;
  bool is_positional = false;  // on a command line
  std::vector<std::string> choices = {};
};

// "--base-where"; of a flag whose default is yes "--no-margins"; of a positional one its name in capitals.
std::string flag_of(const ParameterSpec& parameter);
// "PREDICATE"; empty for a flag.
std::string placeholder_of(const ParameterSpec& parameter);
// Its help, and its default.
std::string help_of(const ParameterSpec& parameter);

struct ColumnSpec {
  std::string
      name;  // "{dimension}" stands for a column of each dimension asked for, "{event}" for an event's name
  std::string
      unit;  // as Table has it; "{unit}": the event's, "{ratio}": the ratio's, "{cost}": CPUs or load; empty: text
  std::string meaning;
  ColumnPriority priority =
      kUsualPriority;  // 0: what the view is about; more: left out earlier on a narrow terminal
};

// Changes something: a POST, which a view's command has as a flag; or a PUT or DELETE of a path, which a subcommand sends.
struct OrderSpec {
  std::string path;  // below /api/v1/; "{name}" in it stands for the parameter of that name
  std::string flag;  // of the command: "--stop", "define NAME"
  std::string help;
  std::vector<ParameterSpec> parameters = {};  // one, which is the flag's value, or none
  std::string method = "POST";
};

// Who may ask.
enum class Audience { kReaders, kOperators };

// How long an answer may take: a fraction of a second, whatever the store holds; seconds; or all the time there is.
enum class Effort { kShort, kLong, kUnbounded };

// Another tool's file.
struct FileAnswer {
  std::string bytes;
};
using Answer = std::variant<Table, Flame, SqlAnswer, FileAnswer>;
enum class AnswerKind { kTable, kFlame, kSql, kFile };  // in the order of Answer

// What is asked.
struct Question {
  Parameters parameters;
  int64_t now_ns = 0;  // wall clock
  // Of SQL statements, and whether the client has gone.
  sqlite::QuestionLimits limits = {};
  // Of request traces, that a view that reads them may have in memory; kTooLarge beyond.
  uint64_t max_spans = UINT64_MAX;
};

// Where answers come from. A view takes what it needs.
class ViewSources {
 public:
  virtual ~ViewSources() = default;
  // With all profiles of these times; `store::all_times()` where the view looks at others too.
  virtual Result<std::shared_ptr<const Snapshot>> snapshot(const store::TimeSpans& times) = 0;
  virtual const std::string& data_dir() const = 0;
  virtual const store::Fleet& fleet() const = 0;
  // Repeats a draw (scheduler::draw_again(), which query must not know).
  virtual KnownDraws::DrawAgain draw_again() const = 0;
  // Brings what the audit log has in memory to its file.
  virtual Status write_audit_log() { return {}; }
  // What only a running server knows of itself; nothing: the source is a data directory.
  virtual std::optional<RunningServer> running_server() { return std::nullopt; }
  // Of the data directory: those of the server that writes it, or the defaults on its disk.
  virtual Result<store::RetentionLimits> retention_limits();
  // What the data directory holds now, or, of a server, held a few seconds ago.
  virtual Result<store::StoreAccount> store_account(int64_t now_ns);
};

struct Example {
  std::string command;  // after "plimsoll top --data DIR", or after "plimsoll top"
  std::string meaning;
};

// An answer that has such a cell reports a failure.
struct FailureRule {
  std::string column;
  std::string value;
};

struct View {
  std::string name;           // the path below /api/v1/: "top", "export/pprof"
  std::string command;        // of plimsoll; empty: another command takes it (wsmeter, assign, export)
  std::string taken_by = {};  // where it has no command: the command line that takes its answer
  std::string summary = {};   // the question it answers, in one line
  std::string details = {};
  std::vector<ParameterSpec> parameters = {};
  std::vector<ColumnSpec> columns = {};  // of a table
  std::vector<Example> examples = {};    // whole command lines
  Audience audience = Audience::kReaders;
  Effort effort = Effort::kLong;
  AnswerKind answer_kind = AnswerKind::kTable;
  uint64_t max_spans = 0;       // of request traces that an answer needs at most; 0: it reads none
  uint64_t bytes_per_span = 0;  // that an answer takes at most, with itself
  std::vector<OrderSpec> orders = {};
  // Of a table: the command's exit status is 1 where it holds, for scripts and probes. Nothing: an answer is a success.
  std::optional<FailureRule> fails_where = {};
  // Of a table: what its command prints as text in place of it, unless --long is given. Empty: the table.
  std::function<Result<Table>(const Table& table, const TextStyle& style)> text_summary = nullptr;
  // Whether its answer needs files of the data directory (ViewSources::data_dir()) or what the server that writes it knows of itself,
  // besides rows and the fleet. A query server sends such questions on.
  bool reads_directory = false;
  // Empty: the view is an order itself, which a server alone takes, by POST to its path.
  std::function<Result<Answer>(const Question& question, ViewSources& sources)> answer = nullptr;
};

// All views, in the order of --help. Made at the first call; lives as long as the program.
std::span<const View> views();

// Null: there is none of that name.
const View* find_view(std::string_view name);

// Gives the columns of an answer to `view` the priorities that the view describes; those that it does not describe keep
// theirs.
void prioritize(const View& view, Table& table);

// Whether the answer meets the view's failure rule: how many rows do.
size_t failed_rows(const View& view, const Answer& answer);

// As the server sends it, and what its Content-Type is.
std::string body_of(const Answer& answer);
std::string_view content_type_of(AnswerKind kind);
// The inverse, for the answer of a server to `view`.
Result<Answer> answer_from(const View& view, std::string body);

}  // namespace plimsoll::query
