// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/headers.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <sys/stat.h>

namespace gpuhost::kmod {

using base::Errc;
using core::Problem;

namespace {

/// The directories in which a build searches programs.
constexpr std::array directories{std::string_view("/usr/local/bin/"), std::string_view("/usr/bin/"),
                                 std::string_view("/bin/")};

std::string build_directory(const std::string& kernel) {
    return "/lib/modules/" + kernel + "/build";
}

/// Returns the text between the first two characters `quote` after `key`; empty if there are none.
std::string quote(std::string_view text, std::string_view key, char quote) {
    const auto at = text.find(key);
    if (at == std::string_view::npos)
        return {};
    const auto begin = text.find(quote, at + key.size());
    const auto end = begin == std::string_view::npos ? begin : text.find(quote, begin + 1);
    return end == std::string_view::npos ? std::string()
                                         : std::string(text.substr(begin + 1, end - begin - 1));
}

std::string install_headers(const std::string& kernel) {
    return "Install the headers of exactly this kernel (Debian: linux-headers-" + kernel +
           ", EL: kernel-devel-" + kernel + ").";
}

/// Returns the way to modules that needs no build. An upgrade would also swap the running kernel's driver, so
/// modules for other kernels are only imported.
std::string way_without_build(const std::string& version, bool runs) {
    return "Or use modules that are already built: gpuhostctl " +
           (runs ? "upgrade " + version : std::string("driver import")) + " MODULES/*.ko.";
}

} // namespace

Problem headers_not_found(const std::string& kernel) {
    return {Errc::Unsupported,
            "headers of kernel " + kernel + " not found (" + build_directory(kernel) + " does not exist)",
            install_headers(kernel)};
}

std::vector<Problem> check_headers(const base::Root& root, const std::string& kernel) {
    const std::string build = build_directory(kernel);
    if (!root.stat(build))
        return {headers_not_found(kernel)};
    const std::string install = install_headers(kernel);
    std::vector<Problem> problems;
    for (const char* file : {"Makefile", "Module.symvers", ".config"})
        if (!root.stat(build + "/" + file))
            problems.push_back({Errc::Unsupported,
                                "the headers of kernel " + kernel + " are incomplete: " + file + " not found",
                                install});
    const auto release = root.read(build + "/include/generated/utsrelease.h");
    const std::string found = release ? quote(*release, "UTS_RELEASE", '"') : std::string();
    if (found != kernel)
        problems.push_back({Errc::Unsupported,
                            "the headers in " + build + " are for kernel " +
                                (found.empty() ? "unknown" : found) + ", not " + kernel,
                            install});
    return problems;
}

std::string wanted_compiler(const base::Root& root, const std::string& kernel) {
    const auto config = root.read(build_directory(kernel) + "/.config", std::size_t{4} << 20U);
    const auto text = config ? quote(*config, "CONFIG_CC_VERSION_TEXT=", '"') : std::string();
    const auto words = base::split_words(text);
    const bool named = !words.empty() && (words[0].find("gcc") != std::string::npos ||
                                          words[0].find("clang") != std::string::npos);
    return named ? words[0] : "cc";
}

std::vector<Problem> check_tools(const base::Root& root, const std::string& kernel,
                                 const base::Root& system) {
    std::vector<Problem> problems;
    for (const std::string& program :
         {std::string("make"), std::string("ld"), std::string("strip"), wanted_compiler(root, kernel)}) {
        const bool found =
            std::any_of(directories.begin(), directories.end(), [&](std::string_view directory) {
                const auto st = system.stat(std::string(directory) + program);
                return st && (st->st_mode & S_IXUSR) != 0;
            });
        if (!found)
            problems.push_back({Errc::Unsupported, "'" + program + "' is not installed",
                                "Install a compiler, make and binutils (Debian: build-essential)."});
    }
    return problems;
}

std::vector<Problem> build_problems(const base::Root& root, const std::string& kernel,
                                    const base::Root& system) {
    std::vector<Problem> problems = check_headers(root, kernel);
    std::vector<Problem> tools = check_tools(root, kernel, system);
    std::move(tools.begin(), tools.end(), std::back_inserter(problems));
    return problems;
}

std::string ways_to_modules(const std::vector<Problem>& problems, const std::string& command,
                            const std::string& version, bool runs) {
    std::vector<std::string> hints;
    for (const Problem& problem : problems)
        if (!problem.hint.empty() && !base::contains(hints, problem.hint))
            hints.push_back(problem.hint);
    if (!command.empty())
        hints.push_back("Then run: " + command + ".");
    hints.push_back(way_without_build(version, runs));
    return base::join(hints, " ");
}

void add_way_without_build(std::vector<Problem>& problems, const std::string& version, bool runs) {
    const std::string last = problems.empty() ? std::string() : problems.back().hint;
    for (Problem& problem : problems)
        if (problem.hint == last) // such problems are shown with one hint
            problem.hint += " " + way_without_build(version, runs);
}

} // namespace gpuhost::kmod
