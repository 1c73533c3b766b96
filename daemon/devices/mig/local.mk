# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/runtime/cdi daemon/runtime/gpu
noinst_LIBRARIES += %D%/libmig.a
%C%_libmig_a_SOURCES = \
    %D%/answer.cpp \
    %D%/answer.hpp \
    %D%/commands.cpp \
    %D%/commands.hpp \
    %D%/component.cpp \
    %D%/component.hpp \
    %D%/geometry.cpp \
    %D%/geometry.hpp \
    %D%/keep_steps.cpp \
    %D%/keep_steps.hpp \
    %D%/kept.cpp \
    %D%/kept.hpp \
    %D%/restore_plan.cpp \
    %D%/restore_plan.hpp \
    %D%/restored.cpp \
    %D%/restored.hpp \
    %D%/steps.cpp \
    %D%/steps.hpp
