// SPDX-License-Identifier: Apache-2.0
// For tests/bench/holders. `hold PROCESSES FILES` starts that many processes, each with that many files open
// and mapped, until stdin ends. `scan` searches once for holders of the driver, as a swap does, and prints
// their number.
#include "kmod/holder/holders.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/parse.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t page = 4096;

[[noreturn]] void hold_files(std::uint64_t files, int ready) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (std::uint64_t i = 0; i < files; ++i) {
        const int fd = ::memfd_create(("file" + std::to_string(i)).c_str(), 0); // never closed
        if (fd < 0 || ::ftruncate(fd, page) < 0 ||
            ::mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
            ::_exit(1);
    }
    if (::write(ready, "+", 1) != 1)
        ::_exit(1);
    for (;;)
        ::pause();
}

int hold(std::uint64_t processes, std::uint64_t files) {
    int ends[2];
    if (::pipe(ends) < 0)
        return 1;
    for (std::uint64_t i = 0; i < processes; ++i)
        if (const pid_t child = ::fork(); child == 0)
            hold_files(files, ends[1]);
        else if (child < 0)
            return 1;
    char byte = 0;
    for (std::uint64_t i = 0; i < processes; ++i)
        if (::read(ends[0], &byte, 1) != 1)
            return 1;
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF)
        continue;
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (words.size() == 3 && words[0] == "hold")
        return hold(gpuhost::base::parse_uint(words[1]).value_or(0),
                    gpuhost::base::parse_uint(words[2]).value_or(0));
    const auto root = gpuhost::base::Root::open("/");
    if (words.size() != 1 || words[0] != "scan" || !root)
        return 2;
    std::printf("%zu\n", gpuhost::kmod::find_holders(*root).size());
    return 0;
}
