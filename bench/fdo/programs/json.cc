// Makes a JSON document, and parses, changes and prints it as often as is said: fdo_json_gcc ROUNDS. A program to make compiler profiles of.
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

nlohmann::json make_value(Random& random, int depth) {
  switch (random.next(depth > 4 ? 5 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return random.next(2) == 0;
    case 2:
      return static_cast<int64_t>(random.next(1'000'000)) - 500'000;
    case 3:
      return static_cast<double>(random.next(1'000'000)) / 977.0;
    case 4: {
      std::string text;
      for (uint64_t i = random.next(40); i > 0; --i) {
        constexpr const char* kLetters[] = {"a", "e", "n", "\n", "\"", "\u00e4", " ", "t", "o", "\u20ac"};
        text += kLetters[random.next(10)];
      }
      return text;
    }
    case 5:
    case 6: {
      nlohmann::json object = nlohmann::json::object();
      for (uint64_t i = 2 + random.next(8); i > 0; --i) {
        object["key" + std::to_string(random.next(1000))] = make_value(random, depth + 1);
      }
      return object;
    }
    default: {
      nlohmann::json array = nlohmann::json::array();
      for (uint64_t i = 2 + random.next(10); i > 0; --i) {
        array.push_back(make_value(random, depth + 1));
      }
      return array;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Random random;
  nlohmann::json document = nlohmann::json::array();
  for (int i = 0; i < 60; ++i) {
    document.push_back(make_value(random, 0));
  }
  const std::string text = document.dump();
  size_t sum = 0;
  for (int round = argc > 1 ? std::atoi(argv[1]) : 1; round > 0; --round) {
    nlohmann::json copy = nlohmann::json::parse(text);
    copy[static_cast<size_t>(round) % copy.size()] = round;
    sum += copy.dump().size() + copy.dump(2).size();
  }
  std::printf("%zu bytes, sum %zu\n", text.size(), sum);
}
