# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/set kmod kmod/boot kmod/module kmod/store kmod/trust
kmod_libkmod_gpu_a_SOURCES += \
    %D%/driver_preflight.hpp \
    %D%/preflight_files.cpp \
    %D%/preflight_modules.cpp \
    %D%/steps.cpp
