// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/log.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

BuildLog read(const std::string& text, std::size_t sources = 10) {
    BuildLog log(sources, "/scratch/source");
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        log.line(std::string_view(text).substr(at, end - at));
        at = end + 1;
    }
    return log;
}

TEST(BuildLogTest, CompilerErrorPrecedesMakesError) {
    const BuildLog log = read(R"(  CC [M]  /scratch/source/nvidia/nv-pci.o
/scratch/source/nvidia/nv-pci.c: In function 'nv_resize_pcie_bars':
/scratch/source/nvidia/nv-pci.c:237:9: error: too few arguments to function 'pci_resize_resource'
  237 |     r = pci_resize_resource(pci_dev, NV_GPU_BAR1, requested_size);
make[3]: *** [/usr/src/linux-headers-6.1.0-56-common/scripts/Makefile.build:255: nvidia/nv-pci.o] Error 1
make: *** [Makefile:82: modules] Error 2)");
    EXPECT_EQ(log.first_error(),
              "nvidia/nv-pci.c:237:9: error: too few arguments to function 'pci_resize_resource'");
    EXPECT_EQ(log.doing(), "compiling nvidia/nv-pci.o");
}

TEST(BuildLogTest, OtherKindsOfErrorsAreFound) {
    EXPECT_EQ(read("/bin/sh: 1: gcc-12: not found\nmake: *** [x] Error 127").first_error(),
              "/bin/sh: 1: gcc-12: not found");
    EXPECT_EQ(read("ERROR: modpost: \"foo\" [/scratch/source/nvidia.ko] undefined!").first_error(),
              "ERROR: modpost: \"foo\" [nvidia.ko] undefined!");
    EXPECT_EQ(read("gcc: fatal error: Killed signal terminated program cc1").first_error(),
              "gcc: fatal error: Killed signal terminated program cc1");
    EXPECT_EQ(read("make: *** No rule to make target 'modules'.  Stop.").first_error(),
              "make: *** No rule to make target 'modules'.  Stop.");
    EXPECT_EQ(read("/scratch/source/conftest/functions.h:75: #error dma_buf_export() conftest failed!\n"
                   "cc1: /scratch/source/x.c:1:2: error: #error dma_buf_export() conftest failed!")
                  .first_error(),
              "cc1: x.c:1:2: error: #error dma_buf_export() conftest failed!");
}

TEST(BuildLogTest, WarningsAndEchoAreNotErrors) {
    EXPECT_EQ(read("x.c:1:1: warning: unused\n  CC [M]  error.o\nmake[1]: *** [Makefile:1: modules] Error 2")
                  .first_error(),
              "");
}

TEST(BuildLogTest, ProgressGrowsToOne) {
    BuildLog log(10, "/scratch/source");
    double last = log.fraction();
    EXPECT_EQ(last, 0);
    for (int i = 0; i < 1000; ++i) {
        log.line(i % 2 == 0 ? " CONFTEST: foo" : "  CC [M]  x.o");
        EXPECT_GE(log.fraction(), last);
        last = log.fraction();
    }
    EXPECT_EQ(last, 1);
}

} // namespace
} // namespace gpuhost::kmod
