#include "formats/drop_frames.h"

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::formats {
namespace {

constexpr int64_t kMaxPatternBytes = int64_t{8} << 20;  // of the automaton

Result<std::unique_ptr<const re2::RE2>> compile(const std::string& pattern, const char* field) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxPatternBytes);
  auto compiled = std::make_unique<const re2::RE2>(pattern, options);
  if (!compiled->ok()) {
    return with_field(fail(ErrorCode::kCorrupt, "the pprof profile's {} is no regular expression: {}", field,
                           compiled->error()),
                      field);
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
    for (size_t i = 0; i < unwanted_.size(); ++i) {
      const std::string_view name = without_parameters(profile.texts[profile.functions[i].name]);
      const re2::StringPiece piece(name.data(), name.size());
      unwanted_[i] =
          re2::RE2::FullMatch(piece, drop) && (keep == nullptr || !re2::RE2::FullMatch(piece, *keep));
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

Status drop_frames(ApplicationProfile& profile) {
  if (profile.drop_frames.empty()) {
    return {};
  }
  const auto drop = compile(profile.drop_frames, "drop_frames");
  if (!drop) {
    return propagate(drop);
  }
  std::unique_ptr<const re2::RE2> kept;
  if (!profile.keep_frames.empty()) {
    auto keep = compile(profile.keep_frames, "keep_frames");
    if (!keep) {
      return propagate(keep);
    }
    kept = std::move(*keep);
  }
  FrameDropper(profile, **drop, kept.get()).run();
  return {};
}

}  // namespace plimsoll::formats
