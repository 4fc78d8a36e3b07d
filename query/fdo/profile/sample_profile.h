// A compiler profile of one program: how often each line of each function ran, as compilers find the lines again.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace plimsoll::fdo {

// Where in a function: lines count from the one that the function starts at, so that code which is added before it changes nothing.
struct LineOffset {
  uint32_t line = 0;           // less the function's start line; up to 65,535, as LLVM has it
  uint32_t discriminator = 0;  // tells apart blocks on one line; the base discriminator of LLVM's encoding

  auto operator<=>(const LineOffset&) const = default;
};

struct BodySamples {
  uint64_t count = 0;  // how often the line ran
  // Functions that the line called, by linkage name: of branch records, else of the stacks of samples, where indirect calls were seen on
  // them. Never guessed.
  std::map<std::string, uint64_t, std::less<>> calls = {};

  bool operator==(const BodySamples&) const = default;
};

// A function with code of its own, or one inlined into another at one line.
struct FunctionSamples {
  uint64_t total = 0;  // of the body, and of all that was inlined into it
  uint64_t head = 0;   // how often it was entered; of a function with code of its own
  std::map<LineOffset, BodySamples> body = {};
  std::map<LineOffset, std::map<std::string, FunctionSamples, std::less<>>> inlined =
      {};  // by the call's line, then by callee

  bool operator==(const FunctionSamples&) const = default;
};

struct SampleProfile {
  std::map<std::string, FunctionSamples, std::less<>> functions = {};  // by linkage name

  bool operator==(const SampleProfile&) const = default;
};

}  // namespace plimsoll::fdo
