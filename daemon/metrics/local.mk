# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libmetrics.a
%C%_libmetrics_a_SOURCES = \
    %D%/server.cpp \
    %D%/server.hpp
