#include "tests/e2e/running_shop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "tests/eventually.h"

namespace plimsoll::testing {
namespace {

constexpr int kFront = 1;
constexpr int kStore = 2;
constexpr int kProperties = 3;
constexpr const char* kSpanColumns =
    "trace_id,span_id,parent_id,service,method,machine,start_ns,end_ns,kind,peer.service,bytes,block.id\n";

// As burst_shop prints it.
void read_printed(const std::string& printed, ShopTruth& truth) {
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "thread") {
      std::string name;
      words >> name;
      truth.threads.insert(name);
    } else if (what == "segment") {
      KnownSegment known;
      TruthSegment& segment = known.segment;
      words >> known.thread >> std::hex >> segment.request >> std::dec;
      for (ClockReadings* readings : {&segment.before, &segment.begin, &segment.end, &segment.after}) {
        words >> readings->time_ns >> readings->cpu_ns >> readings->runnable_ns;
      }
      truth.segments.push_back(known);
    } else if (what == "span") {
      truth.spans += line.substr(what.size() + 1) + "\n";
    }
  }
}

// Of no other program that makes marks at the same time.
uint64_t first_request() {
  return static_cast<uint64_t>(::getpid()) << 32 | 1;
}

}  // namespace

std::vector<std::string> with_shifted_clock(int64_t shift_ms, std::vector<std::string> argv) {
  if (shift_ms == 0) {
    return argv;
  }
  std::vector<std::string> command{"/usr/bin/env", "LD_PRELOAD=" + program("shifted_clock.so"),
                                   fmt::format("PLIMSOLL_TEST_CLOCK_SHIFT_MS={}", shift_ms),
                                   program(argv[0])};
  command.insert(command.end(), argv.begin() + 1, argv.end());
  return command;
}

RunningShop::RunningShop(const ShopSettings& settings) : settings_(settings), network_(kProperties) {
  if (!network_.is_made()) {
    fmt::print("on the loopback device: this user cannot make network namespaces, or there is no ip\n");
  }
  store_.emplace(start(kStore, {"store"}, kBackMachine));
  properties_.emplace(start(kProperties, {"properties"}, kBackMachine));
  const std::string store = address_of(kStore, *store_);
  const std::string properties = address_of(kProperties, *properties_);
  if (store.empty() || properties.empty()) {
    return;
  }
  front_.emplace(start(kFront, {"front", "--store", store, "--properties", properties}, kFrontMachine));
  const std::string front = address_of(kFront, *front_);
  if (front.empty()) {
    return;
  }
  std::vector<std::string> load{"load",
                                "--front",
                                front,
                                "--clients",
                                fmt::format("{}", settings_.clients),
                                "--first-request",
                                fmt::format("{}", first_request())};
  if (!settings_.story.empty()) {
    load.insert(load.end(), {"--story", settings_.story});
  }
  load_.emplace(start(kFront, load, kFrontMachine));
}

std::string RunningShop::ip_of(int machine) const {
  return network_.is_made() ? network_.address(machine) : "127.0.0.1";
}

Background RunningShop::start(int machine, const std::vector<std::string>& arguments,
                              const char* name) const {
  std::vector<std::string> argv{"burst_shop"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.insert(argv.end(), {"--listen", ip_of(machine), "--machine", name, "--config-bits",
                           fmt::format("{}", settings_.config_bits)});
  argv = with_shifted_clock(machine == kFront ? 0 : settings_.back_end_shift_ms, argv);
  return Background(network_.is_made() ? network_.running(machine, argv) : argv);
}

std::string RunningShop::address_of(int machine, const Background& service) const {
  const std::string before = "port ";
  std::string port;
  const bool is_there = eventually([&] {
    const std::string said = service.err();
    const size_t begin = said.find(before);
    const size_t end = said.find('\n', begin);
    if (begin != std::string::npos && end != std::string::npos) {
      port = said.substr(begin + before.size(), end - begin - before.size());
    }
    return !port.empty();
  });
  return is_there ? fmt::format("{}:{}", ip_of(machine), port) : std::string();
}

ShopTruth RunningShop::end() {
  ShopTruth truth;
  truth.spans = kSpanColumns;
  for (std::optional<Background>* program : {&load_, &front_, &store_, &properties_}) {
    if (*program) {
      (*program)->kill(SIGTERM);
      read_printed((*program)->wait().out, truth);
    }
  }
  return truth;
}

}  // namespace plimsoll::testing
