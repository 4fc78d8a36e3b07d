#include "cli/help/topics.h"

#include <algorithm>
#include <array>

#include "query/registry/reference.h"

namespace plimsoll::cli {
namespace {

constexpr std::array<Topic, 6> kTopics{{
    {"filters", "How --where, --focus, --ignore and --hide select samples"},
    {"times", "How times and durations are written"},
    {"events", "What is counted, and which event a view shows"},
    {"margins", "What \"12.3 % ±0.4\" means, and when there is no margin"},
    {"sources", "Where answers come from: a server or a data directory, and access to a server"},
    {"views", "Every view, its parameters and its columns (Markdown)"},
}};

constexpr std::string_view kFilters = R"(Filters

  --where app=gzip            equal            --where 'job in web,search'  one of several
  --where app!=gzip           not equal        --where 'function=~^sqlite3' matches a regular expression
                                               --where 'binary!~^libc'      does not match

Repeat --where to combine filters: all of them must match. "plimsoll top --help" lists the dimensions.
A filter on function, file, line or binary matches a stack that has such a frame anywhere.

  --focus REGEX    keep only stacks with a frame whose function, file or binary matches
  --ignore REGEX   drop stacks with such a frame
  --hide REGEX     remove such frames from stacks, which stay
                   Heap profiles hide the allocator's own frames; "--hide none" shows them.
)";

constexpr std::string_view kTimes = R"(Times and durations

  2026-11-21T06:00:00Z   RFC 3339, with a time zone or Z
  2h, 30m, 7d            this long ago (as a time), or this long (as a duration)

A profile belongs to the time range that the middle of its window is in, so that adjacent ranges never
count it twice.
)";

constexpr std::string_view kEvents = R"(Events

A view shows one event: by default cycles, or cpu-clock where no machine could count cycles. An event's unit is
"ns", "bytes" or a plain count. On hybrid CPUs, cycles stands for cpu_core/cycles/ and cpu_atom/cycles/.

  plimsoll sql --data DIR "SELECT * FROM events"       all events, their units and how many samples they have
  plimsoll top --data DIR --event cache-misses         one event
  plimsoll top --data DIR --ratio instructions/cycles  one over another (ipc, cpi for short)
)";

constexpr std::string_view kMargins = R"(Margins

"12.3 % ±0.4" is a 95 % confidence interval: of 100 such intervals about 95 contain the value that measuring every
machine all the time would give. Margins cover the random choice of machines (from the differences between
machines) or, where one machine contributed, the randomness of sampling on it. A value with too few samples or
machines has no margin; the line below a table says how many, and the column margin_kind says which.

  --no-margins   leave them out; an answer then takes one pass over the rows
)";

constexpr std::string_view kSources = R"(Where answers come from

  --server ADDR   a server, such as 127.0.0.1:7070
  --data DIR      a data directory on this machine; a server may use it at the same time

A server that requires authentication takes a token. --server-ca names the certificate authority of the server (PEM),
if this machine does not trust it already. Without --data, each comes from the first of these that gives it:

  flag           environment          ~/.config/plimsoll/config.toml
  --server       PLIMSOLL_SERVER      server = "profiles.example:7070"
  --token-file   PLIMSOLL_TOKEN       token_file = "token"
  --server-ca    PLIMSOLL_SERVER_CA   server_ca = "ca.pem"

PLIMSOLL_TOKEN is the token itself. Paths in the file are relative to its folder, absolute, or begin with ~/. The file
must not be writable, and the token file not readable, by other users. XDG_CONFIG_HOME replaces ~/.config.
"plimsoll token --help" creates tokens; docs/security.md explains roles.
)";

}  // namespace

std::span<const Topic> topics() {
  return kTopics;
}

std::optional<std::string> topic_text(std::string_view name) {
  if (name == "views") {
    return query::view_reference();
  }
  constexpr std::array kTexts{kFilters, kTimes, kEvents, kMargins, kSources};
  const auto topic = std::ranges::find(kTopics, name, &Topic::name);
  return topic == kTopics.end()
             ? std::nullopt
             : std::optional(std::string(kTexts[static_cast<size_t>(topic - kTopics.begin())]));
}

}  // namespace plimsoll::cli
