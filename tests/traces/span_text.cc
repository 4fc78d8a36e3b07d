#include "tests/traces/span_text.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <stdexcept>

namespace plimsoll::traces {
namespace {

constexpr double kNsPerMs = 1e6;

SpanKind kind_of(const std::string& name) {
  for (const SpanKind kind : {SpanKind::kInternal, SpanKind::kServer, SpanKind::kClient, SpanKind::kProducer,
                              SpanKind::kConsumer}) {
    if (name == name_of(kind)) {
      return kind;
    }
  }
  throw std::invalid_argument("no kind of span: " + name);
}

std::string cut_off(std::string& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) {
    return {};
  }
  std::string tail = text.substr(at + 1);
  text.resize(at);
  return tail;
}

void add_line(const std::string& line, SpanSet& spans) {
  std::istringstream words(line);
  std::string trace, id, parent, name, word;
  double start_ms = 0;
  double end_ms = 0;
  if (!(words >> trace >> id >> parent >> name >> start_ms >> end_ms)) {
    throw std::invalid_argument("no span: " + line);
  }
  std::string replica = cut_off(name, '@');
  const std::string machine = cut_off(replica, '@');
  const std::string operation = cut_off(name, '/');
  NamedSpan span{.trace = parse_trace_id(trace).value(),
                 .id = parse_span_id(id).value(),
                 .parent = parse_span_id(parent).value_or(0),
                 .start_ns = static_cast<int64_t>(start_ms * kNsPerMs),
                 .end_ns = static_cast<int64_t>(end_ms * kNsPerMs),
                 .service = name,
                 .operation = operation,
                 .replica = replica,
                 .machine = machine};
  while (words >> word) {
    if (word == "shared") {
      span.is_shared = true;
    } else {
      span.kind = kind_of(word);
    }
  }
  if (const auto added = spans.add(span); !added) {
    throw std::invalid_argument(added.error().text());
  }
}

std::string words_of(const Node& node) {
  std::string words;
  for (const auto& [flag, word] : std::map<NodeFlag, const char*>{{kOrphan, "orphan"},
                                                                  {kShifted, "shifted"},
                                                                  {kOutsideParent, "outside"},
                                                                  {kEndFixed, "end-fixed"}}) {
    words += node.has(flag) ? std::string(" ") + word : "";
  }
  return words;
}

}  // namespace

SpanSet spans_of(std::string_view text) {
  SpanSet spans;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(' ') != std::string::npos) {
      add_line(line, spans);
    }
  }
  return spans;
}

std::string to_text(const SpanSet& spans, const Assembly& assembly) {
  std::string text;
  for (const Trace& trace : assembly.traces) {
    const auto nodes = assembly.nodes_of(trace);
    std::vector<size_t> depths(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      depths[i] = node.parent == kNoNode ? 0 : depths[node.parent] + 1;
      const Span& span = spans.spans()[node.span];
      text += fmt::format(
          "{}{}/{} {:g}..{:g} {} {:g}{}\n", std::string(2 * depths[i], ' '),
          spans.names().services.name(span.service), spans.names().operations.name(span.operation),
          static_cast<double>(node.start_ns) / kNsPerMs, static_cast<double>(node.end_ns) / kNsPerMs,
          node.has(kEdge) ? "gap" : "self", static_cast<double>(node.self_ns) / kNsPerMs, words_of(node));
    }
  }
  return text;
}

std::string to_text(const SpanSet& spans) {
  const Names& names = spans.names();
  std::string text;
  for (const Span& span : spans.spans()) {
    constexpr const char* kStatus[] = {"unset", "ok", "error"};
    text += fmt::format("{} {} {} {}/{}@{}@{}#{} {} {} {} {}{}\n", to_text(span.trace), span_id_text(span.id),
                        span.parent == 0 ? "-" : span_id_text(span.parent), names.services.name(span.service),
                        names.operations.name(span.operation), names.replicas.name(span.replica),
                        names.machines.name(span.machine), names.versions.name(span.version), span.start_ns,
                        span.end_ns, span.kind == SpanKind::kUnspecified ? "-" : name_of(span.kind),
                        kStatus[static_cast<size_t>(span.status)], span.is_shared ? " shared" : "");
  }
  return text;
}

}  // namespace plimsoll::traces
