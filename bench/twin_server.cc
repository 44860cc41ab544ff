#include "twin_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "figure.h"

extern char** environ;

namespace perjoule::bench {
namespace {

std::string first_line(int from) {
  std::string line;
  char byte = 0;
  while (::read(from, &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

}  // namespace

TwinServer::TwinServer(const std::string& command, const std::vector<std::string>& words) {
  std::vector<std::string> all = {command, "twin", "serve", "--port", "0", "--json"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) must(Outcome(Error::from_errno(errno, "making a pipe")));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  const int failed =
      ::posix_spawn(&process_, pointers.front(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) must(Outcome(Error::not_found(command + ": cannot be started")));
  const Json said = must(parse_json(first_line(ends[0])));
  ::close(ends[0]);
  url_ = said.string("url").value_or("");
  url_ = url_.substr(0, url_.rfind("/v1"));
  model_ = said.string("model").value_or("");
}

TwinServer::~TwinServer() {
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace perjoule::bench
