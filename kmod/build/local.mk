# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/crypto daemon/content/package daemon/core
#   kmod kmod/module kmod/store
kmod_libkmod_gpu_a_SOURCES += \
    %D%/build.cpp \
    %D%/build.hpp \
    %D%/job_server.cpp \
    %D%/job_server.hpp \
    %D%/kernel_build.cpp \
    %D%/kernel_build.hpp \
    %D%/log.cpp \
    %D%/log.hpp \
    %D%/log_file.cpp \
    %D%/log_file.hpp \
    %D%/sign.cpp \
    %D%/sign.hpp \
    %D%/source_tree.cpp
