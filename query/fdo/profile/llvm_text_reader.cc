#include <charconv>
#include <optional>
#include <vector>

#include "query/fdo/profile/function_name.h"
#include "query/fdo/profile/llvm_text.h"
#include "query/fdo/profile/profile_math.h"

namespace plimsoll::fdo {
namespace {

constexpr uint32_t kMaxLineOffset = 65'535;

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string_view without_spaces_in_front(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

struct NamedCount {
  std::string_view name;
  uint64_t count = 0;
};

// "name:12": the name may have colons itself.
std::optional<NamedCount> named_count(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !can_stand_in_profile(text.substr(0, colon))) {
    return std::nullopt;
  }
  const auto count = number_of<uint64_t>(text.substr(colon + 1));
  return count ? std::optional(NamedCount{text.substr(0, colon), *count}) : std::nullopt;
}

// "4" or "4.2".
std::optional<LineOffset> offset_of(std::string_view text) {
  const size_t dot = text.find('.');
  const auto line = number_of<uint32_t>(text.substr(0, dot));
  const auto discriminator =
      dot == std::string_view::npos ? std::optional<uint32_t>(0) : number_of<uint32_t>(text.substr(dot + 1));
  if (!line || !discriminator || *line > kMaxLineOffset) {
    return std::nullopt;
  }
  return LineOffset{*line, *discriminator};
}

class TextProfileReader {
 public:
  explicit TextProfileReader(const TextLimits& limits) : limits_(limits) {}

  Result<SampleProfile> read(std::string_view text);

 private:
  Status read_line(std::string_view line);
  Status read_function(std::string_view line);
  Status read_nested(size_t depth, std::string_view line);
  Status read_samples(BodySamples& samples, std::string_view rest);
  std::unexpected<Error> bad(std::string_view why) const {
    return fail(ErrorCode::kCorrupt, "line {} of the profile: {}", number_, why);
  }

  const TextLimits limits_;
  uint64_t number_ = 0;
  SampleProfile profile_;
  std::vector<FunctionSamples*>
      open_;  // the function whose lines come, and those it was inlined into; the outermost first
};

Result<SampleProfile> TextProfileReader::read(std::string_view text) {
  if (text.size() > limits_.max_bytes) {
    return fail(ErrorCode::kTooLarge, "a profile of {} bytes; the limit is {}", text.size(),
                limits_.max_bytes);
  }
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number_;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.size() > limits_.max_line_bytes) {
      return fail(ErrorCode::kTooLarge, "line {} of the profile has {} bytes; the limit is {}", number_,
                  line.size(), limits_.max_line_bytes);
    }
    if (auto read = read_line(line); !read) {
      return propagate(read);
    }
  }
  return std::move(profile_);
}

Status TextProfileReader::read_line(std::string_view line) {
  const std::string_view content = without_spaces_in_front(line);
  if (content.empty() || content.front() == '#') {
    return {};
  }
  const size_t depth = line.size() - content.size();
  if (content.front() == '[' || content.front() == '!') {
    return fail(ErrorCode::kUnsupported,
                "line {} of the profile is of a profile with contexts or pseudo probes, which cannot be read",
                number_);
  }
  return depth == 0 ? read_function(content) : read_nested(depth, content);
}

// "name:total:head"
Status TextProfileReader::read_function(std::string_view line) {
  const size_t colon = line.rfind(':');
  const auto head =
      colon == std::string_view::npos ? std::nullopt : number_of<uint64_t>(line.substr(colon + 1));
  const auto named = colon == std::string_view::npos ? std::nullopt : named_count(line.substr(0, colon));
  if (!head || !named) {
    return bad("a function is written as name:total:entries");
  }
  FunctionSamples& function = profile_.functions[std::string(named->name)];
  function.total = saturating_add(function.total, named->count);
  function.head = saturating_add(function.head, *head);
  open_ = {&function};
  return {};
}

// "4.2: 534 foo:12" or "10: inlined:1000", a space further in for each call that it is inlined through.
Status TextProfileReader::read_nested(size_t depth, std::string_view line) {
  if (depth > open_.size()) {
    return bad(open_.empty() ? "it stands before any function" : "it is indented by too much");
  }
  if (depth > limits_.max_depth) {
    return fail(ErrorCode::kTooLarge, "line {} of the profile: calls are inlined {} deep; the limit is {}",
                number_, depth, limits_.max_depth);
  }
  open_.resize(depth);
  const size_t colon = line.find(':');
  const auto offset = offset_of(line.substr(0, colon));
  if (!offset || colon == std::string_view::npos) {
    return bad("a line of a function begins with its offset, 0 to 65535");
  }
  const std::string_view rest = without_spaces_in_front(line.substr(colon + 1));
  if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
    return read_samples(open_.back()->body[*offset], rest);
  }
  const auto named = named_count(rest);
  if (!named) {
    return bad("an inlined call is written as offset: name:total");
  }
  FunctionSamples& callee = open_.back()->inlined[*offset][std::string(named->name)];
  callee.total = saturating_add(callee.total, named->count);
  open_.push_back(&callee);
  return {};
}

// "534 foo:12 bar:3"
Status TextProfileReader::read_samples(BodySamples& samples, std::string_view rest) {
  const auto take_word = [&rest] {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest = without_spaces_in_front(rest.substr(end));
    return word;
  };
  const auto count = number_of<uint64_t>(take_word());
  if (!count) {
    return bad("the count of samples is no number of 64 bits");
  }
  samples.count = saturating_add(samples.count, *count);
  while (!rest.empty()) {
    const auto call = named_count(take_word());
    if (!call) {
      return bad("calls are written as name:count");
    }
    uint64_t& calls = samples.calls[std::string(call->name)];
    calls = saturating_add(calls, call->count);
  }
  return {};
}

}  // namespace

Result<SampleProfile> read_llvm_text(std::string_view text, const TextLimits& limits) {
  return TextProfileReader(limits).read(text);
}

}  // namespace plimsoll::fdo
