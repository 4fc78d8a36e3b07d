// Makes a JSON document of messages, as services answer each other, and parses, changes and prints it as often as is said: fdo_json_gcc ROUNDS. A program to make compiler profiles of.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace {

class Random {
 public:
  uint64_t next(uint64_t limit) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_ % limit;
  }

 private:
  uint64_t state_ = 88172645463325252;
};

std::string words(Random& random, uint64_t count) {
  static constexpr const char* kWords[] = {"the",          "fleet", "ran",       "\u00fcber", "load", "line",
                                           "#ship",        "@crew", "caf\u00e9", "http",      "of",   "into",
                                           "\u6d77\u4e0a", "\"x\"", "and\n",     "is"};
  std::string text;
  for (; count > 0; --count) {
    text += kWords[random.next(16)];
    text += ' ';
  }
  return text;
}

// Its text, author, time and place; one may share another.
nlohmann::json make_message(Random& random, int depth) {
  nlohmann::json message = {
      {"id", random.next(1ULL << 50U)},
      {"id_str", std::to_string(random.next(1ULL << 50U))},
      {"created_at", "Sat Nov 28 11:25:23 +0000 2026"},
      {"text", words(random, 5 + random.next(20))},
      {"truncated", random.next(2) == 0},
      {"in_reply_to", nullptr},
      {"shares", random.next(5000)},
      {"score", static_cast<double>(random.next(1'000'000)) / 977.0},
      {"user",
       {{"id", random.next(1ULL << 40U)},
        {"name", words(random, 2)},
        {"location", words(random, 2)},
        {"followers", random.next(100'000)},
        {"verified", random.next(5) == 0},
        {"url", nullptr},
        {"image", "http://a.example/images/" + std::to_string(random.next(10'000)) + "/normal.png"}}}};
  for (uint64_t i = random.next(4); i > 0; --i) {
    message["entities"]["tags"].push_back(
        {{"text", words(random, 1)}, {"indices", {random.next(140), random.next(140)}}});
  }
  if (depth < 1 && random.next(3) == 0) {
    message["shared"] = make_message(random, depth + 1);
  }
  return message;
}

#ifdef NEXT_RELEASE
// What its next release does besides.
size_t shared_bytes(const nlohmann::json& messages) {
  size_t bytes = 0;
  for (const nlohmann::json& message : messages) {
    const auto shared = message.find("shared");
    bytes += shared != message.end() ? shared->dump().size() : 0;
  }
  return bytes;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  Random random;
  nlohmann::json document = nlohmann::json::array();
  for (int i = 0; i < 200; ++i) {
    document.push_back(make_message(random, 0));
  }
  const std::string text = document.dump();
  size_t sum = 0;
  for (int round = argc > 1 ? std::atoi(argv[1]) : 1; round > 0; --round) {
    nlohmann::json copy = nlohmann::json::parse(text);
    copy[static_cast<size_t>(round) % copy.size()] = round;
    sum += copy.dump().size() + copy.dump(2).size();
#ifdef NEXT_RELEASE
    sum += shared_bytes(copy);
#endif
  }
  std::printf("%zu bytes, sum %zu\n", text.size(), sum);
}
