# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base kmod kmod/module
kmod_libkmod_gpu_a_SOURCES += \
    %D%/holders.cpp \
    %D%/holders.hpp \
    %D%/mappers.cpp \
    %D%/mappers.hpp \
    %D%/parse.cpp \
    %D%/parse.hpp \
    %D%/steps.cpp \
    %D%/terminate.cpp
