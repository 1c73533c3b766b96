// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tmpdir.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace gpuhost::tests {
namespace fs = std::filesystem;

TempDir::TempDir() : path_((fs::temp_directory_path() / "gpuhost-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
        std::perror(path_.c_str());
        std::abort();
    }
}

TempDir::~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string TempDir::path(std::string_view relative) const {
    return path_ + (relative.starts_with('/') ? "" : "/") + std::string(relative);
}

base::Root TempDir::root() const {
    auto root = base::Root::open(path_);
    if (!root) {
        std::fprintf(stderr, "%s\n", root.error().message.c_str());
        std::abort();
    }
    return std::move(*root);
}

void TempDir::write(std::string_view relative, std::string_view content) const {
    const fs::path file = path(relative);
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
}

std::string TempDir::read(std::string_view relative) const {
    std::ifstream in(path(relative), std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    return content.str();
}

} // namespace gpuhost::tests
