// Attributes of items.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "base/printable.h"
#include "traces/bursts/search/scene.h"

namespace plimsoll::traces {
namespace {

// Where tracing libraries put the size of a reply: OpenTelemetry's names of several years, and plain ones.
constexpr std::array<std::string_view, 6> kSizeAttributes{"bytes",
                                                          "http.response.body.size",
                                                          "http.response_content_length",
                                                          "rpc.response.size",
                                                          "response_bytes",
                                                          "response.size"};
// Of a client span alone: peer.service is the called service's own name, rpc.service that of an interface ("hipster.CartService").
constexpr std::array<std::string_view, 4> kServiceAttributes{"peer.service", "rpc.service", "server.address",
                                                             "net.peer.name"};
constexpr uint64_t kMillion = 1'000'000;

const BurstThread* thread_of(const SearchScene& scene, const SearchItem& item, uint32_t thread) {
  return thread == kNoThread || item.machine >= scene.machines.size()
             ? nullptr
             : &scene.machines[item.machine].recording->threads[thread];
}

std::optional<std::string_view> attribute_of(const SearchSpans& spans, const Span& span,
                                             std::string_view name) {
  const AttributeTable& table = spans.set().attributes();
  const uint32_t key = span.attributes == 0 ? 0 : spans.key_named(name);
  if (key == 0 || table.is_unbounded(key)) {
    return std::nullopt;
  }
  const uint32_t value = table.value_in(span.attributes, key);
  return value == 0 ? std::nullopt : std::optional(table.value(key, value));
}

// The halves of an RPC, or the span alone: the client's half first, whose attributes count where both have one.
std::array<const Span*, 2> spans_of(const SearchScene& scene, ItemKind kind, const SearchItem& item) {
  std::array<const Span*, 2> spans{};
  if (kind == ItemKind::kSpan) {
    spans[0] = &scene.spans->span(item.detail);
  } else if (kind == ItemKind::kRpc) {
    const RpcHalves& halves = scene.spans->rpcs()[item.detail];
    spans[0] = halves.client == kNoSpan ? nullptr : &scene.spans->span(halves.client);
    spans[1] = halves.server == kNoSpan ? nullptr : &scene.spans->span(halves.server);
  }
  return spans;
}

std::optional<std::string_view> attribute_of(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                                             std::span<const std::string_view> names) {
  for (const Span* span : spans_of(scene, kind, item)) {
    for (const std::string_view name : names) {
      const auto value = span == nullptr ? std::nullopt : attribute_of(*scene.spans, *span, name);
      if (value) {
        return value;
      }
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> count_in(const std::optional<std::string_view>& text) {
  if (!text) {
    return std::nullopt;
  }
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> positive(uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

// Times of a request.
std::optional<uint64_t> request_number(const RequestTimes& times, Field field) {
  const auto state = [&](ThreadState one) {
    return static_cast<uint64_t>(std::max<int64_t>(times.in(one), 0));
  };
  const int64_t duration_ns = times.end_ns - times.begin_ns;
  switch (field) {
    case Field::kRunning:
      return state(ThreadState::kRunning);
    case Field::kRunnable:
      return state(ThreadState::kRunnable);
    case Field::kBlocked:
      return state(ThreadState::kBlocked);
    case Field::kThreads:
      return times.threads;
    case Field::kCpuShare:
      return duration_ns <= 0
                 ? std::nullopt
                 : std::optional(static_cast<uint64_t>(static_cast<double>(state(ThreadState::kRunning)) *
                                                       double{kMillion} / static_cast<double>(duration_ns)));
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> name_or_nothing(std::string_view name) {
  return name.empty() ? std::nullopt : std::optional(name);
}

std::string_view name_of_status(SpanStatus status) {
  return status == SpanStatus::kError ? "error" : status == SpanStatus::kOk ? "ok" : "unset";
}

std::optional<std::string_view> span_text(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                                          Field field) {
  const auto spans = spans_of(scene, kind, item);
  const Span* const first = spans[0] != nullptr ? spans[0] : spans[1];
  // Whose service is called, or the span's own.
  const Span* const server = kind == ItemKind::kRpc ? spans[1] : spans[0];
  const Names& names = scene.spans->set().names();
  switch (field) {
    case Field::kService:
      return server != nullptr ? name_or_nothing(names.services.name(server->service))
                               : attribute_of(scene, kind, item, kServiceAttributes);
    case Field::kCaller: {
      const uint32_t caller = scene.spans->rpcs()[item.detail].caller;
      return caller == kNoSpan ? std::nullopt
                               : name_or_nothing(names.services.name(scene.spans->span(caller).service));
    }
    case Field::kOperation:
      return name_or_nothing(names.operations.name(first->operation));
    case Field::kReplica:
      return server == nullptr ? std::nullopt : name_or_nothing(names.replicas.name(server->replica));
    case Field::kVersion:
      return server == nullptr ? std::nullopt : name_or_nothing(names.versions.name(server->version));
    case Field::kStatus:
      return name_of_status(first->status);
    case Field::kSpanKind:
      return name_or_nothing(name_of(first->kind));
    default:
      return std::nullopt;
  }
}

// Of a sample, the innermost first: "read;parse;main".
std::string functions_of(const SearchScene& scene, const SearchItem& item, size_t max_frames) {
  const BurstStacks& stacks = scene.machines[item.machine].recording->stacks;
  std::string functions;
  size_t frames = 0;
  stacks.for_each_frame(item.value, [&](uint32_t frame) {
    if (frames++ < max_frames) {
      functions += (functions.empty() ? "" : ";") + name_of_frame(stacks, frame);
    }
  });
  return functions;
}

// Of a disk or the network.
bool is_transfer(ItemKind kind) {
  return kind == ItemKind::kDisk || kind == ItemKind::kPacketSent || kind == ItemKind::kPacketReceived;
}

// RPCs of spans have no thread.
bool is_of_spans(ItemKind kind, const SearchItem& item) {
  return kind == ItemKind::kSpan || (kind == ItemKind::kRpc && item.thread == kNoThread);
}

bool is_rpc_of_application(ItemKind kind, const SearchItem& item) {
  return kind == ItemKind::kRpc && item.thread != kNoThread;
}

std::optional<std::string_view> text_of_rpc(const SearchScene& scene, const SearchItem& item,
                                            const FieldName& field) {
  const ApplicationRpc& rpc = scene.application_rpcs[item.detail];
  const BurstRecording& recording = *scene.machines[item.machine].recording;
  const auto method = name_or_nothing(text_of_detail(recording, rpc.detail));
  const auto peer = name_or_nothing(peer_of_detail(recording, rpc.detail));
  switch (field.field) {
    case Field::kOperation:
      return method;
    case Field::kService:
      return rpc.is_in ? std::nullopt : peer;
    case Field::kCaller:
      return rpc.is_in ? peer : std::nullopt;
    case Field::kSpanKind:
      return rpc.is_in ? "server" : "client";
    case Field::kAttribute:
      return field.attribute == "method" ? method : field.attribute == "peer" ? peer : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> tid_of(const BurstThread* thread) {
  return thread == nullptr ? std::nullopt : std::optional(uint64_t{thread->tid});
}

}  // namespace

std::optional<uint64_t> number_of(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                                  const FieldName& field) {
  switch (field.field) {
    case Field::kDuration:
      return static_cast<uint64_t>(item.duration_ns());
    case Field::kOffset:
      // Without a sign: of a hostile recording the difference may be more than an int64_t holds.
      return item.begin_ns < scene.begin_ns
                 ? 0
                 : static_cast<uint64_t>(item.begin_ns) - static_cast<uint64_t>(scene.begin_ns);
    case Field::kRequest:
      return positive(item.request);
    case Field::kThread:
      return tid_of(thread_of(scene, item, item.thread));
    case Field::kPid: {
      const BurstThread* const thread = thread_of(scene, item, item.thread);
      return thread == nullptr ? std::nullopt : positive(thread->pid);
    }
    case Field::kWaker:
    case Field::kWoken:
      return tid_of(thread_of(scene, item, item.other));
    case Field::kCpu:
      return item.cpu;
    case Field::kLock:
    case Field::kNumber:
      return item.value;
    case Field::kBytes:
      if (is_transfer(kind)) {
        return item.value;
      }
      if (is_rpc_of_application(kind, item)) {
        const ApplicationRpc& rpc = scene.application_rpcs[item.detail];
        return rpc.is_whole ? std::optional(rpc.answer_bytes) : std::nullopt;
      }
      return is_of_spans(kind, item) ? count_in(attribute_of(scene, kind, item, kSizeAttributes))
                                     : std::nullopt;
    case Field::kAttribute: {
      const std::string_view name = field.attribute;
      return is_of_spans(kind, item) ? count_in(attribute_of(scene, kind, item, std::span(&name, 1)))
                                     : std::nullopt;
    }
    default:
      return kind == ItemKind::kRequest ? request_number(scene.requests[item.detail], field.field)
                                        : std::nullopt;
  }
}

std::optional<std::string_view> text_of(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                                        const FieldName& field, std::string& room) {
  if (is_rpc_of_application(kind, item) && field.field != Field::kMachine) {
    return text_of_rpc(scene, item, field);
  }
  switch (field.field) {
    case Field::kMachine:
      return name_or_nothing(scene.machine_names[item.machine]);
    case Field::kName: {
      const BurstThread* const thread = thread_of(scene, item, item.thread);
      return thread == nullptr ? std::nullopt : name_or_nothing(thread->name);
    }
    case Field::kPhase:
      room = phase_name(item.value);
      return room;
    case Field::kFunction:
    case Field::kStack:
      room = functions_of(scene, item, field.field == Field::kFunction ? size_t{1} : kMaxBurstStackDepth);
      return name_or_nothing(room);
    case Field::kWhole:
      return scene.requests[item.detail].is_whole ? "yes" : "no";
    case Field::kAttribute: {
      const std::string_view name = field.attribute;
      return is_of_spans(kind, item) ? attribute_of(scene, kind, item, std::span(&name, 1)) : std::nullopt;
    }
    case Field::kText:
      return text_of_detail(*scene.machines[item.machine].recording, item.detail);
    default:
      return is_of_spans(kind, item) ? span_text(scene, kind, item, field.field) : std::nullopt;
  }
}

std::string describe(const SearchScene& scene, ItemKind kind, const SearchItem& item) {
  std::string text = fmt::format("machine {}", printable(scene.machine_names[item.machine]));
  for (const auto& [what, index] :
       {std::pair("thread", item.thread), std::pair(kind == ItemKind::kBlocked    ? "woken by"
                                                    : kind == ItemKind::kLockHold ? "waited for by"
                                                                                  : "wakes",
                                                    item.other)}) {
    if (const BurstThread* const thread = thread_of(scene, item, index); thread != nullptr) {
      text += fmt::format(" {} {} ({})", what, thread->tid, printable(thread->name));
    }
  }
  if (item.request != 0 && kind != ItemKind::kRequest) {
    text += fmt::format(" request {:016x}", item.request);
  }
  if (kind == ItemKind::kLockWait || kind == ItemKind::kLockHold) {
    text += fmt::format(" lock {:#x}", item.value);
  } else if (kind == ItemKind::kSyscall || kind == ItemKind::kAnnotation) {
    text += fmt::format(" number {}", item.value);
  } else if (kind == ItemKind::kRequest) {
    const RequestTimes& times = scene.requests[item.detail];
    text += fmt::format(" threads {}{}", times.threads, times.is_whole ? "" : " cut");
  }
  std::string room;
  const bool is_call = kind == ItemKind::kRpc || kind == ItemKind::kSpan;
  for (const auto& [name, field] :
       {std::pair("phase", Field::kPhase), std::pair("text", Field::kText),
        std::pair("service", Field::kService), std::pair("operation", Field::kOperation)}) {
    const bool has_it = field == Field::kPhase  ? kind == ItemKind::kPhase
                        : field == Field::kText ? kind == ItemKind::kAnnotation
                                                : is_call;
    const auto value = has_it ? text_of(scene, kind, item, {field, {}}, room) : std::nullopt;
    if (value) {
      text += fmt::format(" {} {}", name, printable(*value));
    }
  }
  if (kind == ItemKind::kSample && item.value != 0) {
    text += fmt::format(" function {}", printable(functions_of(scene, item, 1)));
  }
  const bool may_have_bytes = is_call || is_transfer(kind);
  if (const auto bytes = may_have_bytes ? number_of(scene, kind, item, {Field::kBytes, {}}) : std::nullopt) {
    text += fmt::format(" bytes {}", *bytes);
  }
  return text;
}

}  // namespace plimsoll::traces
