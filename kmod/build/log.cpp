// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/log.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::kmod {

namespace {

constexpr std::size_t expected_tests = 400; // lines "CONFTEST" of a build: 535 has 385, 550 has 412
constexpr std::size_t object_weight = 2;    // one object file takes about as long as two tests
constexpr std::size_t longest_error = 400;

/// Messages of compilers, modpost, the linker, the shell and the kernel for errors that end a build.
constexpr std::array<std::string_view, 10> error_marks{": error: ",
                                                       ": fatal error: ",
                                                       "ERROR: modpost:",
                                                       ": undefined reference to",
                                                       ": No space left on device",
                                                       "No space left on device",
                                                       ": not found",
                                                       "virtual memory exhausted",
                                                       "Killed signal terminated program",
                                                       "internal compiler error"};

bool is_error(std::string_view text) {
    return std::any_of(error_marks.begin(), error_marks.end(),
                       [text](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

/// Returns whether the line is an error of make itself: "make[3]: *** No rule to make target 'x'". Lines like
/// "make[3]: *** [x] Error 2" only report that a command failed.
bool is_make_reason(std::string_view text) {
    const auto stars = text.find(": *** ");
    return base::starts_with(text, "make") && stars != std::string_view::npos &&
           text.substr(stars + 6, 1) != "[";
}

} // namespace

BuildLog::BuildLog(std::size_t sources, std::string directory)
    : sources_(sources), directory_(std::move(directory)) {}

void BuildLog::line(std::string_view text) {
    const std::string_view trimmed = base::trim(text);
    constexpr std::string_view compile = "CC [M]";
    if (base::starts_with(trimmed, "CONFTEST")) {
        ++tests_;
        doing_ = "testing the kernel's features";
    } else if (base::starts_with(trimmed, compile)) {
        ++objects_;
        doing_ = "compiling " + shorten(base::trim(trimmed.substr(compile.size())));
    } else if (base::starts_with(trimmed, "LD [M]")) {
        doing_ = "linking";
    } else if (first_error_.empty() && (is_error(trimmed) || is_make_reason(trimmed))) {
        first_error_ = shorten(trimmed).substr(0, longest_error);
    }
}

double BuildLog::fraction() const {
    const std::size_t all = expected_tests + object_weight * sources_;
    const std::size_t done = std::min(tests_, expected_tests) + object_weight * std::min(objects_, sources_);
    return static_cast<double>(done) / static_cast<double>(all);
}

std::string BuildLog::shorten(std::string_view text) const {
    std::string result(text);
    for (std::size_t at = 0; (at = result.find(directory_ + "/", at)) != std::string::npos;)
        result.erase(at, directory_.size() + 1);
    return result;
}

} // namespace gpuhost::kmod
