// SPDX-License-Identifier: Apache-2.0
// Usage: make-completion bash|zsh <SCRIPT. Prints the script with the tables of this source. Only 'make
// completion' runs it; it is not installed.
#include "daemon/ctl/completion.hpp"

#include <exception>
#include <iostream>
#include <iterator>

namespace {

int run(std::string_view shell) {
    using namespace gpuhost::ctl;
    const std::string script{std::istreambuf_iterator<char>(std::cin), {}};
    const auto made = with_tables(script, shell == "zsh" ? zsh_tables() : bash_tables());
    if (!made) {
        std::cerr << "make-completion: " << made.error().message << "\n";
        return 1;
    }
    std::cout << *made << std::flush;
    return std::cout.good() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 2 && (argv[1] == std::string_view("bash") || argv[1] == std::string_view("zsh")))
            return run(argv[1]);
        std::cerr << "usage: make-completion bash|zsh <SCRIPT\n";
    } catch (const std::exception& e) {
        std::cerr << "make-completion: " << e.what() << "\n";
    }
    return 2;
}
