// Runs the built program as a user would.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace quarry::tools {

struct Ran {
  int exit = -1;
  std::string out;
};

// `arguments` is a piece of shell after the program, `before` one in front of it.
inline Ran run_quarry(const std::string& arguments, const std::string& before = "",
                      const std::string& errors = "2>/dev/null") {
  const std::string command = before + " '" QUARRY_BINARY "' " + errors + " " + arguments;
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> chunk;
  for (std::size_t n = 0; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) ran.out.append(chunk.data(), n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.exit = WEXITSTATUS(status);
  return ran;
}

// Standard error alone.
inline Ran run_quarry_errors(const std::string& arguments) { return run_quarry(arguments, "", "2>&1 >/dev/null"); }

inline std::string trace(const std::string& name) { return "'" QUARRY_TEST_DATA "/traces/" + name + ".pickle.gz'"; }

}  // namespace quarry::tools
