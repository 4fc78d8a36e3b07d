#include "tests/traces/fault_corpus.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "base/file.h"
#include "base/time.h"
#include "formats/csv.h"
#include "formats/traces/read_spans.h"

namespace plimsoll::diagnosis {
namespace {

constexpr uint64_t kMaxFileBytes = 64 << 20;
constexpr int64_t kFaultNs = 3 * kNsPerMinute;

// Injected on these days, without requests in the corpus (its README).
constexpr std::array kOtherInjections{
    "2022-08-22T04:52:55Z", "2022-08-22T05:01:13Z", "2022-08-22T05:35:34Z", "2022-08-22T06:01:18Z",
    "2023-01-29T08:58:16Z", "2023-01-29T09:03:53Z", "2023-01-29T09:12:56Z", "2023-01-29T09:21:39Z",
    "2023-01-29T09:25:39Z", "2023-01-29T09:34:19Z", "2023-01-29T09:42:26Z", "2023-01-29T09:49:34Z",
    "2023-01-29T09:58:04Z", "2023-01-29T10:04:34Z", "2023-01-29T10:26:20Z", "2023-01-29T10:45:10Z",
    "2023-01-29T10:50:16Z", "2023-01-29T10:56:45Z", "2023-01-29T11:04:05Z", "2023-01-29T11:13:56Z",
    "2023-01-29T11:19:59Z", "2023-01-29T11:29:03Z", "2023-01-29T11:36:06Z"};

int64_t time_of(std::string_view text) {
  return parse_time_ns(text, 0).value_or(0);
}

Status read_folder(const std::string& folder, traces::SpanSet& spans) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.insert(entry.path());
  }
  for (const std::string& path : paths) {
    const auto content = read_file(path, kMaxFileBytes);
    if (!content) {
      return propagate(content);
    }
    if (const auto read = formats::read_spans(as_bytes(*content), spans); !read) {
      return propagate(read, "{}", path);
    }
  }
  return {};
}

std::unique_ptr<traces::SpanSet> with_clocks_off(const traces::SpanSet& spans, double clock_ms) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-clock_ms, clock_ms);
  std::vector<int64_t> offsets_ns(spans.names().replicas.size());
  for (int64_t& offset_ns : offsets_ns) {
    offset_ns = static_cast<int64_t>(uniform(random) * static_cast<double>(kNsPerMs));
  }
  auto moved = std::make_unique<traces::SpanSet>();
  const traces::Names& names = spans.names();
  for (const traces::Span& span : spans.spans()) {
    static_cast<void>(moved
                          ->add({.trace = span.trace,
                                 .id = span.id,
                                 .parent = span.parent,
                                 .start_ns = span.start_ns + offsets_ns[span.replica],
                                 .end_ns = span.end_ns + offsets_ns[span.replica],
                                 .service = names.services.name(span.service),
                                 .operation = names.operations.name(span.operation),
                                 .replica = names.replicas.name(span.replica)})
                          .has_value());
  }
  return moved;
}

}  // namespace

Result<FaultDay> FaultDay::read(const std::string& corpus, const std::string& folder, double clock_ms) {
  FaultDay day;
  day.spans_ = std::make_unique<traces::SpanSet>();
  if (auto read = read_folder(corpus + "/" + folder, *day.spans_); !read) {
    return propagate(read);
  }
  if (clock_ms > 0) {
    day.spans_ = with_clocks_off(*day.spans_, clock_ms);
  }
  day.assembly_ = std::make_unique<traces::Assembly>(traces::assemble(*day.spans_));
  day.requests_ = std::make_unique<Requests>(*day.spans_, *day.assembly_);
  if (auto read = day.read_faults(corpus, folder); !read) {
    return propagate(read);
  }
  return day;
}

Status FaultDay::read_faults(const std::string& corpus, const std::string& folder) {
  const auto text = read_file(corpus + "/ground_truth.csv", 1 << 20);
  const auto table = text ? formats::read_csv(*text) : propagate(text);
  if (!table) {
    return propagate(table);
  }
  for (const auto& row : table->rows) {
    const auto field = [&](std::string_view name) { return row.fields[table->column(name).value()]; };
    const KnownFault fault{field("service"), field("fault"), field("shows"), time_of(field("begin")),
                           time_of(field("end"))};
    injections_.emplace_back(fault.begin_ns, fault.end_ns);
    if (field("dataset") == folder) {
      faults_.push_back(fault);
    }
  }
  for (const char* time : kOtherInjections) {
    injections_.emplace_back(time_of(time), time_of(time) + kFaultNs);
  }
  return {};
}

Sides FaultDay::sides_of(const KnownFault& fault) const {
  Sides sides;
  for (const traces::Trace& trace : assembly_->traces) {
    const bool is_in_fault =
        trace.start_ns >= fault.begin_ns + 5 * kNsPerSecond && trace.start_ns <= fault.begin_ns + kFaultNs;
    const bool is_near_fault = std::ranges::any_of(injections_, [&trace](const auto& injection) {
      return trace.start_ns >= injection.first - 5 * kNsPerSecond &&
             trace.start_ns <= injection.second + 20 * kNsPerSecond;
    });
    sides.push_back(is_in_fault ? Side::kWindow : is_near_fault ? Side::kNeither : Side::kReference);
  }
  return sides;
}

Diagnosis FaultDay::diagnose_fault(const KnownFault& fault) const {
  return diagnose(*requests_, sides_of(fault));
}

std::vector<Diagnosis> FaultDay::diagnose_quiet_windows() const {
  constexpr size_t kMinRequests = 20;
  constexpr int64_t kFarNs = kNsPerMinute;
  constexpr int64_t kStepNs = 20 * kNsPerSecond;
  // Some faults show up to 50 s before their published time (basic-service on 30 January from 12:15:08 on).
  constexpr int64_t kBeforeNs = 75 * kNsPerSecond;
  const Sides all = sides_of({});
  std::vector<uint32_t> quiet = traces_of(all, Side::kReference);
  std::erase_if(quiet, [this](uint32_t trace) {
    const int64_t start_ns = assembly_->traces[trace].start_ns;
    return std::ranges::any_of(injections_, [start_ns](const auto& injection) {
      return start_ns >= injection.first - kBeforeNs && start_ns <= injection.second + kFarNs;
    });
  });
  std::vector<Diagnosis> diagnoses;
  for (size_t begin = 0; begin < quiet.size();) {
    const int64_t from_ns = assembly_->traces[quiet[begin]].start_ns;
    Sides sides = all;
    size_t end = begin;
    for (; end < quiet.size() && assembly_->traces[quiet[end]].start_ns < from_ns + kFarNs; ++end) {
      sides[quiet[end]] = Side::kWindow;
    }
    if (end - begin >= kMinRequests) {
      diagnoses.push_back(diagnose(*requests_, sides));
    }
    while (begin < quiet.size() && assembly_->traces[quiet[begin]].start_ns < from_ns + kStepNs) {
      ++begin;
    }
  }
  return diagnoses;
}

size_t FaultDay::place_of(const std::string& service, const Diagnosis& diagnosis) const {
  constexpr size_t kFarBehind = 1000;
  for (size_t i = 0; i < diagnosis.findings.size(); ++i) {
    if (service_name(diagnosis.findings[i].service) == service) {
      return i + 1;
    }
  }
  return kFarBehind;
}

}  // namespace plimsoll::diagnosis
