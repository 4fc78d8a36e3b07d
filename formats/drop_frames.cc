#include "formats/drop_frames.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::formats {
namespace {

constexpr size_t kMaxPatternBytes = 2000;
constexpr int64_t kMaxAutomatonBytes = int64_t{1} << 20;
// RE2 takes time in proportion to the text, times the program where its automaton grows too large: so much in all.
constexpr int kMaxProgram = 2000;
constexpr size_t kMaxNameBytes = 500;
constexpr size_t kMaxMatchedBytes = size_t{8} << 20;

// Null, with a remark, where it is not to be matched.
std::unique_ptr<const re2::RE2> compile(const std::string& pattern, const char* field,
                                        ApplicationProfile& profile) {
  const auto refuse = [&](std::string_view why) {
    profile.remarks.push_back(fmt::format("{} is not applied: {}", field, why));
    return nullptr;
  };
  if (pattern.size() > kMaxPatternBytes) {
    return refuse("it is too long");
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxAutomatonBytes);
  auto compiled = std::make_unique<const re2::RE2>(pattern, options);
  if (!compiled->ok()) {
    return refuse("not a regular expression: " + compiled->error());
  }
  if (compiled->ProgramSize() > kMaxProgram) {
    return refuse("it is too large");
  }
  return compiled;
}

// "a::f(int)" is "a::f"; "(anonymous namespace)::f" and "operator()" keep their parentheses.
std::string_view without_parameters(std::string_view name) {
  size_t open = 0;
  while ((open = name.find('(', open)) != std::string_view::npos) {
    const std::string_view rest = name.substr(open);
    const bool is_part =
        rest.starts_with("(anonymous namespace)") || name.substr(0, open).ends_with("operator");
    if (!is_part) {
      return name.substr(0, open);
    }
    open += rest.starts_with("()") ? 2 : 1;
  }
  return name;
}

class FrameDropper {
 public:
  FrameDropper(ApplicationProfile& profile, const re2::RE2& drop, const re2::RE2* keep)
      : profile_(profile), unwanted_(profile.functions.size()) {
    boost::unordered_flat_map<std::string_view, bool> known;
    size_t left_bytes = kMaxMatchedBytes;
    for (size_t i = 0; i < unwanted_.size(); ++i) {
      const std::string_view name = without_parameters(
          std::string_view(profile.texts[profile.functions[i].name]).substr(0, kMaxNameBytes));
      const auto [entry, is_new] = known.try_emplace(name, false);
      if (is_new && name.size() <= left_bytes) {
        left_bytes -= name.size();
        const re2::StringPiece piece(name.data(), name.size());
        entry->second =
            re2::RE2::FullMatch(piece, drop) && (keep == nullptr || !re2::RE2::FullMatch(piece, *keep));
      }
      unwanted_[i] = entry->second;
    }
  }

  void run() {
    std::vector<Cut> cuts;
    for (Location& location : profile_.locations) {
      cuts.push_back(cut(location));
    }
    Samples samples;
    for (size_t sample = 0; sample < profile_.samples.size(); ++sample) {
      samples.add(without_unwanted(profile_.samples.stack(sample), cuts), profile_.samples.values(sample));
    }
    profile_.samples = std::move(samples);
  }

 private:
  // What of a location is unwanted, with all that it calls.
  enum class Cut { kNothing, kInner, kWhole };

  // Takes the unwanted frames off it, where they are not all.
  Cut cut(Location& location) const {
    for (uint32_t outer = location.frame_count; outer > 0; --outer) {
      const Frame& frame = profile_.frames[location.first_frame + outer - 1];
      if (!unwanted_[frame.function]) {
        continue;
      }
      if (outer == location.frame_count) {
        return Cut::kWhole;
      }
      location.first_frame += outer;
      location.frame_count -= outer;
      return Cut::kInner;
    }
    return Cut::kNothing;
  }

  static std::span<const uint32_t> without_unwanted(std::span<const uint32_t> leaf_first,
                                                    const std::vector<Cut>& cuts) {
    bool is_below_wanted = false;
    for (size_t i = leaf_first.size(); i > 0; --i) {
      const Cut cut = cuts[leaf_first[i - 1]];
      if (cut == Cut::kNothing) {
        is_below_wanted = true;
      } else if (cut == Cut::kInner) {
        return leaf_first.subspan(i - 1);
      } else if (is_below_wanted) {
        return leaf_first.subspan(i);
      }
    }
    return leaf_first;
  }

  ApplicationProfile& profile_;
  std::vector<bool> unwanted_;  // by function
};

}  // namespace

void drop_frames(ApplicationProfile& profile) {
  if (profile.drop_frames.empty()) {
    return;
  }
  const auto drop = compile(profile.drop_frames, "drop_frames", profile);
  const auto keep =
      profile.keep_frames.empty() ? nullptr : compile(profile.keep_frames, "keep_frames", profile);
  if (drop != nullptr && (profile.keep_frames.empty() || keep != nullptr)) {
    FrameDropper(profile, *drop, keep.get()).run();
  }
}

}  // namespace plimsoll::formats
