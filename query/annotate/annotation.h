// Annotated code: the instructions of a function, what was sampled at each, and the source lines and inlined calls they come from.
//
//   annotate() (annotate.h) makes one of a binary and its counts; read_sources() (source_files.h) adds the text of the source lines;
//   to_text() and to_json() (annotation_forms.h) show it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::annotate {

struct Count {
  double value = 0;    // weighted, in the event's unit
  double samples = 0;  // behind it

  Count& operator+=(const Count& other) {
    value += other.value;
    samples += other.samples;
    return *this;
  }
};

struct AnnotatedEvent {
  std::string name;
  std::string unit;
  Count function;  // in all instructions that are shown: their sum
  Count binary;    // in the whole binary
};

// A line of a function, by its numbers in Annotation::names and Annotation::files; 0: unknown.
struct Place {
  uint32_t function = 0;
  uint32_t file = 0;
  uint32_t line = 0;

  auto operator<=>(const Place&) const = default;
};

// Where an instruction comes from, outermost first: its line in the function itself, then, of inlined calls, the line in each. Never
// empty.
using Chain = std::vector<Place>;

struct AnnotatedInstruction {
  uint64_t address = 0;
  uint8_t bytes = 0;   // 0: samples lie here, but no instruction does
  uint32_t chain = 0;  // in Annotation::chains
  std::string text;
};

// Taken branches that begin or end in the function.
struct AnnotatedBranch {
  uint64_t from = 0;
  uint64_t to = 0;
  double value = 0;
  // Of the end that lies outside of the function, "g+0x12"; empty: both are within, or no name is known.
  std::string other_name = {};
};

struct AnnotatedFunction {
  std::string name;                                     // as people read it
  std::string linkage_name;                             // as linked
  std::vector<AnnotatedInstruction> instructions = {};  // by rising address
  std::vector<Count> counts = {};                       // instruction-major, then by event
  std::vector<AnnotatedBranch> branches = {};           // by from, then to

  std::span<const Count> counts_of(size_t instruction, size_t events) const {
    return std::span(counts).subspan(instruction * events, events);
  }
};

struct SourceFile {
  std::string path;  // as the compiler wrote it down
  bool has_text = false;
  std::map<uint32_t, std::string> lines = {};  // those that code comes from, by number
};

struct Annotation {
  std::string function;  // that was asked for
  std::string binary;    // path, on a machine that ran it or as given
  std::string build_id;  // hexadecimal
  std::vector<AnnotatedEvent> events = {};
  // Entry 0 is the unknown.
  std::vector<std::string> names{std::string()};
  std::vector<SourceFile> files{SourceFile()};
  std::vector<Chain> chains = {};
  std::vector<AnnotatedFunction> functions = {};  // several: clones, or static functions of the same name
  std::vector<std::string> notes = {};
};

}  // namespace plimsoll::annotate
