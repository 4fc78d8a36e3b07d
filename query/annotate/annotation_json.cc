#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "query/annotate/annotation_forms.h"

namespace plimsoll::annotate {
namespace {

using Json = nlohmann::ordered_json;

std::string address_text(uint64_t address) {
  return fmt::format("{:#x}", address);
}

class AnnotationJson {
 public:
  AnnotationJson(const Annotation& annotation, Order order) : annotation_(annotation), order_(order) {}

  std::string run() const {
    Json functions = Json::array();
    for (const AnnotatedFunction& function : annotation_.functions) {
      functions.push_back(function_json(function));
    }
    const Json document = {{"function", printable(annotation_.function)},
                           {"binary", printable(annotation_.binary)},
                           {"build_id", printable(annotation_.build_id)},
                           {"order", order_ == Order::kSource ? "source" : "address"},
                           {"events", events_json()},
                           {"notes", notes_json()},
                           {"chains", chains_json()},
                           {"functions", std::move(functions)}};
    return document.dump() + "\n";
  }

 private:
  Json events_json() const {
    Json events = Json::array();
    for (const AnnotatedEvent& event : annotation_.events) {
      events.push_back({{"event", printable(event.name)},
                        {"unit", printable(event.unit)},
                        {"value", event.function.value},
                        {"samples", event.function.samples},
                        {"binary_value", event.binary.value},
                        {"binary_samples", event.binary.samples}});
    }
    return events;
  }

  Json notes_json() const {
    Json notes = Json::array();
    for (const std::string& note : annotation_.notes) {
      notes.push_back(printable(note));
    }
    return notes;
  }

  Json place_json(const Place& place) const {
    return {{"function", printable(annotation_.names[place.function])},
            {"file", printable(annotation_.files[place.file].path)},
            {"line", place.line}};
  }

  Json chains_json() const {
    Json chains = Json::array();
    for (const Chain& chain : annotation_.chains) {
      Json places = Json::array();
      for (const Place& place : chain) {
        places.push_back(place_json(place));
      }
      chains.push_back(std::move(places));
    }
    return chains;
  }

  // A value for each event.
  Json counts_json(std::span<const Count> counts) const {
    Json values = Json::array();
    for (size_t event = 0; event < counts.size(); ++event) {
      const double all = annotation_.events[event].function.value;
      values.push_back({{"value", counts[event].value},
                        {"samples", counts[event].samples},
                        {"share", all > 0 ? counts[event].value / all : 0}});
    }
    return values;
  }

  // By the line that the code was written in: of inlined code the innermost.
  Json lines_json(const AnnotatedFunction& function) const {
    const size_t events = annotation_.events.size();
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<Count>> lines;  // file, line, function
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      const Place& place = annotation_.chains[function.instructions[i].chain].back();
      std::vector<Count>& sums = lines[{place.file, place.line, place.function}];
      sums.resize(events);
      const auto counts = function.counts_of(i, events);
      for (size_t event = 0; event < events; ++event) {
        sums[event] += counts[event];
      }
    }
    Json rows = Json::array();
    for (const auto& [key, sums] : lines) {
      const auto& [file, number, name] = key;
      Json row = place_json({.function = name, .file = file, .line = number});
      const SourceFile& source = annotation_.files[file];
      const auto text = source.lines.find(number);
      row["source"] = text == source.lines.end() ? Json() : Json(printable(text->second));
      row["counts"] = counts_json(sums);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Json instructions_json(const AnnotatedFunction& function) const {
    const Listing listing = listing_of(annotation_, function, order_);
    Json rows = Json::array();
    for (const ListingRow& row : listing.rows) {
      if (row.is_heading) {
        continue;
      }
      const AnnotatedInstruction& instruction = function.instructions[row.instruction];
      rows.push_back({{"address", address_text(instruction.address)},
                      {"bytes", instruction.bytes},
                      {"text", printable(instruction.text)},
                      {"chain", instruction.chain},
                      {"counts", counts_json(function.counts_of(row.instruction, listing.events))}});
    }
    return rows;
  }

  Json function_json(const AnnotatedFunction& function) const {
    Json branches = Json::array();
    for (const AnnotatedBranch& branch : function.branches) {
      branches.push_back({{"from", address_text(branch.from)},
                          {"to", address_text(branch.to)},
                          {"count", branch.value},
                          {"other", printable(branch.other_name)}});
    }
    return {{"name", printable(function.name)},
            {"linkage_name", printable(function.linkage_name)},
            {"lines", lines_json(function)},
            {"instructions", instructions_json(function)},
            {"branches", std::move(branches)}};
  }

  const Annotation& annotation_;
  const Order order_;
};

}  // namespace

std::string to_json(const Annotation& annotation, Order order) {
  return AnnotationJson(annotation, order).run();
}

}  // namespace plimsoll::annotate
