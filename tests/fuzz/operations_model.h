// What a data directory must answer, kept in maps.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::fuzz {

// What tells the samples of the model apart.
struct SampleKey {
  std::string machine, event, app, thread;
  std::string color, size;         // labels; empty: none
  std::vector<std::string> stack;  // outermost first; functions, or "@ADDRESS" of code that is bound late
  int64_t second = 0;              // of the profile's window

  auto operator<=>(const SampleKey&) const = default;
};

using Samples = std::map<SampleKey, uint64_t>;  // hits

// By the value of a dimension: self and total.
using Answer = std::map<std::string, std::pair<double, double>>;

struct Question {
  std::string event;
  std::string by;             // machine, app, thread, label:color, label:size or function
  std::string where = {};     // one of the first five; empty: no filter
  std::string where_is = {};  // its value
  // Of the profiles' windows, without the last.
  int64_t since_s = 0;
  int64_t until_s = INT64_MAX;

  std::string text() const {
    return "of " + event + " by " + by + " where " + where + "=" + where_is + " from " +
           std::to_string(since_s) + " to " + std::to_string(until_s);
  }
};

class Model {
 public:
  void accept(const Samples& samples) { profiles_.push_back(samples); }

  void build() {
    for (; built_ < profiles_.size(); ++built_) {
      for (const auto& [key, hits] : profiles_[built_]) {
        visible_[key] += hits;
        events_[key.event] += hits;
      }
    }
  }

  // The rows of the first so many that were accepted.
  void drop(size_t profiles) {
    for (; dropped_ < profiles; ++dropped_) {
      hide(profiles_[dropped_]);
    }
  }

  // Those of a block, from one to before another that was accepted: a machine's of an hour have one window together, which counts where its
  // middle is.
  void roll_up(size_t first, size_t end) {
    struct Seconds {
      int64_t first = INT64_MAX;
      int64_t last = INT64_MIN;
    };
    std::map<std::pair<std::string, int64_t>, Seconds> windows;  // by machine and hour
    const auto window_of = [&](const SampleKey& key) -> Seconds& {
      return windows[{key.machine, key.second / 3600}];
    };
    for (size_t i = first; i < end; ++i) {
      const SampleKey& any = profiles_[i].begin()->first;
      window_of(any).first = std::min(window_of(any).first, any.second);
      window_of(any).last = std::max(window_of(any).last, any.second);
    }
    for (size_t i = first; i < end; ++i) {
      Samples rolled_up;
      for (const auto& [key, hits] : profiles_[i]) {
        SampleKey without = key;
        without.thread = "[rolled up]";
        // Which labels a sample had is gone: one with any may have had each.
        without.color = without.size = key.color.empty() && key.size.empty() ? "" : "[rolled up]";
        without.second = (window_of(key).first + window_of(key).last + 1) / 2;
        rolled_up[without] += hits;
      }
      hide(profiles_[i]);
      profiles_[i] = std::move(rolled_up);
      for (const auto& [key, hits] : profiles_[i]) {
        visible_[key] += hits;
      }
    }
  }

  void bind(const std::string& place, const std::string& function) { functions_[place] = function; }

  // Of places that have been bound.
  const std::map<std::string, std::string>& functions() const { return functions_; }

  bool has(const std::string& event) const { return events_.contains(event); }

  Answer answer(const Question& question) const {
    Answer answer;
    for (const auto& [key, hits] : visible_) {
      if (key.event != question.event || key.second < question.since_s || key.second >= question.until_s ||
          (!question.where.empty() && value_of(key, question.where) != question.where_is)) {
        continue;
      }
      const auto count = static_cast<double>(hits);
      if (question.by != "function") {
        auto& [self, total] = answer[value_of(key, question.by)];
        self += count;
        total += count;
        continue;
      }
      answer[function_at(key.stack.back())].first += count;
      std::map<std::string, bool> functions;
      for (const std::string& place : key.stack) {
        functions[function_at(place)] = true;
      }
      for (const auto& [function, is_there] : functions) {
        answer[function].second += count;
      }
    }
    return answer;
  }

 private:
  static const std::string& value_of(const SampleKey& key, const std::string& dimension) {
    return dimension == "machine"       ? key.machine
           : dimension == "app"         ? key.app
           : dimension == "label:color" ? key.color
           : dimension == "label:size"  ? key.size
                                        : key.thread;
  }

  std::string function_at(const std::string& place) const {
    const auto bound = functions_.find(place);
    if (bound != functions_.end()) {
      return bound->second;
    }
    return place.starts_with("@") ? "[no symbol in tool]" : place;
  }

  void hide(const Samples& samples) {
    for (const auto& [key, hits] : samples) {
      const auto sample = visible_.find(key);
      sample->second -= hits;
      if (sample->second == 0) {
        visible_.erase(sample);
      }
    }
  }

  std::vector<Samples> profiles_;  // in the order of acceptance
  size_t built_ = 0;
  size_t dropped_ = 0;
  Samples visible_;
  std::map<std::string, uint64_t> events_;
  std::map<std::string, std::string> functions_;
};

}  // namespace plimsoll::fuzz
