// threaded_server SECONDS: a server with two worker threads and its clients in one process, over loopback. Each request
// names a number; the answer is its words, sorted. For stacks of threads.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> stopping = false;

std::string answer(unsigned number) {
  std::map<std::string, int> counts;
  for (unsigned i = 0; i < 10'000; ++i) {
    ++counts["word " + std::to_string((i * 7919 + number) % 211)];
  }
  std::vector<std::pair<int, std::string>> ranked;
  for (const auto& [word, count] : counts) {
    ranked.emplace_back(count, word);
  }
  std::sort(ranked.rbegin(), ranked.rend());
  std::string text;
  for (const auto& [count, word] : ranked) {
    text += word + "=" + std::to_string(count) + " ";
  }
  return text.substr(0, 64);
}

void serve(int listener) {
  while (!stopping) {
    const int connection = ::accept(listener, nullptr, nullptr);
    unsigned number = 0;
    while (connection >= 0 && ::recv(connection, &number, sizeof number, MSG_WAITALL) == sizeof number) {
      std::string text = answer(number);
      text.resize(64);
      if (::send(connection, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
        break;
      }
    }
    ::close(connection);
  }
}

void ask(sockaddr_in server) {
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  char text[64];
  for (unsigned number = 0; !stopping; ++number) {
    if (::send(connection, &number, sizeof number, MSG_NOSIGNAL) < 0 ||
        ::recv(connection, text, sizeof text, MSG_WAITALL) != sizeof text) {
      break;
    }
  }
  ::close(connection);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 16) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("listen");
    return 1;
  }
  std::vector<std::thread> workers;
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back(serve, listener);
    clients.emplace_back(ask, address);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stopping = true;
  for (std::thread& client : clients) {
    client.join();
  }
  ::shutdown(listener, SHUT_RDWR);
  for (std::thread& worker : workers) {
    worker.join();
  }
}
