# SPDX-License-Identifier: Apache-2.0
# may include: kmod/boot kmod/module kmod/store
kmod_libkmod_gpu_a_SOURCES += \
    %D%/observed.cpp \
    %D%/observed.hpp
