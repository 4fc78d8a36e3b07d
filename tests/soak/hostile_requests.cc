#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "tests/fuzz/mutate.h"
#include "tests/soak/hostile_bytes.h"
#include "tests/soak/random_choice.h"

namespace plimsoll::soak {
namespace {

// What follows the first lines of a request that asks something.
constexpr std::array<std::string_view, 5> kRestsOfQuestions{
    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "Authorization: Bearer 0123456789abcdef\r\nOrigin: https://example.com\r\n\r\n",
    "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
    "\r\n",
};

// To the doors of machines, build pipelines, workers and debuggers.
constexpr std::array<std::string_view, 12> kRequestsToDoors{
    "PUT /fleet/v1/profiles/00112233445566778899aabbccddeeff HTTP/1.1\r\nHost: a\r\n"
    "Content-Length: 8\r\n\r\nPLIMPROF",
    "POST /fleet/v1/heartbeat HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\n"
    "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    "PUT /fleet/v1/bursts/00112233445566778899aabbccddeeff HTTP/1.1\r\nHost: a\r\n"
    "Content-Length: 8\r\n\r\nPLIMBRST",
    "POST /fleet/v1/binaries/wanted HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
    "Content-Length: 9\r\n\r\n00112233\n",
    "PUT /fleet/v1/binaries/00112233445566778899aabbccddeeff00112233 HTTP/1.1\r\nHost: a\r\n"
    "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\177ELF\r\n0\r\n\r\n",
    "PUT /fleet/v1/binaries/00112233445566778899aabbccddeeff00112233?content=debug&offset=5&"
    "digest=00112233445566778899aabbccddeeff HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\177ELF",
    "GET /fleet/v1/binaries/00112233445566778899aabbccddeeff00112233?content=code&digest=00 HTTP/1.1\r\n"
    "Host: a\r\n\r\n",
    "PUT /api/v1/binaries/app?revision=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Encoding: gzip\r\n"
    "Content-Length: 8\r\n\r\n\177ELF1234",
    "GET /buildid/00112233445566778899aabbccddeeff00112233/section/.text HTTP/1.1\r\n"
    "Host: 127.0.0.1\r\nX-DEBUGINFOD-MAXSIZE: 1\r\n\r\n",
    "GET /buildid/00112233445566778899aabbccddeeff00112233/source/build/%2e%2e/../etc/passwd HTTP/1.1\r\n"
    "Host: 127.0.0.1\r\n\r\n",
    "POST /api/v1/symbolizer/lease HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\n"
    "Content-Length: 6\r\n\r\n\n\002w1\020\004",
    "PUT /api/v1/symbolizer/tables/00112233445566778899aabbccddeeff00112233?worker=w1&lease=1-0 HTTP/1.1\r\n"
    "Host: 127.0.0.1\r\nContent-Length: 8\r\n\r\nPLSYMTAB",
};

std::string sound_request(Random& random) {
  if (below(random, kRestsOfQuestions.size() + kRequestsToDoors.size()) < kRequestsToDoors.size()) {
    return one_of(kRequestsToDoors, random);
  }
  const HostileQuestion question = hostile_question(random);
  return fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}", question.method, question.target,
                     one_of(kRestsOfQuestions, random));
}

}  // namespace

std::string hostile_request(Random& random) {
  const std::string sound = sound_request(random);
  switch (random() % 16) {
    case 0:
      return random_bytes(skewed(100'000, random), random);
    case 1:  // a client that speaks TLS
      return std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + random_bytes(500, random);
    case 2:
      return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + random_bytes(100, random);
    case 3: {  // one behind the other
      std::string many;
      for (size_t count = skewed(500, random); count > 0; --count) {
        many += sound_request(random);
      }
      return many;
    }
    case 4:
      return fmt::format("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", std::string(skewed(100'000, random), 'a'));
    case 5: {
      std::string head = "GET /healthz HTTP/1.1\r\nHost: a\r\n";
      for (size_t count = skewed(5000, random); count > 0; --count) {
        head += fmt::format("X-{}: {}\r\n", count, std::string(skewed(200, random), 'v'));
      }
      return head + "\r\n";
    }
    case 6:
      return fmt::format("PUT /fleet/v1/profiles/x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                         one_of(std::array{"-1", "18446744073709551615", "9223372036854775808", "67108864",
                                           "1, 1", "0x10", "99999999999999999999999"},
                                random),
                         std::string(skewed(100'000, random), 'b'));
    case 7:
      return fmt::format(
          "PUT /fleet/v1/profiles/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n{}",
          one_of(std::array{"ffffffffffffffff", "-5", "4000000", "5;x=y", "g", ""}, random),
          std::string(skewed(100'000, random), 'b'));
    case 8:
      return fmt::format("{} /healthz HTTP/{}\r\nHost: a\r\n\r\n",
                         one_of(std::array{"TRACE", "CONNECT", "OPTIONS", "DELETE", "get", "X", ""}, random),
                         one_of(std::array{"1.1", "1.0", "0.9", "2.0", "9.9", "x"}, random));
    default:
      return fuzz::mutated(sound, random);
  }
}

}  // namespace plimsoll::soak
