# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core kmod kmod/boot kmod/build kmod/device kmod/load kmod/module
#   kmod/observe kmod/store kmod/units
kmod_libkmod_gpu_a_SOURCES += \
    %D%/clean_plan.cpp \
    %D%/clean_plan.hpp \
    %D%/driver_choice.cpp \
    %D%/driver_choice.hpp \
    %D%/driver_component.cpp \
    %D%/driver_component.hpp \
    %D%/driver_filter.cpp \
    %D%/driver_filter.hpp \
    %D%/driver_goal.cpp \
    %D%/driver_plan.cpp \
    %D%/driver_plan.hpp \
    %D%/requests.cpp \
    %D%/requests.hpp \
    %D%/select_plan.cpp \
    %D%/select_plan.hpp \
    %D%/step_kinds.cpp \
    %D%/step_kinds.hpp \
    %D%/steps.cpp
