#include "query/annotate/annotation_codec.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <utility>

#include "proto/symbol_table.pb.h"

namespace plimsoll::annotate {
namespace {

wire::CodeAnnotation::Function encoded(const AnnotatedFunction& function) {
  wire::CodeAnnotation::Function out;
  out.set_name(function.name);
  out.set_linkage_name(function.linkage_name);
  for (const AnnotatedInstruction& instruction : function.instructions) {
    out.add_address(instruction.address);
    out.add_size(instruction.bytes);
    out.add_chain(instruction.chain);
    out.add_text(instruction.text);
  }
  for (const Count& count : function.counts) {
    out.add_value(count.value);
    out.add_samples(count.samples);
  }
  for (const AnnotatedBranch& branch : function.branches) {
    out.add_branch_from(branch.from);
    out.add_branch_to(branch.to);
    out.add_branch_value(branch.value);
    out.add_branch_other_name(branch.other_name);
  }
  return out;
}

// From a process that a crafted file may have taken over.
std::unexpected<Error> makes_no_sense(const char* what) {
  return fail(ErrorCode::kCorrupt, "the annotated code makes no sense: {}", what);
}

bool are_counts(const google::protobuf::RepeatedField<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value >= 0; });
}

Result<std::vector<Chain>> chains_in(const wire::CodeAnnotation& in) {
  std::vector<Chain> chains;
  chains.reserve(static_cast<size_t>(in.chains_size()));
  for (const wire::CodeAnnotation::Chain& coded : in.chains()) {
    if (coded.function_size() == 0 || coded.file_size() != coded.function_size() ||
        coded.line_size() != coded.function_size()) {
      return makes_no_sense("a place in the source");
    }
    Chain chain;
    for (int i = 0; i < coded.function_size(); ++i) {
      if (coded.function(i) >= static_cast<uint32_t>(in.names_size()) ||
          coded.file(i) >= static_cast<uint32_t>(in.files_size())) {
        return makes_no_sense("a name or file");
      }
      chain.push_back({coded.function(i), coded.file(i), coded.line(i)});
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

bool has_sound_sizes(const wire::CodeAnnotation::Function& in, int events) {
  const int64_t sums = int64_t{in.address_size()} * events;
  return in.size_size() == in.address_size() && in.chain_size() == in.address_size() &&
         in.text_size() == in.address_size() && in.value_size() == sums && in.samples_size() == sums &&
         in.branch_to_size() == in.branch_from_size() && in.branch_value_size() == in.branch_from_size() &&
         in.branch_other_name_size() == in.branch_from_size();
}

Result<AnnotatedFunction> function_in(const wire::CodeAnnotation::Function& in, int events, size_t chains) {
  if (!has_sound_sizes(in, events) || !are_counts(in.value()) || !are_counts(in.samples()) ||
      !are_counts(in.branch_value()) || !std::ranges::is_sorted(in.address())) {
    return makes_no_sense("the instructions of a function");
  }
  AnnotatedFunction function{.name = in.name(), .linkage_name = in.linkage_name()};
  for (int i = 0; i < in.address_size(); ++i) {
    if (in.chain(i) >= chains || in.size(i) > UINT8_MAX) {
      return makes_no_sense("an instruction");
    }
    function.instructions.push_back(
        {in.address(i), static_cast<uint8_t>(in.size(i)), in.chain(i), in.text(i)});
  }
  for (int i = 0; i < in.value_size(); ++i) {
    function.counts.push_back({in.value(i), in.samples(i)});
  }
  for (int i = 0; i < in.branch_from_size(); ++i) {
    function.branches.push_back(
        {in.branch_from(i), in.branch_to(i), in.branch_value(i), in.branch_other_name(i)});
  }
  return function;
}

// About what to_text() and to_json() take of memory, from above: a name stands at each place where it is shown, so that a small message can
// stand for any amount of text.
uint64_t shown_bytes(const Annotation& annotation) {
  constexpr uint64_t kBytesOfCount = 250;
  constexpr uint64_t kBytesOfRow = 400;
  const uint64_t bytes_of_row = kBytesOfRow + kBytesOfCount * annotation.events.size();
  std::vector<uint64_t> by_chain;
  uint64_t sum = 0;
  for (const Chain& chain : annotation.chains) {
    uint64_t bytes = 0;
    for (const Place& place : chain) {
      bytes +=
          bytes_of_row + annotation.names[place.function].size() + annotation.files[place.file].path.size();
    }
    by_chain.push_back(bytes);
    sum += bytes;
  }
  for (const AnnotatedFunction& function : annotation.functions) {
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      const AnnotatedInstruction& instruction = function.instructions[i];
      const bool has_headings = i == 0 || function.instructions[i - 1].chain != instruction.chain;
      sum += bytes_of_row + instruction.text.size() + (has_headings ? by_chain[instruction.chain] : 0);
    }
    for (const AnnotatedBranch& branch : function.branches) {
      sum += 2 * (kBytesOfRow + branch.other_name.size());
    }
  }
  return sum;
}

}  // namespace

std::string encode(const Annotation& annotation) {
  wire::CodeAnnotation out;
  out.set_function(annotation.function);
  out.set_binary(annotation.binary);
  out.set_build_id(annotation.build_id);
  for (const AnnotatedEvent& event : annotation.events) {
    wire::CodeAnnotation::Event& coded = *out.add_events();
    coded.set_name(event.name);
    coded.set_unit(event.unit);
    coded.set_function_value(event.function.value);
    coded.set_function_samples(event.function.samples);
    coded.set_binary_value(event.binary.value);
    coded.set_binary_samples(event.binary.samples);
  }
  for (const std::string& name : annotation.names) {
    out.add_names(name);
  }
  for (const SourceFile& file : annotation.files) {
    out.add_files(file.path);
  }
  for (const Chain& chain : annotation.chains) {
    wire::CodeAnnotation::Chain& coded = *out.add_chains();
    for (const Place& place : chain) {
      coded.add_function(place.function);
      coded.add_file(place.file);
      coded.add_line(place.line);
    }
  }
  for (const AnnotatedFunction& function : annotation.functions) {
    *out.add_functions() = encoded(function);
  }
  for (const std::string& text : annotation.notes) {
    out.add_notes(text);
  }
  return out.SerializeAsString();
}

Result<Annotation> decode(Bytes bytes) {
  wire::CodeAnnotation in;
  if (bytes.size() > INT_MAX || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return makes_no_sense("it is no message");
  }
  if (in.events_size() == 0 || in.names_size() == 0 || in.files_size() == 0) {
    return makes_no_sense("it is empty");
  }
  Annotation annotation{.function = in.function(), .binary = in.binary(), .build_id = in.build_id()};
  for (const wire::CodeAnnotation::Event& event : in.events()) {
    const std::array<double, 4> sums{event.function_value(), event.function_samples(), event.binary_value(),
                                     event.binary_samples()};
    if (!std::ranges::all_of(sums, [](double sum) { return std::isfinite(sum) && sum >= 0; })) {
      return makes_no_sense("the sums of an event");
    }
    annotation.events.push_back({event.name(), event.unit(), {sums[0], sums[1]}, {sums[2], sums[3]}});
  }
  annotation.names.assign(in.names().begin(), in.names().end());
  annotation.files.clear();
  for (const std::string& path : in.files()) {
    annotation.files.push_back({.path = path});
  }
  auto chains = chains_in(in);
  if (!chains) {
    return propagate(chains);
  }
  annotation.chains = std::move(*chains);
  for (const wire::CodeAnnotation::Function& coded : in.functions()) {
    auto function = function_in(coded, in.events_size(), annotation.chains.size());
    if (!function) {
      return propagate(function);
    }
    annotation.functions.push_back(std::move(*function));
  }
  annotation.notes.assign(in.notes().begin(), in.notes().end());
  if (const uint64_t needed = shown_bytes(annotation); needed > kMaxShownBytes) {
    return with_hint(
        fail(ErrorCode::kTooLarge, "the annotated code would take {} MiB to show; at most {} are allowed",
             needed >> 20U, kMaxShownBytes >> 20U),
        "ask for fewer events");
  }
  return annotation;
}

}  // namespace plimsoll::annotate
