#include "server/knobs/knob_helper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "net/line_buffer.h"

namespace perjoule {
namespace {

constexpr Seconds kPatience{30};        // of a driver that is slow
constexpr Seconds kLastPatience{10};    // until it is killed
constexpr Seconds kDiscoveryTime{120};  // of a machine whose drivers load first
constexpr std::size_t kLongestQuestion = std::size_t{1} << 16U;

Json error_json(const Error& error) {
  Json what = Json::object();
  what["code"] = static_cast<std::int64_t>(error.code);
  what["message"] = error.message;
  what["remedy"] = error.remedy;
  Json answer = Json::object();
  answer["error"] = std::move(what);
  return answer;
}

Error error_of(const Json& json) {
  const auto code = json.integer("code").value_or(static_cast<std::int64_t>(ErrorCode::kInternal));
  return {static_cast<ErrorCode>(code), json.string("message").value_or("the knobs' helper fails"),
          json.string("remedy").value_or("")};
}

std::string answer_to(KnobHand& hand, std::string_view line) {
  Json answer = Json::object();
  const auto question = parse_json(line);
  const auto knob = question ? question->string("knob") : std::nullopt;
  if (!knob) return error_json({ErrorCode::kInvalidArgument, "no question", {}}).dump();
  if (const auto value = question->string("value")) {
    const auto turned = hand.turn(*knob, *value);
    if (!turned) return error_json(turned.error()).dump();
    answer["in_force"] = *turned;
    return answer.dump();
  }
  if (const auto back = hand.put_back(*knob); !back) return error_json(back.error()).dump();
  answer["in_force"] = "";
  return answer.dump();
}

bool say(int socket, std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// All that the daemon had open, but standard error and its own end.
void close_all_but(int kept) {
  ::dup2(kept, STDIN_FILENO);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDOUT_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
}

[[noreturn]] void be_helper(const KnobHelper::FindMachine& find_machine,
                            const std::string& journal_folder, int socket) {
  ::prctl(PR_SET_NAME, "perjoule-knobs");
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // A signal to the terminal's whole group ends the daemon, whose end ends us: not before it.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  close_all_but(socket);
  const auto machine = find_machine();
  if (!machine) {
    say(STDIN_FILENO, error_json(machine.error()).dump());
    ::_exit(1);
  }
  {
    JournalHand hand(*machine, journal_folder);
    if (say(STDIN_FILENO, R"({"in_force":""})")) serve_knobs(hand, STDIN_FILENO);
  }
  ::_exit(0);
}

}  // namespace

void serve_knobs(KnobHand& hand, int socket) {
  LineBuffer incoming(kLongestQuestion);
  std::array<char, 4096> buffer{};
  for (;;) {
    while (const auto line = incoming.next()) {
      if (!say(socket, answer_to(hand, *line))) return;
    }
    if (incoming.too_long()) return;
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    incoming.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Result<std::unique_ptr<KnobHelper>> KnobHelper::start(const FindMachine& find_machine,
                                                      const std::string& journal_folder) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno(errno, "cannot make a pair of sockets");
  }
  FileDescriptor ours(ends[0]);
  FileDescriptor its(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return Error::from_errno(errno, "cannot start the knobs' helper");
  if (process == 0) {
    ours.reset();
    be_helper(find_machine, journal_folder, its.get());
  }
  its.reset();
  std::unique_ptr<KnobHelper> helper(new KnobHelper(process, LineClient::over(std::move(ours))));
  // It speaks first: the machine is found, or is not.
  PJ_TRY(const std::string ready, helper->line_->hear(kDiscoveryTime));
  const auto answer = parse_json(ready);
  if (!answer) return fail(answer, "the knobs' helper");
  if (const Json* const error = answer->find("error")) {
    return tl::unexpected<Error>(error_of(*error));
  }
  return helper;
}

KnobHelper::~KnobHelper() {
  {
    const std::lock_guard lock(mutex_);
    line_.reset();
  }
  const RealClock clock;
  const Instant until = clock.now() + kLastPatience;
  while (!has_ended() && clock.now() < until) clock.sleep_until(clock.now() + Seconds(0.01));
  if (has_ended()) return;
  ::kill(process_, SIGKILL);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
}

bool KnobHelper::has_ended() const {
  if (ended_) return true;
  int status = 0;
  const pid_t found = ::waitpid(process_, &status, WNOHANG);
  if (found == process_ || (found < 0 && errno == ECHILD)) ended_ = true;
  return ended_;
}

Result<std::string> KnobHelper::ask(const Json& question) {
  const std::string text = question.dump();
  if (text.size() >= kLongestQuestion) {
    return Error::invalid_argument("the name or the value of a knob is too long");
  }
  const std::lock_guard lock(mutex_);
  if (!line_) return Error::unavailable("the knobs' helper has ended", "start the daemon anew");
  auto line = line_->ask(text, kPatience);
  if (!line) {
    line_.reset();
    return fail(line, "the knobs' helper");
  }
  PJ_TRY(const Json answer, parse_json(*line));
  if (const Json* const error = answer.find("error")) {
    return tl::unexpected<Error>(error_of(*error));
  }
  return answer.string("in_force").value_or("");
}

Result<std::string> KnobHelper::turn(const std::string& knob, const std::string& value) {
  Json question = Json::object();
  question["knob"] = knob;
  question["value"] = value;
  return ask(question);
}

Outcome KnobHelper::put_back(const std::string& knob) {
  Json question = Json::object();
  question["knob"] = knob;
  PJ_TRY(const std::string done, ask(question));
  return {};
}

bool KnobHelper::lives() const {
  if (has_ended()) return false;
  // Who is being asked lives, as far as can be told.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock.owns_lock() || line_.has_value();
}

}  // namespace perjoule
