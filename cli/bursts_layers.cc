#include "cli/bursts_layers.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/sort_stably.h"
#include "base/time.h"
#include "cli/bursts_machines.h"
#include "cli/json_text.h"
#include "cli/views/answer_source.h"
#include "traces/bursts/joined/layer_summary.h"
#include "traces/bursts/joined/request_layers.h"

namespace plimsoll::cli {
namespace {

using traces::LayerAmount;
using traces::LayerMeasure;
using traces::RequestLayer;

struct FoundLayers {
  std::vector<traces::LayeredRequest> requests;  // the longest first
  traces::LayerSummary summary;                  // of whole ones
  bool has_summary = false;
  JoinedCounts counts;
  std::vector<std::string> notes;
};

int64_t duration_ns_of(const traces::RequestLayers& layers) {
  return layers.times.end_ns - layers.times.begin_ns;
}

class LayerFinder {
 public:
  LayerFinder(const BurstsRequestsOptions& options, uint64_t only, const BurstMachines& machines)
      : options_(options), only_(only), clocks_(machines) {
    found_.has_summary = options.with_summary;
  }

  void add(const BurstOfMachines& together) {
    clocks_.add(together);
    traces::RequestLayering layering;
    for (size_t i = 0; i < together.machines.size(); ++i) {
      const traces::SceneMachine& machine = together.machines[i];
      const traces::JoinedBurst joined = join_burst(*machine.burst);
      found_.counts.add(*machine.burst, joined);
      layering.add(*machine.recording, *machine.burst, joined, kinds_of(together.recordings[i]),
                   machine.offset_ns());
    }
    for (traces::LayeredRequest& request : layering.finish()) {
      const bool is_whole = request.sum.times.is_whole;
      if (only_ != 0 && request.sum.times.request != only_) {
        continue;
      }
      ++(is_whole ? found_.counts.whole : found_.counts.cut);
      if (is_whole && options_.with_summary) {
        found_.summary.add(request.sum);
      }
      if (is_whole || !options_.whole_only) {
        found_.requests.push_back(std::move(request));
      }
    }
    if (found_.requests.size() > size_t{options_.limit} + kLayeredAtOnce) {
      keep_longest();
    }
  }

  FoundLayers finish(const BurstMachines& machines) {
    keep_longest();
    found_.notes = machines.notes();
    found_.notes.insert(found_.notes.end(), clocks_.notes().begin(), clocks_.notes().end());
    if (options_.with_summary && found_.summary.requests() > traces::LayerSummary::kMaxRequests) {
      found_.notes.push_back(fmt::format("the summary is of the first {} whole requests of {}",
                                         traces::LayerSummary::kMaxRequests, found_.summary.requests()));
    }
    return std::move(found_);
  }

 private:
  // Each takes 1 KiB per machine.
  static constexpr size_t kLayeredAtOnce = 10'000;

  // A look at all events, once per recording and not once per burst.
  const traces::RecordedKinds& kinds_of(const BurstRecordingPointer& recording) {
    const auto found = kinds_.find(recording);
    if (found != kinds_.end()) {
      return found->second;
    }
    std::erase_if(kinds_, [](const auto& one) { return one.first.expired(); });
    return kinds_.emplace(recording, traces::recorded_kinds(*recording)).first->second;
  }

  void keep_longest() {
    sort_stably(found_.requests,
                [](const traces::LayeredRequest& request) { return -duration_ns_of(request.sum); });
    if (found_.requests.size() > options_.limit) {
      found_.requests.erase(found_.requests.begin() + options_.limit, found_.requests.end());
    }
  }

  const BurstsRequestsOptions& options_;
  const uint64_t only_;
  ClockNotes clocks_;
  // A weak pointer keeps its place: another recording cannot be taken for one that has gone.
  std::map<std::weak_ptr<const traces::BurstRecording>, traces::RecordedKinds, std::owner_less<>> kinds_;
  FoundLayers found_;
};

double layer_ms(double ns) {
  return ns / static_cast<double>(kNsPerMs);
}

// Empty where the layer has no such measure.
std::string amount_cell(RequestLayer layer, LayerMeasure measure, const LayerAmount& amount) {
  if (!traces::has_measure(layer, measure)) {
    return "";
  }
  if (!amount.knows(measure)) {
    return "not known";
  }
  return measure == LayerMeasure::kNs ? fmt::format("{:.3f}", layer_ms(static_cast<double>(amount.ns)))
                                      : fmt::format("{}", amount.value(measure));
}

std::string amount_row(std::string_view name, RequestLayer layer, const LayerAmount& amount) {
  return fmt::format(
      "  {:<24}{:>12}{:>10}{:>14}{:>14}\n", name, amount_cell(layer, LayerMeasure::kNs, amount),
      amount_cell(layer, LayerMeasure::kCount, amount), amount_cell(layer, LayerMeasure::kBytes, amount),
      amount_cell(layer, LayerMeasure::kAnswerBytes, amount));
}

// Of the sum, or of one machine. What did nothing is left out.
std::string layers_text(std::string_view title, const traces::RequestLayers& layers) {
  std::string text =
      fmt::format("  {:<24}{:>12}{:>10}{:>14}{:>14}\n", title, "ms", "count", "bytes", "answer bytes");
  std::string unknown;
  for (size_t i = 0; i < traces::kRequestLayers; ++i) {
    const auto layer = static_cast<RequestLayer>(i);
    const LayerAmount& amount = layers.of(layer);
    if (!amount.is_known) {
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", name_of(layer));
    } else if (amount.count > 0 || amount.ns > 0) {
      text += amount_row(name_of(layer), layer, amount);
    }
  }
  if (layers.of(RequestLayer::kSystemCall).is_known) {
    for (const auto& [number, amount] : layers.system_calls) {
      text += amount_row(fmt::format("syscall {}", number), RequestLayer::kSystemCall, amount);
    }
  }
  for (const auto& [name, amount] : layers.phases) {
    text += amount_row(fmt::format("phase {}", printable(name)), RequestLayer::kLockWait, amount);
  }
  return text + (unknown.empty() ? "" : fmt::format("  not known: {}\n", unknown));
}

std::string layered_text(const traces::LayeredRequest& request) {
  const traces::RequestTimes& times = request.sum.times;
  const bool has_machines = request.machines.size() > 1;
  std::string text =
      fmt::format("request {:016x}  {}  {:.3f} ms  {} threads{}\n", times.request,
                  format_time(times.begin_ns), layer_ms(static_cast<double>(duration_ns_of(request.sum))),
                  times.threads, times.is_whole ? "" : "  cut");
  if (has_machines) {
    text += layers_text(fmt::format("all {} machines", request.machines.size()), request.sum);
  }
  for (const traces::MachineLayers& one : request.machines) {
    text += layers_text(fmt::format("machine {}", printable(one.machine)), one.layers);
    if (has_machines) {
      text += fmt::format(
          "  begins at +{:.3f} ms, takes {:.3f} ms\n",
          layer_ms(static_cast<double>(one.layers.times.begin_ns + one.offset_ns - times.begin_ns)),
          layer_ms(static_cast<double>(duration_ns_of(one.layers))));
    }
    if (one.lost_events > 0 || one.lost_app_events > 0) {
      text +=
          fmt::format("  {} events of this burst and {} of applications were lost: it may have been more\n",
                      one.lost_events, one.lost_app_events);
    }
  }
  return text + "\n";
}

// Times in ns become ms.
std::string summary_row(std::string_view name, LayerMeasure measure,
                        const std::optional<traces::LayerDistribution>& found) {
  const bool is_time = measure == LayerMeasure::kNs;
  const std::string_view unit = is_time ? "ms" : name_of(measure);
  if (!found) {
    return fmt::format("  {:<18}{:<14}{:>10}\n", name, unit, "not known");
  }
  const auto cell = [&](double value) {
    return is_time ? fmt::format("{:.3f}", layer_ms(value)) : fmt::format("{:.1f}", value);
  };
  return fmt::format("  {:<18}{:<14}{:>10}{:>14}{:>14}{:>14}\n", name, unit, found->requests,
                     cell(found->mean), cell(static_cast<double>(found->p50)),
                     cell(static_cast<double>(found->p95)));
}

std::string summary_text(const traces::LayerSummary& summary) {
  if (summary.requests() == 0) {
    return "no whole requests: there is no summary\n";
  }
  std::string text = fmt::format("whole requests\n  {:<18}{:<14}{:>10}{:>14}{:>14}{:>14}\n", "layer",
                                 "measure", "requests", "mean", "p50", "p95");
  text += summary_row("duration", LayerMeasure::kNs, summary.duration_ns());
  for (size_t i = 0; i < traces::kRequestLayers; ++i) {
    for (size_t j = 0; j < traces::kLayerMeasures; ++j) {
      const auto layer = static_cast<RequestLayer>(i);
      const auto measure = static_cast<LayerMeasure>(j);
      if (has_measure(layer, measure)) {
        text += summary_row(name_of(layer), measure, summary.of(layer, measure));
      }
    }
  }
  return text;
}

std::string found_layers_text(const FoundLayers& found) {
  std::string text;
  for (const traces::LayeredRequest& request : found.requests) {
    text += layered_text(request);
  }
  text += found.has_summary ? summary_text(found.summary) : std::string();
  text += found.counts.text();
  for (const std::string& note : found.notes) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

// The measures that the layer has; null: not known.
std::string amount_json(RequestLayer layer, const LayerAmount& amount) {
  std::string text;
  for (size_t i = 0; i < traces::kLayerMeasures; ++i) {
    const auto measure = static_cast<LayerMeasure>(i);
    if (has_measure(layer, measure)) {
      text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", name_of(measure),
                          amount.knows(measure) ? fmt::format("{}", amount.value(measure)) : "null");
    }
  }
  return text;
}

std::string layers_json(const traces::RequestLayers& layers) {
  std::string text = "\"layers\": {";
  for (size_t i = 0; i < traces::kRequestLayers; ++i) {
    const auto layer = static_cast<RequestLayer>(i);
    text += fmt::format("{}\"{}\": {{{}}}", i == 0 ? "" : ", ", name_of(layer),
                        amount_json(layer, layers.of(layer)));
  }
  text += "}, \"syscalls\": ";
  if (layers.of(RequestLayer::kSystemCall).is_known) {
    bool is_first = true;
    text += "[";
    for (const auto& [number, amount] : layers.system_calls) {
      text += fmt::format("{}{{\"number\": {}, {}}}", std::exchange(is_first, false) ? "" : ", ", number,
                          amount_json(RequestLayer::kSystemCall, amount));
    }
    text += "]";
  } else {
    text += "null";
  }
  text += ", \"phases\": [";
  bool is_first = true;
  for (const auto& [name, amount] : layers.phases) {
    text += std::exchange(is_first, false) ? "{\"name\": " : ", {\"name\": ";
    append_json_string(name, text);
    text += fmt::format(", {}}}", amount_json(RequestLayer::kLockWait, amount));
  }
  return text + "]";
}

// `offset_ns` is added to the times.
std::string times_json(const traces::RequestLayers& layers, int64_t offset_ns) {
  const traces::RequestTimes& times = layers.times;
  return fmt::format("\"begin\": \"{}\", \"duration_ns\": {}, \"threads\": {}, \"is_whole\": {}, ",
                     format_time(times.begin_ns + offset_ns), duration_ns_of(layers), times.threads,
                     times.is_whole);
}

std::string layered_json(const traces::LayeredRequest& request) {
  std::string text =
      fmt::format("{{\"request\": \"{:016x}\", {}{}, \"machines\": [", request.sum.times.request,
                  times_json(request.sum, 0), layers_json(request.sum));
  bool is_first = true;
  for (const traces::MachineLayers& one : request.machines) {
    text += std::exchange(is_first, false) ? "{\"machine\": " : ", {\"machine\": ";
    append_json_string(one.machine, text);
    text += fmt::format(", \"lost_events\": {}, \"lost_application_events\": {}, {}{}}}", one.lost_events,
                        one.lost_app_events, times_json(one.layers, one.offset_ns), layers_json(one.layers));
  }
  return text + "]}";
}

std::string distribution_json(const std::optional<traces::LayerDistribution>& found) {
  return found ? fmt::format("{{\"requests\": {}, \"mean\": {:.3f}, \"p50\": {}, \"p95\": {}}}",
                             found->requests, found->mean, found->p50, found->p95)
               : "null";
}

std::string summary_json(const traces::LayerSummary& summary) {
  std::string text = fmt::format(", \"summary\": {{\"requests\": {}, \"duration_ns\": {}, \"layers\": {{",
                                 summary.requests(), distribution_json(summary.duration_ns()));
  for (size_t i = 0; i < traces::kRequestLayers; ++i) {
    const auto layer = static_cast<RequestLayer>(i);
    text += fmt::format("{}\"{}\": {{", i == 0 ? "" : ", ", name_of(layer));
    bool is_first = true;
    for (size_t j = 0; j < traces::kLayerMeasures; ++j) {
      const auto measure = static_cast<LayerMeasure>(j);
      if (has_measure(layer, measure)) {
        text += fmt::format("{}\"{}\": {}", std::exchange(is_first, false) ? "" : ", ", name_of(measure),
                            distribution_json(summary.of(layer, measure)));
      }
    }
    text += "}";
  }
  return text + "}}";
}

std::string found_layers_json(const FoundLayers& found) {
  std::string text = "{" + found.counts.json(found.notes) + ", \"requests\": [";
  bool is_first = true;
  for (const traces::LayeredRequest& request : found.requests) {
    text += std::exchange(is_first, false) ? "" : ", ";
    text += layered_json(request);
  }
  return text + "]" + (found.has_summary ? summary_json(found.summary) : std::string()) + "}\n";
}

}  // namespace

Status run_bursts_layers(const BurstsRequestsOptions& options, uint64_t only) {
  auto machines = BurstMachines::open(options.input, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  LayerFinder finder(options, only, *machines);
  const Status read = machines->for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    finder.add(burst);
    return true;
  });
  if (!read) {
    return read;
  }
  const FoundLayers found = finder.finish(*machines);
  return write_output("-", options.is_json ? found_layers_json(found) : found_layers_text(found));
}

}  // namespace plimsoll::cli
