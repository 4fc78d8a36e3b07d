#include "server/query_api.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/deadline.h"
#include "base/memory_budget.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "http/encoding.h"
#include "query/registry/openapi.h"
#include "query/registry/registry_document.h"
#include "query/registry/view.h"
#include "server/server_sources.h"
#include "server/withheld.h"

namespace plimsoll::server {
namespace {

http::Right right_of(query::Audience audience) {
  return audience == query::Audience::kReaders ? http::Right::kRead : http::Right::kOrder;
}

// What operators look at in trouble is answered with orders, beside all other views.
http::Threads threads_for(query::Effort effort) {
  switch (effort) {
    case query::Effort::kShort:
      return http::Threads::kControl;
    case query::Effort::kLong:
      return http::Threads::kLong;
    case query::Effort::kUnbounded:
      return http::Threads::kBackground;
  }
  return http::Threads::kLong;
}

// So that one question about a long time does not keep all others waiting.
constexpr uint64_t kQuestionsAboutTraces = 2;

uint64_t max_spans_of(const query::View& view, const QueryLimits& limits) {
  return view.max_spans == 0 ? 0
                             : std::min(view.max_spans, limits.trace_memory_bytes / view.bytes_per_span /
                                                            kQuestionsAboutTraces);
}

// Within the limits of time, and as long as its client is there.
Result<query::Answer> answer_of(const query::View& view, const http::Request& request,
                                const QueryLimits& limits, ServerSources& sources) {
  query::Question question{.parameters = request.query, .now_ns = wall_now_ns(), .limits = limits.sql};
  question.limits.is_abandoned = request.is_abandoned;
  question.max_spans = max_spans_of(view, limits);
  const bool has_own_limit = view.effort == query::Effort::kUnbounded;
  Deadline deadline("the query", has_own_limit ? std::chrono::milliseconds(0) : limits.max_time,
                    request.is_abandoned);
  const StopCheck check = [&deadline] { return deadline.check(); };
  const StopScope scope(check);
  return view.answer(question, sources);
}

// What a statement takes at most: SQLite's part, its values, and twice those for the texts that are made of them.
uint64_t memory_of(const sqlite::QuestionLimits& limits) {
  return limits.memory_bytes + 3 * uint64_t{limits.answer_bytes};
}

// Of the kinds of questions whose memory is set aside before they are answered.
struct QuestionMemory {
  explicit QuestionMemory(const QueryLimits& limits)
      : sql(limits.sql_memory_bytes, 0), traces(limits.trace_memory_bytes, 0) {}

  MemoryBudget sql;
  MemoryBudget traces;
};

// What the question takes at most, as soon as there is room. Nothing where memory is not set aside for such questions.
Status take_memory(const query::View& view, const QueryLimits& limits, const http::Request& request,
                   MemoryShare& memory) {
  const uint64_t bytes = view.answer_kind == query::AnswerKind::kSql
                             ? memory_of(limits.sql)
                             : max_spans_of(view, limits) * view.bytes_per_span;
  if (bytes == 0) {
    return {};
  }
  return memory.take(bytes, [&request]() -> Status {
    const bool has_gone = request.is_abandoned && request.is_abandoned();
    return has_gone ? Status(fail(ErrorCode::kUnavailable, "the client has gone")) : Status();
  });
}

void add_note(const std::optional<std::string>& note, query::Answer& answer) {
  if (!note) {
    return;
  }
  std::visit(
      [&note](auto& given) {
        if constexpr (requires { given.notes; }) {
          given.notes.push_back(*note);
        }
      },
      answer);
}

http::Route route_of(const query::View& view, std::shared_ptr<ServerSources> sources,
                     const QueryLimits& limits, std::shared_ptr<QuestionMemory> question_memory) {
  http::Route route;
  route.method = "GET";
  route.path = "/api/v1/" + view.name;
  route.right = right_of(view.audience);
  route.threads = threads_for(view.effort);
  route.is_question = true;
  route.handle = [&view, limits, sources = std::move(sources),
                  question_memory = std::move(question_memory)](const http::Request& request) {
    const int64_t start_ns = monotonic_now_ns();
    MemoryShare memory(view.answer_kind == query::AnswerKind::kSql ? question_memory->sql
                                                                   : question_memory->traces);
    if (const Status taken = take_memory(view, limits, request, memory); !taken) {
      return http::error_response(taken.error());
    }
    auto answer = answer_of(view, request, limits, *sources);
    sources->answered(view, monotonic_now_ns() - start_ns);
    const bool only_reads = !http::permits(request.caller.role, http::Right::kOrder);
    if (!answer) {
      if (only_reads) {
        withhold_paths(sources->data_dir(), answer.error());
      }
      return http::error_response(answer.error());
    }
    add_note(sources->note(), *answer);
    if (only_reads) {
      withhold_reasons(*answer);
      withhold_paths(view, sources->data_dir(), *answer);
    }
    http::Response response;
    response.content_type = query::content_type_of(view.answer_kind);
    response.body = query::body_of(*answer);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    http::compress(request, response);
    return response;
  };
  return route;
}

// Of the views themselves.
http::Route document_route(std::string path, std::string (*document)()) {
  return {.method = "GET",
          .path = std::move(path),
          .handle =
              [document](const http::Request& request) {
                http::Response response{.body = document()};
                http::compress(request, response);
                return response;
              },
          .right = http::Right::kRead};
}

}  // namespace

std::vector<http::Route> query_routes(query::SnapshotCache& snapshots, const QueryHooks& hooks,
                                      const QueryLimits& limits) {
  const auto sources = std::make_shared<ServerSources>(snapshots, hooks);
  const auto question_memory = std::make_shared<QuestionMemory>(limits);
  std::vector<http::Route> routes;
  for (const query::View& view : query::views()) {
    if (view.answer && (hooks.has_directory || !view.reads_directory)) {
      routes.push_back(route_of(view, sources, limits, question_memory));
    }
  }
  routes.push_back(document_route("/api/v1/openapi.json", query::openapi_document));
  routes.push_back(document_route("/api/v1/registry", query::registry_document));
  return routes;
}

}  // namespace plimsoll::server
