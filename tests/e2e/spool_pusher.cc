// Spools profiles that it makes up and sends them, as the daemon does, until it is killed:
//   spool_pusher FOLDER MAX_BYTES SERVER FIRST
// Says on standard output, in one write each and only once it is so: "spooled SEQUENCE ID", "dropped". Profiles have the
// numbers from FIRST on. With a FIRST of 0 it makes none, and ends when all that is there has been sent.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <thread>

#include "base/hex.h"
#include "daemon/spool/spool.h"
#include "daemon/spool/uploader.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/profile_fixture.h"

namespace plimsoll {
namespace {

// One profile in eight has up to 30 functions with names of 800 letters, the others one.
std::string make_encoded(uint64_t number, std::mt19937_64& random) {
  const uint64_t functions = random() % 8 == 0 ? 1 + random() % 30 : 1;
  std::string stacks;
  for (uint64_t function = 0; function < functions; ++function) {
    stacks += fmt::format("main;work_{}_", number);
    for (int word = 0; word < 50; ++word) {
      stacks += fmt::format("{:016x}", random());
    }
    stacks += " 1\n";
  }
  return wire::encode(testing::make_profile(
      {.seed = number, .from_ns = wall_now_ns() + static_cast<int64_t>(number), .stacks = stacks}));
}

void say(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) {
    std::abort();
  }
}

[[noreturn]] void push_for_good(spool::Spool& spool, uint64_t first) {
  std::mt19937_64 random(first);
  for (uint64_t number = first;; ++number) {
    const std::string encoded = make_encoded(number, random);
    const auto sequence = spool.push(testing::profile_id(number), as_bytes(encoded), random() % 2 == 0);
    say(sequence ? fmt::format("spooled {} {}\n", *sequence, to_hex(testing::profile_id(number)))
                 : "dropped\n");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
  }
}

// Sends what is due, until `is_done`.
template <typename IsDone>
void send(spool::Spool& spool, const std::string& server, IsDone is_done) {
  http::Client client({.base_url = server});
  spool::Uploader uploader(spool, [] {});
  while (!is_done()) {
    if (spool.waiting() > 0 && monotonic_now_ns() >= uploader.due_ns()) {
      static_cast<void>(uploader.send_oldest(client));
      continue;
    }
    spool.drain_wakeups();
    pollfd wake{.fd = spool.wake_fd(), .events = POLLIN, .revents = 0};
    ::poll(&wake, 1, 5);
  }
}

int run(const std::vector<std::string>& arguments) {
  auto spool = spool::Spool::open({.folder = arguments[0], .max_bytes = std::stoull(arguments[1])});
  if (!spool) {
    fmt::print(stderr, "{}\n", spool.error().text());
    return 1;
  }
  const uint64_t first = std::stoull(arguments[3]);
  if (first == 0) {
    send(**spool, arguments[2], [&] { return (*spool)->waiting() == 0; });
    return 0;
  }
  std::thread([&] { push_for_good(**spool, first); }).detach();
  send(**spool, arguments[2], [] { return false; });
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return argc == 5 ? plimsoll::run({argv + 1, argv + argc}) : 2;
}
