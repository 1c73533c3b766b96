# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base kmod kmod/load kmod/module kmod/units
kmod_libkmod_gpu_a_SOURCES += \
    %D%/cuda.cpp \
    %D%/cuda.hpp \
    %D%/devices.cpp \
    %D%/devices.hpp \
    %D%/isolated.cpp \
    %D%/isolated.hpp \
    %D%/nvml.cpp \
    %D%/nvml.hpp \
    %D%/steps.cpp
