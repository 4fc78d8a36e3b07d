#include "daemon/events/pmu.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/suggest.h"
#include "daemon/events/cpu_list.h"
#include "daemon/events/pmu_terms.h"

namespace plimsoll::perf {
namespace {

constexpr uint64_t kMaxFileBytes = 64 << 10;
constexpr size_t kMaxPmuNames = 4096;

std::string first_line(const std::string& path) {
  const auto text = read_file(path, kMaxFileBytes);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

// Names of a folder's entries, sorted; none where it is not there.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end && names.size() < kMaxPmuNames; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::optional<Pmu> read_pmu(const std::string& folder, const std::string& name) {
  Pmu pmu{.name = name, .folder = folder, .cpus = {}};
  const std::string type = first_line(folder + "/type");
  const auto parsed = std::from_chars(type.data(), type.data() + type.size(), pmu.type);
  if (type.empty() || parsed.ec != std::errc() || parsed.ptr != type.data() + type.size()) {
    return std::nullopt;
  }
  const bool has_cpus = exists(folder + "/cpus");
  pmu.is_core = has_cpus || name == "cpu";
  pmu.is_for_packages = !pmu.is_core && exists(folder + "/cpumask");
  if (has_cpus || pmu.is_for_packages) {
    const auto cpus = parse_cpu_list(first_line(folder + (has_cpus ? "/cpus" : "/cpumask")));
    if (!cpus) {
      return std::nullopt;
    }
    pmu.cpus = *cpus;
  }
  return pmu;
}

// A file name and nothing else.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string_view::npos;
}

std::unexpected<Error> unknown_term(const Pmu& pmu, const std::string& name) {
  std::vector<std::string> known = names_in(pmu.folder + "/format");
  std::ranges::copy(event_names(pmu), std::back_inserter(known));
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto nearest = nearest_word(name, views);
  return with_hint(fail(ErrorCode::kInvalid, "the PMU {} has no term or event \"{}\"", pmu.name, name),
                   nearest         ? fmt::format("did you mean {}?", *nearest)
                   : known.empty() ? std::string("it has none")
                                   : fmt::format("it has {}", fmt::join(known, ", ")));
}

Status fill_term(const Pmu& pmu, const Term& term, EventCode& code) {
  const auto value = term.value.empty() ? Result<uint64_t>(1) : parse_term_value(term.value);
  if (!value) {
    return propagate(value, "term {} of the PMU {}", term.name, pmu.name);
  }
  if (term.name == "config") {
    code.config = *value;
  } else if (term.name == "config1") {
    code.config1 = *value;
  } else if (term.name == "config2") {
    code.config2 = *value;
  } else {
    const auto text = is_plain_name(term.name) ? read_file(pmu.folder + "/format/" + term.name, kMaxFileBytes)
                                               : fail(ErrorCode::kNotFound, "not a file name");
    if (!text) {
      return unknown_term(pmu, term.name);
    }
    const auto field = parse_format(*text);
    const Status filled = field ? fill_field(*field, *value, code) : propagate(field);
    return filled ? filled : propagate(filled, "term {}={} of the PMU {}", term.name, term.value, pmu.name);
  }
  return {};
}

void take_scale_and_unit(const std::string& file, EventType& event) {
  const std::string scale = first_line(file + ".scale");
  double value = 1;
  const auto parsed = std::from_chars(scale.data(), scale.data() + scale.size(), value);
  if (!scale.empty() && parsed.ec == std::errc() && value > 0 && value < 1e12) {
    event.scale = value;
  }
  const std::string unit = first_line(file + ".unit");
  if (unit == "Joules") {
    event.unit = EventUnit::kMicrojoules;
    event.scale *= 1e6;
  } else if (unit == "MiB") {
    event.unit = EventUnit::kBytes;
    event.scale *= 1 << 20;
  } else if (unit == "ns") {
    event.unit = EventUnit::kNanoseconds;
  }
}

bool is_named_event(const Pmu& pmu, const Term& term) {
  return term.value.empty() && is_plain_name(term.name) && exists(pmu.folder + "/events/" + term.name);
}

Status fill_named_event(const Pmu& pmu, const std::string& name, EventType& event) {
  const std::string file = pmu.folder + "/events/" + name;
  const auto text = read_file(file, kMaxFileBytes);
  const auto terms = text ? parse_terms(*text) : propagate(text);
  if (!terms) {
    return propagate(terms, "event {} of the PMU {}", name, pmu.name);
  }
  for (const Term& term : *terms) {
    if (term.value == "?") {
      return with_hint(
          fail(ErrorCode::kUnsupported, "event {} of the PMU {} requires a value for its term {}", name,
               pmu.name, term.name),
          "give all its terms, with values, instead of its name");
    }
    if (auto filled = fill_term(pmu, term, event.codes.front()); !filled) {
      return filled;
    }
  }
  take_scale_and_unit(file, event);
  return {};
}

}  // namespace

Result<std::vector<Pmu>> list_pmus(const std::string& sysfs) {
  const std::string folder = sysfs + "/bus/event_source/devices";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fail_errno(error ? error.value() : ENOENT, "listing PMUs in {}", folder);
  }
  std::vector<Pmu> pmus;
  for (const std::string& name : names_in(folder)) {
    if (auto pmu = read_pmu(fmt::format("{}/{}", folder, name), name)) {
      pmus.push_back(std::move(*pmu));
    }
  }
  return pmus;
}

std::vector<std::string> event_names(const Pmu& pmu) {
  std::vector<std::string> names = names_in(pmu.folder + "/events");
  std::erase_if(names, [](const std::string& name) {
    return name.ends_with(".scale") || name.ends_with(".unit") || name.ends_with(".snapshot") ||
           name.ends_with(".per-pkg");
  });
  return names;
}

Result<EventType> encode_terms(const Pmu& pmu, std::string_view text) {
  const auto terms = parse_terms(text);
  if (!terms) {
    return propagate(terms, "events of the PMU {}", pmu.name);
  }
  EventType event;
  event.is_for_packages = pmu.is_for_packages;
  event.codes.push_back({.type = pmu.type, .cpus = pmu.cpus, .pmu = pmu.name});
  for (const Term& term : *terms) {
    if (term.name == "name") {
      event.name = term.value;
      continue;
    }
    const Status filled = is_named_event(pmu, term) ? fill_named_event(pmu, term.name, event)
                                                    : fill_term(pmu, term, event.codes.front());
    if (!filled) {
      return propagate(filled);
    }
  }
  return event;
}

}  // namespace plimsoll::perf
