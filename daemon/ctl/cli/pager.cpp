// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/pager.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

constexpr const char* default_less = "FRSXMK";

std::optional<std::string> from_process(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Returns true unless this process has exactly the rights of the user who logged in.
bool is_elevated() {
    if (::getuid() != ::geteuid() || from_process("SUDO_UID"))
        return true;
    const auto root = base::Root::open("/");
    // Outside of any login the number is -1, which differs from each user's.
    return !root || root->read_line("/proc/self/loginuid").value_or("") != std::to_string(::geteuid());
}

bool is_utf8(const Environment& environment) {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (const std::string locale = environment(name).value_or(""); !locale.empty())
            return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    return false;
}

/// Returns this program's environment with the changes.
std::vector<std::string> merged(const std::vector<std::string>& changes) {
    std::vector<std::string> all;
    const auto name_of = [](std::string_view variable) { return variable.substr(0, variable.find('=')); };
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (std::none_of(changes.begin(), changes.end(),
                         [&](const std::string& change) { return name_of(change) == name_of(*variable); }))
            all.emplace_back(*variable);
    for (const std::string& change : changes)
        if (change.find('=') != std::string::npos)
            all.push_back(change);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    all.reserve(words.size() + 1);
    for (std::string& word : words)
        all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

/// Starts a program that reads `input`, with the default actions of signals and none blocked. Returns -1 if
/// that fails.
pid_t spawn(std::vector<std::string> command, std::vector<std::string> environment, int input) {
    posix_spawn_file_actions_t files{};
    posix_spawnattr_t attributes{};
    if (::posix_spawn_file_actions_init(&files) != 0 || ::posix_spawnattr_init(&attributes) != 0)
        return -1;
    sigset_t defaults{};
    ::sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGQUIT, SIGPIPE})
        ::sigaddset(&defaults, signal);
    sigset_t blocked{};
    ::sigemptyset(&blocked);
    ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setsigmask(&attributes, &blocked);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    pid_t pid = -1;
    if (::posix_spawnp(&pid, command.front().c_str(), &files, &attributes, pointers(command).data(),
                       pointers(environment).data()) != 0)
        pid = -1;
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    return pid;
}

} // namespace

PagerSettings pager_settings(const Environment& environment, bool elevated) {
    const auto chosen = environment("SYSTEMD_PAGER") ? environment("SYSTEMD_PAGER") : environment("PAGER");
    const auto words = base::split_words(chosen.value_or("less"));
    if (words.empty() || words == std::vector<std::string>{"cat"})
        return {};
    const auto given = environment("SYSTEMD_PAGERSECURE");
    const bool secure = given ? base::parse_bool(*given).value_or(true) : elevated;
    PagerSettings settings;
    if (chosen && given) // as in systemd: who sets $PAGER for all programs need not have thought of sudo
        settings.commands.push_back(words);
    settings.commands.push_back({"less"});
    if (!secure)
        settings.commands.push_back({"more"});
    settings.environment = {"LESS=" + environment("SYSTEMD_LESS").value_or(default_less),
                            secure ? "LESSSECURE=1" : "LESSSECURE"};
    const auto charset = environment("SYSTEMD_LESSCHARSET");
    if (charset || is_utf8(environment))
        settings.environment.push_back("LESSCHARSET=" + charset.value_or("utf-8"));
    return settings;
}

std::size_t rows_of(const Screen& screen, std::string_view text) {
    const std::size_t columns = std::max<std::size_t>(screen.columns, 1);
    std::size_t rows = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        rows += std::max<std::size_t>((visible_width(text.substr(0, end)) + columns - 1) / columns, 1);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return rows;
}

Pager::Pager() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &before_int_);
    ::sigaction(SIGQUIT, &ignore, &before_quit_);
    ::sigaction(SIGPIPE, &ignore, &before_pipe_);
}

bool Pager::start() {
    const PagerSettings settings = pager_settings(from_process, is_elevated());
    std::array<int, 2> ends{};
    if (settings.commands.empty() || ::pipe2(ends.data(), O_CLOEXEC) < 0)
        return false;
    const base::UniqueFd theirs(ends[0]);
    input_ = base::UniqueFd(ends[1]);
    for (const auto& command : settings.commands) {
        pid_ = spawn(command, merged(settings.environment), theirs.get());
        if (pid_ >= 0)
            return true;
    }
    return false;
}

void Pager::write(std::string_view text) const {
    (void)base::write_all(input_.get(), text, "the pager");
}

Pager::~Pager() {
    input_.reset();
    while (pid_ >= 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::sigaction(SIGINT, &before_int_, nullptr);
    ::sigaction(SIGQUIT, &before_quit_, nullptr);
    ::sigaction(SIGPIPE, &before_pipe_, nullptr);
}

} // namespace gpuhost::ctl
