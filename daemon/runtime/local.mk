# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libruntime.a
%C%_libruntime_a_SOURCES = \
    %D%/container_state.cpp \
    %D%/container_state.hpp
