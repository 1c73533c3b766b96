# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/core
kmod_libkmod_gpu_a_SOURCES += \
    %D%/file.cpp \
    %D%/file.hpp \
    %D%/goal.cpp \
    %D%/goal.hpp \
    %D%/graph.cpp \
    %D%/graph.hpp \
    %D%/headers.cpp \
    %D%/headers.hpp \
    %D%/index.cpp \
    %D%/index.hpp \
    %D%/info.cpp \
    %D%/info.hpp \
    %D%/kernel_config.cpp \
    %D%/kernel_config.hpp \
    %D%/kernel_error.cpp \
    %D%/kernel_error.hpp \
    %D%/kernel_state.cpp \
    %D%/kernel_state.hpp \
    %D%/modprobe_rules.cpp \
    %D%/modprobe_rules.hpp \
    %D%/symbol_versions.cpp \
    %D%/symbol_versions.hpp
