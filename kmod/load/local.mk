# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base kmod kmod/boot kmod/holder kmod/module kmod/select
kmod_libkmod_gpu_a_SOURCES += \
    %D%/console.cpp \
    %D%/console.hpp \
    %D%/converge.cpp \
    %D%/converge.hpp \
    %D%/converge_steps.cpp \
    %D%/door.cpp \
    %D%/door.hpp \
    %D%/door_steps.cpp \
    %D%/loader.hpp \
    %D%/loader_libkmod.cpp \
    %D%/module_lock.cpp \
    %D%/module_lock.hpp \
    %D%/movement.cpp \
    %D%/movement.hpp
