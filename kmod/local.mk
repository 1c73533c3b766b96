# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core
noinst_LIBRARIES += %D%/libkmod-gpu.a
%C%_libkmod_gpu_a_CPPFLAGS = $(AM_CPPFLAGS) $(KMOD_CFLAGS)
%C%_libkmod_gpu_a_SOURCES = \
    %D%/device_node.cpp \
    %D%/device_node.hpp \
    %D%/driver_settings.cpp \
    %D%/driver_settings.hpp \
    %D%/step_code.cpp \
    %D%/step_code.hpp
include kmod/boot/local.mk
include kmod/build/local.mk
include kmod/device/local.mk
include kmod/holder/local.mk
include kmod/load/local.mk
include kmod/module/local.mk
include kmod/observe/local.mk
include kmod/plan/local.mk
include kmod/select/local.mk
include kmod/store/local.mk
include kmod/trust/local.mk
include kmod/units/local.mk
