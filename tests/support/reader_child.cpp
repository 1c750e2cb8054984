#include "support/reader_child.h"

#include <quarry/stats/read.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support/sanitized.h"

namespace quarry::test {
namespace {

constexpr rlim_t kSecondsUntilHung = 60;

std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both{value, value};
  if (::setrlimit(resource, &both) != 0) ::_exit(3);
}

[[noreturn]] void answer(const std::string& path, std::size_t memory, int pipe) {
  if (!kSanitized) limit(RLIMIT_AS, address_space() + memory);
  limit(RLIMIT_CPU, kSecondsUntilHung);
  const auto trace = stats::read_snapshot(path);
  const std::string text = trace ? "+" : "-" + trace.error().message;
  const bool sent = ::write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::_exit(sent ? 0 : 4);
}

}  // namespace

ChildOutcome read_in_child(const std::string& path, std::size_t memory) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) answer(path, memory, ends[1]);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  const bool ended = child > 0 && ::waitpid(child, &status, 0) == child;
  const bool answered = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty();
  if (!answered) return {};
  return {true, text[0] == '+', text.substr(1)};
}

}  // namespace quarry::test
