// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_version.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"

#include <chrono>
#include <limits>

#include <sys/stat.h>

namespace gpuhost::runtime {

namespace {

constexpr std::chrono::seconds answer_time{10};
constexpr std::size_t output_limit = 64U << 10U;

std::optional<unsigned> number(std::string_view text) {
    const auto value = base::parse_uint(text);
    if (!value || *value > std::numeric_limits<unsigned>::max())
        return std::nullopt;
    return static_cast<unsigned>(*value);
}

bool only_root_writes(const struct stat& st) {
    return st.st_uid == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Can nobody but root put anything else at `path`, which has no links? Of each directory above it, "/" too.
bool is_in_roots_hands(const base::Root& root, const std::string& path) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
         slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
        const auto st = root.lstat(slash == 0 ? "/" : path.substr(0, slash));
        if (!st || !S_ISDIR(st->st_mode) || !only_root_writes(*st))
            return false;
    }
    return true;
}

} // namespace

std::optional<RuntimeVersion> parse_version(std::string_view output) {
    for (std::string word : base::split_words(output)) {
        if (base::starts_with(word, "v"))
            word.erase(0, 1);
        if (base::ends_with(word, ","))
            word.pop_back();
        const std::string_view text = word;
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos)
            continue;
        const std::string_view rest = text.substr(dot + 1);
        const auto major = number(text.substr(0, dot));
        const auto minor = number(rest.substr(0, rest.find_first_not_of("0123456789")));
        if (major && minor)
            return RuntimeVersion{*major, *minor, word};
    }
    return std::nullopt;
}

std::optional<RuntimeVersion> ask_version(const base::Root& root, const std::string& executable) {
    if (!root.is_host() || !base::starts_with(executable, "/"))
        return std::nullopt;
    const auto file = root.open_file(executable, O_PATH);
    struct stat st {};
    if (!file || ::fstat(file->get(), &st) < 0 || !S_ISREG(st.st_mode) || !only_root_writes(st))
        return std::nullopt;
    // What was looked at is what is started; which it is may depend on the name that it is called by.
    const std::string opened = "/proc/self/fd/" + std::to_string(file->get());
    const auto canonical = root.read_link(opened);
    if (!canonical || !is_in_roots_hands(root, *canonical))
        return std::nullopt;
    base::Command command;
    command.argv = {executable, "--version"};
    command.program = opened;
    command.deadline = answer_time;
    command.output_limit = output_limit;
    const auto finished = base::run(command);
    if (!finished || finished->timed_out || finished->exit_status != 0)
        return std::nullopt;
    return parse_version(finished->output);
}

} // namespace gpuhost::runtime
