# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base kmod kmod/boot kmod/holder kmod/module kmod/select
kmod_libkmod_gpu_a_SOURCES += \
    %D%/autoload_block.cpp \
    %D%/autoload_block.hpp \
    %D%/autoload_steps.cpp \
    %D%/console.cpp \
    %D%/console.hpp \
    %D%/converge.cpp \
    %D%/converge.hpp \
    %D%/converge_steps.cpp \
    %D%/loader.hpp \
    %D%/loader_libkmod.cpp \
    %D%/module_lock.cpp \
    %D%/module_lock.hpp \
    %D%/module_ops.cpp \
    %D%/module_ops.hpp
