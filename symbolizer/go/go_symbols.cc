#include "symbolizer/go/go_symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolizer/go/function_table.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint32_t kLanguageGo = 0x16;  // DW_LANG_Go
// Deeper than compilers inline: a damaged tree may lead in circles.
constexpr size_t kMaxInlined = 100;
// Functions may share what tells their lines, but not each of them all of it.
constexpr uint64_t kStepsOfByte = 16;

class GoTableBuilder {
 public:
  GoTableBuilder(const elf::ElfFile& file, const GoFunctionTable& functions, uint64_t steps)
      : file_(file), functions_(functions), steps_(steps) {}

  BuiltTable build(const SymtabIdentity& identity) {
    unit_ = writer_.unit("Go", kLanguageGo);
    uint64_t end = 0;
    for (uint64_t number = 0; number < functions_.size() && steps_ > 0; ++number) {
      const auto function = functions_.function(number);
      if (!function || function->from < end || function->name.empty()) {
        ++damaged_;
        continue;
      }
      if (end != 0 && end < function->from) {
        writer_.end(end);
      }
      write(*function);
      end = function->to;
    }
    if (end != 0) {
      writer_.end(end);
    }
    for (const elf::Segment& segment : file_.segments()) {
      if (segment.executable) {
        writer_.segment({segment.file_offset, segment.address, segment.file_bytes});
      }
    }
    BuiltTable built;
    built.quality = inlining_is_unknown_ ? SymtabQuality::kLines : SymtabQuality::kFull;
    if (inlining_is_unknown_) {
      built.problems.emplace_back(
          ".gopclntab does not tell which calls were inlined: lines within them are left out");
    }
    if (damaged_ > 0) {
      built.problems.push_back(
          fmt::format("{} of {} functions in .gopclntab are damaged", damaged_, functions_.size()));
    }
    if (steps_ == 0) {
      built.problems.emplace_back(".gopclntab describes more code than can be: the rest is left out");
    }
    built.bytes = std::move(writer_).finish(identity, built.quality);
    return built;
  }

 private:
  // What the table tells of the addresses from one on.
  struct Place {
    uint64_t from = 0;
    int32_t file = -1;
    int32_t line = -1;
    int32_t inlined_call = -1;
  };
  struct InlinedCall {
    int32_t number = 0;
    GoInlinedCall call;
    Place place;  // where it stands
  };

  void read_places(const GoFunction& function) {
    GoValues files = functions_.values(function, function.files);
    GoValues lines = functions_.values(function, function.lines);
    GoValues calls = functions_.values(function, function.inlined_calls);
    places_.clear();
    for (uint64_t address = function.from; address < function.to && steps_ > 0;) {
      places_.push_back(
          {address, files.at(address, steps_), lines.at(address, steps_), calls.at(address, steps_)});
      address = std::min({files.end(), lines.end(), calls.end()});
    }
  }

  // The address lies within the function whose places were read.
  const Place& place_at(uint64_t address) const {
    return *std::prev(std::ranges::upper_bound(places_, address, {}, &Place::from));
  }

  uint32_t location(const GoFunction& function, const Place& place) {
    const std::string_view file = functions_.file_name(function, place.file);
    return file.empty() || place.line <= 0
               ? 0
               : writer_.location({.path = writer_.path(file), .line = static_cast<uint32_t>(place.line)});
  }

  uint32_t callee(const GoInlinedCall& call) {
    const auto [known, is_new] = callees_.try_emplace(call.callee, 0);
    if (is_new) {
      known->second =
          writer_.function({.name = call.callee, .start_line = call.callee_start_line, .unit = unit_});
    }
    return known->second;
  }

  void write(const GoFunction& function) {
    read_places(function);
    const uint32_t root =
        writer_.scope({.function = writer_.function(
                           {.name = function.name, .start_line = function.start_line, .unit = unit_})});
    std::map<int32_t, uint32_t> scopes;  // of inlined calls
    for (const Place& place : places_) {
      const auto scope = scope_of(function, place.inlined_call, root, scopes);
      // Without the calls the line would be that of another function.
      writer_.row({.from = place.from,
                   .scope = scope.value_or(root),
                   .location = scope ? location(function, place) : 0});
      inlining_is_unknown_ = inlining_is_unknown_ || !scope;
    }
  }

  // The function's own for a number below 0; nothing where the calls cannot be told.
  std::optional<uint32_t> scope_of(const GoFunction& function, int32_t number, uint32_t root,
                                   std::map<int32_t, uint32_t>& scopes) {
    std::vector<InlinedCall> chain;  // from the innermost out
    uint32_t outer = root;
    while (number >= 0) {
      if (const auto known = scopes.find(number); known != scopes.end()) {
        outer = known->second;
        break;
      }
      const auto call = functions_.inlined_call(function, number);
      if (!call || chain.size() == kMaxInlined) {
        return std::nullopt;
      }
      chain.push_back({number, *call, place_at(call->call_address)});
      number = chain.back().place.inlined_call;
    }
    for (const InlinedCall& inlined : std::views::reverse(chain)) {
      outer = writer_.scope(
          {.function = callee(inlined.call), .location = location(function, inlined.place), .parent = outer});
      scopes.emplace(inlined.number, outer);
    }
    return outer;
  }

  const elf::ElfFile& file_;
  const GoFunctionTable& functions_;
  uint64_t steps_;
  SymtabWriter writer_;
  uint32_t unit_ = 0;
  uint64_t damaged_ = 0;
  bool inlining_is_unknown_ = false;
  std::vector<Place> places_;  // of the newest function, from its first address on
  std::unordered_map<std::string_view, uint32_t> callees_;
};

}  // namespace

std::optional<BuiltTable> build_go_table(const elf::ElfFile& file, const SymtabIdentity& identity) {
  const auto functions = GoFunctionTable::find(file);
  if (!functions) {
    return BuiltTable{.bytes = {}, .quality = SymtabQuality::kNone, .problems = {functions.error().text()}};
  }
  const std::optional<GoFunctionTable>& table = *functions;
  return table ? std::optional(GoTableBuilder(file, *table, table->bytes() * kStepsOfByte).build(identity))
               : std::nullopt;
}

}  // namespace plimsoll::symbolizer
